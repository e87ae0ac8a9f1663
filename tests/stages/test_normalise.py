"""The editor `normalise`: what each switch changes, what stays, placeholders, edits."""

from __future__ import annotations

import unicodedata
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import curate
from pipeline.config import ConfigError, load
from pipeline.documents import DOCUMENTS, EDITS, VERDICT
from pipeline.stage import Edited
from stages.normalise import Normalise, NormaliseParams
from stages.normalise.editor import suspicious
from stages.normalise.texts import normalise
from stages.registry import registry

ALL: dict[str, Any] = {"mojibake": True, "unicode": "nfkc", "max_blank_lines": 1}
OFF: dict[str, Any] = {
    "unicode": False,
    "line_ends": False,
    "max_blank_lines": False,
    "zero_width": False,
    "controls": False,
    "mojibake": False,
}


def only(text: str, **switch: Any) -> str:
    return normalise(text, [], NormaliseParams(**(OFF | switch))).text


def document(doc_id: str, text: str, **columns: Any) -> dict[str, Any]:
    counts = {"replacements": 0, "surrogates": 0, "nuls": 0}
    row = {"doc_id": doc_id, "source": "s", "text": text, "metadata": "{}", "placeholders": [], "record": doc_id}
    return row | counts | columns


def edit(*rows: dict[str, Any], **params: Any) -> Edited:
    table = pa.Table.from_pylist(list(rows), schema=DOCUMENTS)
    result = Normalise.edit(table, None, NormaliseParams(**params), None)
    assert (result.documents.schema, result.edits.schema, result.verdicts.schema) == (DOCUMENTS, EDITS, VERDICT)
    return result


@pytest.mark.parametrize(
    ("switch", "before", "after"),
    [
        ({"unicode": "nfc"}, "cafe\u0301 ①", "café ①"),
        ({"unicode": "nfc"}, "가", "가"),
        ({"unicode": "nfc"}, "x" * 50 + "a\u0301\u0302o\u0308 漢字", "x" * 50 + "\u00e1\u0302\u00f6 漢字"),
        ({"unicode": "nfkc"}, "ｆｕｌｌ ﬁ 10³", "full fi 103"),
        ({"line_ends": True}, "a\r\nb\rc\x85d\u2028e\u2029f\x0bg\n", "a\nb\nc\nd\ne\nf\ng\n"),
        ({"max_blank_lines": 1}, "a\n\n \n\t\n\nb\n\nc", "a\n\nb\n\nc"),
        ({"max_blank_lines": 0}, "\n\na\n\u3000\nb\n", "a\nb\n"),
        ({"max_blank_lines": 2}, "a\n\n\nb", "a\n\n\nb"),
        ({"controls": True}, "a\x00\x08b\x7f\x9fc\td\x0ce\r\n", "abc\td\x0ce\r\n"),
        ({"controls": True}, "\x1b[1;31mred\x1b[0m", "red"),
        ({"mojibake": True}, "cafÃ© rÃ©sumÃ© naÃ¯ve", "café résumé naïve"),
        ({"mojibake": True}, "fine\nÐŸÑ€Ð¸Ð²ÐµÑ‚\nfine", "fine\nПривет\nfine"),
        ({"zero_width": True}, "\ufeffin\u00advis\u200bi\u200cb\u200dle", "invisible"),
    ],
)
def test_each_switch_changes_what_it_says(switch: dict[str, Any], before: str, after: str) -> None:
    assert only(before, **switch) == after
    assert only(before) == before


@pytest.mark.parametrize(
    "text",
    [
        "می\u200cخواهم",  # Persian: the plural and verb prefixes are set off by ZWNJ
        "ن\u064e\u200cه",  # a vowel mark before the joiner
        "क्\u200dष क्\u200cष",  # Devanagari half form and explicit virama
        "ന്\u200d",  # Malayalam chillu at the end of a word
        "👩\u200d💻 👨\u200d👩\u200d👧 🏴\u200d☠️ 👩🏽\u200d🚀 ❤️\u200d🔥",
        "ภาษา\u200bไทย ភាសា\u200bខ្មែរ",  # word breaks
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",  # the flag of England
        "ᠮᠠᠩᠭ\u180eᠠ",
        "\u200eleft\u200f \u2066isolate\u2069 ❤\ufe0f",
        "<\u2060|email|>",  # breaks a look-alike of a special token
    ],
)
def test_invisible_characters_that_spelling_needs_stay(text: str) -> None:
    assert only(text, zero_width=True) == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\u200d💻", "a💻"),
        ("می\u200c\u200c\u200bخ", "می\u200cخ"),
        ("ภา\u200b\u200bษา", "ภา\u200bษา"),
        ("hi\U000e0068\U000e0069", "hi"),
        ("漢\u200b字", "漢字"),
        ("ा\u200d 👩\u200d", "ा\u200d 👩"),
    ],
)
def test_invisible_characters_that_say_nothing_go(before: str, after: str) -> None:
    assert only(before, zero_width=True) == after


