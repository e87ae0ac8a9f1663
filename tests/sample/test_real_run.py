"""The run that docs/real-text.md describes, made again from the real text it names, gives what the page says."""

from __future__ import annotations

import base64
import io
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console
from sample.small import ROOT, SHARED

import curate
from report.funnel import table

PAGE = (ROOT / "docs" / "real-text.md").read_text(encoding="utf-8")
FILES = ["web/c4-1000.jsonl.zst", "trusted/zh.jsonl.zst", "trusted/en.jsonl.zst"]
ABSENT = [name for name in FILES if not (SHARED / name).is_file()]
TOLERANCE = 0.03

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(ABSENT), reason=f"no real text: {', '.join(ABSENT)} absent (set CURATE_TEST_DATA)"),
]


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> curate.Run:
    folder = tmp_path_factory.mktemp("real")
    text = PAGE.split("```yaml\n")[1].split("```")[0].replace("DATA/", f"{SHARED.resolve()}/")
    (folder / "real.yaml").write_text(text, encoding="utf-8")
    return curate.run(folder / "real.yaml", run_dir=folder / "run", workers=2)


@cache
def documented() -> dict[str, dict[str, Any]]:
    """By stage of the page's funnel: documents in, kept, dropped, size, and drops by rule."""
    lines = PAGE.split("<!-- funnel: begin -->")[1].split("<!-- funnel: end -->")[0].strip().strip("`").strip("\n")
    return parsed(lines)


def parsed(printed: str) -> dict[str, dict[str, Any]]:
    """The numbers of a printed funnel; a row without drops has an empty cell, and `why` runs over several lines."""
    rows: dict[str, dict[str, Any]] = {}
    row = re.compile(
        r"(?P<stage>[a-z_]+) +(?P<came>[\d,]+) +(?P<kept>[\d,]+)(?: +(?P<lost>[\d,]+))? +(?P<size>[\d.]+ \w?B)"
    )
    stage = ""
    for line in printed.splitlines()[1:]:
        why = line
        if match := row.match(line):
            stage, why = match["stage"], line[match.end() :]
            came, kept, lost = (int((match[k] or "0").replace(",", "")) for k in ("came", "kept", "lost"))
            rows[stage] = {"in": came, "kept": kept, "dropped": lost, "size": match["size"], "why": ""}
        rows[stage]["why"] += why + " "
    for numbers in rows.values():
        pairs = re.findall(r"(\w+)\s+([\d,]+)", numbers.pop("why"))
        numbers["rules"] = {rule: int(n.replace(",", "")) for rule, n in pairs}
    return rows


def kept_by_source() -> dict[str, tuple[int, int]]:
    """Documents and curated documents of each source, as the page has them."""
    found = re.findall(r"^\| (\w+) \| ([\d,]+) \| ([\d,]+) \|$", PAGE, re.MULTILINE)
    return {name: (int(a.replace(",", "")), int(b.replace(",", ""))) for name, a, b in found}


def test_the_page_states_the_funnel_that_the_run_gives(real: curate.Run) -> None:
    out = io.StringIO()
    Console(file=out, width=100, highlight=False).print(table(real.report()))
    assert documented() == parsed(out.getvalue()), "docs/real-text.md: put the run's funnel between its marks"


def test_the_page_states_what_is_kept_of_each_source(real: curate.Run) -> None:
    query = """select source, count(*), count(c.doc_id) from documents d
               left join (select doc_id from curated) c using (doc_id) group by source"""
    assert kept_by_source() == {source: (n, kept) for source, n, kept in real.sql(query).fetchall()}


def test_in_is_kept_and_dropped_and_quarantined_at_every_stage(real: curate.Run) -> None:
    stages = real.report()["stages"]
    assert [s["stage"] for s in stages] == list(documented())
    for before, stage in zip([None, *stages], stages, strict=False):
        lost = sum(stage["dropped"].values()) + sum(stage["quarantined"].values())
        assert stage["documents_in"] == stage["kept"] + lost, stage["stage"]
        assert before is None or stage["documents_in"] == before["kept"], stage["stage"]
    assert stages[-1]["kept"] == len(real.sql("select doc_id from curated").fetchall())


