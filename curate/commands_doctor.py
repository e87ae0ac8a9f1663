"""`curate doctor`: what the bytes of a file are, what text they give, and whether it is damaged."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from curate.cli import USAGE, RegularFile, as_json, fail, guarded

if TYPE_CHECKING:
    from stages.ingest.doctor import Report
    from stages.ingest.trial import Trial

_WIDTH = 200
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


@click.command()
@click.argument("file", type=RegularFile())
@click.option("--encoding", "encodings", multiple=True, metavar="LABEL", help="A declared charset, as in the config.")
@click.option("--text-field", default="text", show_default=True, help="Field of JSON Lines and Parquet files.")
@click.option("--lines", "lines", type=click.IntRange(0), default=5, show_default=True, help="Lines of text to show.")
@as_json
@guarded
def doctor(file: Path, encodings: tuple[str, ...], text_field: str, lines: int, json_out: bool) -> None:
    """Say what FILE's bytes are and why, what text comes out, and whether it is damaged. What is shown is masked."""
    from stages.ingest.charsets import codec_of
    from stages.ingest.doctor import examine_file
    from stages.ingest.trial import try_file

    for label in encodings:
        if codec_of(label) is None:
            fail(f"--encoding {label}: no charset of this name; write one such as gb18030, big5 or windows-1251", USAGE)
    report = examine_file(str(file), encodings, text_field)
    trial = try_file(str(file), encodings, text_field)
    data = _data(report, lines) | {"file": str(file), "display": _display(), "ingest": _tried(trial)}
    data["advice"] += trial.advice
    if json_out:
        click.echo(json.dumps(data, ensure_ascii=False))
    else:
        _print(data)


def _data(report: Report, lines: int) -> dict[str, Any]:
    """The report as JSON values, every text in it masked."""
    from stages.pii.mask import mask

    reading, findings = report.reading, report.findings
    data: dict[str, Any] = {
        "kind": report.kind,
        "compression": report.compression,
        "examined_bytes": report.examined,
        "complete": report.complete,
        "broken": report.broken,
        "reading": None,
        "damage": None,
        "advice": list(report.advice),
    }
    if reading is not None:
        data["reading"] = {k: v for k, v in asdict(reading).items() if k != "text"}
    if findings is not None and any(line.strip() for _, line in report.places):
        data["damage"] = asdict(findings)
        for found in (data["damage"]["mojibake"], data["damage"]["spelling"]):
            for example in found["examples"] if found else ():
                before, after = mask(example["before"]), mask(example["after"])
                same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
                start = max(0, same - _WIDTH // 4)
                example |= {"before": _cut(before, start), "after": _cut(after, start)}
    shown = [(number, line) for number, line in report.places if line.strip()][:lines]
    data["text"] = [{"line": number, "text": _cut(mask(line[:20_000]))} for number, line in shown]
    return data


def _tried(trial: Trial) -> dict[str, Any]:
    """The trial as JSON values, every text in it masked."""
    from stages.pii.mask import mask

    data = {k: v for k, v in asdict(trial).items() if k != "advice"}
    for refusal in data["refusals"]:
        refusal["detail"] = _cut(mask(refusal["detail"]))
    if trial.excerpt is not None:
        data["excerpt"] = _cut(mask(trial.excerpt[:20_000]))
    return data


def _cut(text: str, start: int = 0) -> str:
    left, right = "…" if start else "", "…" if len(text) - start > _WIDTH else ""
    return left + text[start : start + _WIDTH] + right


def _display() -> str | None:
    """Why this terminal may show text wrongly, or None."""
    encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "").replace("_", "")
    if encoding in ("utf8", "cp65001"):
        return None
    return (
        f"this terminal is set to {sys.stdout.encoding}: it shows other characters wrongly, and says nothing about the "
        "file (set PYTHONIOENCODING=utf-8 or a UTF-8 locale)"
    )


def _print(data: dict[str, Any]) -> None:
    part = "" if data["complete"] else "the first "
    packed = f", {data['compression']}" if data["compression"] else ""
    _say(f"{data['file']}: {data['kind']}{packed}; {part}{data['examined_bytes']:,} bytes of content examined")
    if data["broken"]:
        _say(f"the stream breaks off: {data['broken']}")
    if data["reading"]:
        _print_reading(data["reading"])
    if data["text"]:
        _say("text (masked):")
        for line in data["text"]:
            _say(f"  {line['line']:>6}  {line['text']}")
    _print_trial(data["ingest"])
    if data["damage"]:
        _print_damage(data["damage"])
    else:
        _say("nothing was read as text here, so damage was not looked for")
    if data["display"]:
        _say(data["display"])
    if data["advice"]:
        _say("in the config:")
    for line in data["advice"]:
        _say(f"  {line}")


def _print_reading(reading: dict[str, Any]) -> None:
    for step in reading["steps"]:
        _say(f"  {'→' if step['decided'] else ' '} {step['question']}: {step['answer']}")
    if len(reading["guesses"]) > 1:
        others = (f"{g['label']} (noise {g['noise']:.0%}, coherence {g['coherence']:.0%})" for g in reading["guesses"])
        _say(f"    the detector finds possible: {', '.join(others)}")
    if reading["rejected"]:
        _say(f"no text: {reading['detail']} ({reading['rejected']})")
    else:
        _say(f"read as {reading['codec']} ({reading['by']}), {reading['replacements']} places undecodable")
    for loss in reading["losses"]:
        _say(f"    offset {loss['offset']}, line {loss['line']}: {loss['hex']} became U+FFFD")
    if reading["replacements"] > len(reading["losses"]):
        _say(f"    and {reading['replacements'] - len(reading['losses'])} more")


def _print_trial(trial: dict[str, Any]) -> None:
    refused = sum(refusal["records"] for refusal in trial["refusals"])
    first = "" if trial["whole"] else ", of the first records alone"
    _say(f"as ingest reads it ({trial['format']}): documents {trial['documents']}, unusable {refused}{first}")
    for refusal in trial["refusals"]:
        detail = f", {refusal['detail']}" if refusal["detail"] else ""
        _say(f"  {refusal['records']:>6}  {refusal['reason']} (first: {refusal['first']}{detail})")
    if trial["excerpt"] is not None:
        _say(f"  text of the page: {trial['excerpt']}")


def _print_damage(damage: dict[str, Any]) -> None:
    wrong, spelled = damage["mojibake"], damage["spelling"]
    if spelled:
        _say(f"a display problem, no damage: {spelled['words']} words are spelled in the byte alphabet of vocabularies")
    if wrong:
        times = "" if wrong["times"] == 1 else f", {wrong['times']} times over"
        _say(f"mojibake in {wrong['lines']} lines: {wrong['written']} that was decoded as {wrong['read_as']}{times}")
    for example in (spelled or wrong or {"examples": ()})["examples"]:
        _say(f"    line {example['line']}: {example['before']}  →  {example['after']}")
    if damage["inherited"]:
        where = ", ".join(map(str, damage["inherited_lines"]))
        _say(f"{damage['inherited']} characters were lost before (U+FFFD in the data), lines {where}")
    if not (wrong or spelled or damage["inherited"]):
        _say("the text shows no damage: if it looks wrong on your screen, the screen is wrong")


def _say(text: str) -> None:
    """One line, also on a terminal that lacks some of its characters; control characters are spelled out."""
    encoding = sys.stdout.encoding or "ascii"
    text = _CONTROL.sub(lambda m: m[0].encode("unicode_escape").decode("ascii"), text)
    click.echo(text.encode(encoding, "backslashreplace").decode(encoding))