@pytest.mark.parametrize("text", ["a clean line with Ã and “quotes”", "plain ASCII", "naïve façade", "你好，世界"])
def test_repair_leaves_clean_text_alone(text: str) -> None:
    assert only(text, mojibake=True) == text


def test_nothing_but_the_listed_switches_is_on_by_default() -> None:
    on = NormaliseParams().model_dump()
    assert on == {
        "unicode": "nfc",
        "line_ends": True,
        "max_blank_lines": 2,
        "zero_width": True,
        "controls": True,
        "mojibake": False,
    }


def test_each_contiguous_change_is_one_edit_in_code_points_of_the_original() -> None:
    result = edit(document("d", "𝄞e\u0301\r\n\r\nb\u200b\x07c\n\n\n\n\n"), max_blank_lines=1)
    assert result.documents["text"].to_pylist() == ["𝄞é\n\nbc\n\n"]
    rows = [(e["kind"], e["start"], e["end"], e["replacement"]) for e in result.edits.to_pylist()]
    assert rows == [
        ("unicode", 1, 3, "é"),
        ("line_ends", 3, 7, "\n\n"),
        ("zero_width", 8, 9, ""),
        ("controls", 9, 10, ""),
        ("max_blank_lines", 13, 16, ""),
    ]


def test_an_edit_says_where_even_when_switches_work_on_each_others_results() -> None:
    text = "x\r\n\r\n\r\n\r\nÃ©\u0302"
    edits = normalise(text, [], NormaliseParams(mojibake=True, max_blank_lines=0)).edits
    assert [(e.kind, text[e.start : e.end]) for e in edits] == [
        ("line_ends", "\r\n\r\n\r\n\r\n"),
        ("max_blank_lines", "\r\n\r\n\r\n\r\n"),
        ("mojibake", "Ã©"),
    ]


def test_the_edits_table_quotes_no_more_than_a_character() -> None:
    result = edit(document("d", "mail ｊｏｅ＠ｅｘａｍｐｌｅ．ｏｒｇ"), unicode="nfkc")
    assert result.documents["text"].to_pylist() == ["mail joe@example.org"]
    assert [e["replacement"] for e in result.edits.to_pylist()] == [None]


def test_placeholders_stay_and_move_with_the_text() -> None:
    text = "a\r\n\u200b<|email|>\u0338\r\n\x00\x00<|ﬁ|>\r\nend"
    spans = [{"start": 4, "end": 13, "token": "<|email|>"}, {"start": 18, "end": 23, "token": "<|ﬁ|>"}]
    result = edit(document("d", text, placeholders=spans), unicode="nfkc")
    (row,) = result.documents.to_pylist()
    assert row["text"] == "a\n<|email|>\u0338\n<|ﬁ|>\nend"
    assert [row["text"][p["start"] : p["end"]] for p in row["placeholders"]] == ["<|email|>", "<|ﬁ|>"]


def test_a_span_that_does_not_hold_its_token_is_an_error_that_names_the_document() -> None:
    row = document("d1", "a\r\nb", placeholders=[{"start": 0, "end": 2, "token": "<|x|>"}])
    with pytest.raises(ValueError, match=r"document d1: placeholder span 0\.\.2 of the text does not hold '<\|x\|>'"):
        edit(row)


def test_a_title_is_normalised_and_a_missing_one_is_not() -> None:
    result = edit(document("a", "x", title="e\u0301"), document("b", "y"), document("c", "z\r\n", title="t"))
    assert result.documents["title"].to_pylist() == ["é", None, "t"]
    assert [(e["doc_id"], e["field"]) for e in result.edits.to_pylist()] == [("a", "title"), ("c", "text")]


def test_a_document_that_is_left_empty_is_dropped_and_an_empty_one_is_not() -> None:
    result = edit(document("a", "\u200b\ufeff\x07\n"), document("b", ""), document("c", "x"))
    assert result.verdicts["rule"].to_pylist() == ["empty_after_normalise", None, None]


def test_documents_that_need_nothing_are_given_back_as_they_are() -> None:
    result = edit(document("a", "clean\n\ntext é 漢字"), document("b", "می\u200cخواهم"), mojibake=True)
    assert result.documents["text"].to_pylist() == ["clean\n\ntext é 漢字", "می\u200cخواهم"]
    assert result.edits.num_rows == 0