def test_shares_and_drops_lie_near_the_documented_ones(real: curate.Run) -> None:
    """What holds still when a library changes a last digit."""
    for source, (documents, curated) in kept_by_source().items():
        n = len(real.sql("select doc_id from curated where source = ?", [source]).fetchall())
        assert n / documents == pytest.approx(curated / documents, abs=TOLERANCE), source
    for stage in real.report()["stages"]:
        expected = documented()[stage["stage"]]
        lost = stage["documents_in"] - stage["kept"]
        assert abs(lost - expected["dropped"]) <= TOLERANCE * max(expected["dropped"], 100), stage["stage"]


def test_every_duplicate_reaches_its_threshold_and_names_a_kept_document(real: curate.Run) -> None:
    query = """select v.stage, c.jaccard, k.keep from verdicts v left join clusters c using (doc_id, stage)
               left join verdicts k on k.doc_id = c.kept_id and k.stage = c.stage
               where v.stage in ('exact_dedup', 'minhash') and v.keep = false"""
    rows = real.sql(query).fetchall()
    assert rows
    for stage, jaccard, kept in rows:
        assert kept is True
        assert jaccard == 1.0 if stage == "exact_dedup" else jaccard >= 0.8


def test_curated_text_is_the_original_with_every_edit_made(real: curate.Run) -> None:
    query = """select doc_id, d.text, c.text, list({'a': e.start, 'b': e."end", 'new': e.replacement, 'kind': e.kind})
               from edits e join documents d using (doc_id) join curated c using (doc_id)
               where e.field = 'text' group by all"""
    rows = real.sql(query).fetchall()
    assert len(rows) > 80
    for doc_id, original, curated, edits in rows:
        at, parts = 0, []
        for edit in sorted(edits, key=lambda e: e["a"]):
            parts += [original[at : edit["a"]], edit["new"]]
            at = edit["b"]
            if edit["kind"] in ("email", "ip", "phone", "address"):
                assert not stands_free(original[edit["a"] : edit["b"]], curated), doc_id
        assert "".join(parts) + original[at:] == curated, doc_id


def stands_free(value: str, text: str) -> bool:
    return re.search(rf"(?<![\w.@-]){re.escape(value)}(?![\w@-]|\.\w)", text) is not None


def test_the_exports_encode_curated_documents_as_our_encoder_does(real: curate.Run) -> None:
    import tiktoken
    from tokenizers import Tokenizer

    folder = real.root / "tokenizer"
    ours: Any = curate.Tokenizer.load(folder)
    hugging_face = Tokenizer.from_file(str(folder / "tokenizer.json"))
    openai = tiktoken.Encoding(
        name="real", pat_str=_json(folder / "model.json")["pattern"]["regex"],
        mergeable_ranks=_ranks(folder / "tokenizer.tiktoken"), special_tokens=dict(ours.special_tokens),
    )  # fmt: skip
    texts = real.sql("select text from curated order by doc_id limit 200").fetchall()
    assert len(texts) == 200
    for (text,) in texts:
        ids = ours.encode(text, allowed_special="all")
        assert ids == hugging_face.encode(text, add_special_tokens=False).ids
        assert ids == openai.encode(text, allowed_special="all")
        assert ours.decode(ids) == text


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _ranks(path: Path) -> dict[bytes, int]:
    lines = path.read_text(encoding="ascii").splitlines()
    return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines)}


def test_the_page_names_no_setting_that_the_config_refuses() -> None:
    from stages.gopher import GopherParams
    from stages.perplexity.band import Band
    from stages.pii import PIIParams

    for written in re.findall(r"`(\w+: (?:\{[^`]+\}|\[[^`]+\]))`", PAGE):
        ((name, value),) = yaml.safe_load(written).items()
        if name == "band":
            Band.model_validate(value)
        elif name == "unspaced":
            GopherParams.model_validate({name: value})
        else:
            PIIParams.model_validate({name: value})