def test_an_empty_table_has_the_declared_schemas() -> None:
    assert edit().documents.num_rows == 0


alphabet = st.sampled_from(list("ab\r\n\n \t\x0b\x0c\x00\x1b[m") + list("é\u0301ﬁ①가\u200b\u200c\u200d\ufeff\u00ad")
                           + list("مक्👩💻ไÃ©â€™Â\x85\u2028\u180e\U000e007f\U0001f3f4ａ™"))  # fmt: skip
texts = st.one_of(st.text(alphabet, max_size=40), st.text(max_size=40))


@given(texts, st.sampled_from([{}, ALL, {"max_blank_lines": 0, "zero_width": False}]))
@settings(max_examples=150, deadline=None)
def test_normalising_twice_changes_nothing_more_and_edits_rebuild_what_stayed(text: str, params: Any) -> None:
    wanted = NormaliseParams(**params)
    once = normalise(text, [], wanted)
    assert normalise(once.text, [], wanted).edits == []
    if wanted.unicode:
        assert unicodedata.is_normalized(wanted.unicode.upper(), once.text)
    touched = {i for e in once.edits for i in range(e.start, e.end)}
    untouched = iter(once.text)
    assert all(c in untouched for i, c in enumerate(text) if i not in touched), "a subsequence of the result"


@given(texts, texts, texts)
@settings(max_examples=100, deadline=None)
def test_placeholders_hold_their_token_after_any_edit(left: str, middle: str, right: str) -> None:
    token = "<|a|>"
    first, second = len(left), len(left) + len(token) + len(middle)
    spans = [(first, first + len(token), token), (second, second + len(token), token)]
    result = normalise(f"{left}{token}{middle}{token}{right}", spans, NormaliseParams(**ALL))
    assert len(result.placeholders) == 2
    assert all(result.text[s.start : s.end] == token for s in result.placeholders)


@given(texts, st.sampled_from([{}, ALL, *({k: v} for k, v in ALL.items())]))
@settings(max_examples=150, deadline=None)
def test_the_quick_test_never_passes_over_a_text_that_needs_work(text: str, params: Any) -> None:
    wanted = NormaliseParams(**params)
    if normalise(text, [], wanted).edits:
        assert suspicious(pa.chunked_array([pa.array([text], pa.large_string())]), wanted)[0]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"unicode": True}, "is a value or `off`, not true"),
        ({"unicode": 0}, "unicode is nfc, nfkc or off"),
        ({"unicode": "nfd"}, "'nfc' or 'nfkc'"),
        ({"max_blank_lines": True}, "is a value or `off`, not true"),
        ({"max_blank_lines": -1}, "greater than or equal to 0"),
        ({"ftfy": True}, "Extra inputs"),
    ],
)
def test_a_wrong_setting_is_an_error(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as error:
        NormaliseParams(**params)
    assert message in str(error.value)


def test_behind_the_pii_editor_it_is_refused(tmp_path: Any) -> None:
    (tmp_path / "a.txt").write_text("x")
    config = tmp_path / "c.yaml"
    config.write_text("name: c\nsources: [{name: a, path: a.txt}]\nstages:\n  - ingest\n  - pii\n  - normalise\n")
    with pytest.raises(ConfigError, match=r"c\.yaml:6: normalise: stands behind `pii`.*put it before"):
        load(config, registry())
    config.write_text("name: c\nsources: [{name: a, path: a.txt}]\nstages:\n  - ingest\n  - normalise\n  - pii\n")
    assert [use.name for use in load(config, registry()).stages][1] == "normalise"


def test_in_a_run_it_makes_a_generation_of_documents_and_lists_its_edits(tmp_path: Any) -> None:
    (tmp_path / "a.txt").write_bytes("e\u0301t\u00e9\r\nmail ｚｏｅ@example.org\u200b\r\n".encode())
    (tmp_path / "b.txt").write_bytes("\u200b".encode())
    (tmp_path / "c.yaml").write_text(
        'name: c\nsources: [{name: a, path: "*.txt", license: MIT}]\nstages:\n  - ingest\n'
        "  - normalise: {unicode: nfkc}\n  - pii: {}\n"
    )
    run = curate.run(tmp_path / "c.yaml", run_dir=tmp_path / "run", workers=1)
    assert run.sql("select text from curated").fetchall() == [("été\nmail <|email|>\n",)]
    kinds = run.sql("select kind, count(*) from edits where stage = 'normalise' group by 1 order by 1").fetchall()
    assert kinds == [("line_ends", 2), ("unicode", 2), ("zero_width", 2)]
    assert run.sql("select rule from verdicts where not keep").fetchall() == [("empty_after_normalise",)]
