"""The PII editor as the runner calls it: documents, edits and verdicts of one shard."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from pipeline.documents import DOCUMENTS, EDITS, VERDICT
from pipeline.stage import Edited
from stages.pii import PII, PIIParams, editor


def document(doc_id: str, text: str, **columns: Any) -> dict[str, Any]:
    return {
        "doc_id": doc_id,
        "source": "s",
        "text": text,
        "metadata": "{}",
        "placeholders": [],
        "replacements": 0,
        "surrogates": 0,
        "nuls": 0,
        "mojibake": 0,
        "repairs": None,
        "record": f"f:{doc_id}",
        **columns,
    }


def edit(*rows: dict[str, Any], **settings: Any) -> Edited:
    table = pa.Table.from_pylist(list(rows), schema=DOCUMENTS)
    result = PII.edit(table, None, PIIParams(**settings), None)
    assert result.documents.schema == DOCUMENTS
    assert result.edits.schema == EDITS
    assert result.verdicts.schema == VERDICT
    assert result.documents.num_rows == result.verdicts.num_rows == len(rows)
    return result


def rules(result: Edited) -> list[str | None]:
    return result.verdicts["rule"].to_pylist()


def test_the_address_is_in_no_field_of_the_output() -> None:
    """PII-19."""
    row = document(
        "1",
        "mail zoe@example.org",
        url="https://example.org/u?m=zoe@example.org",
        title="zoe@example.org",
        metadata='{"who": "zoe@example.org", "n": 1.0}',
    )
    result = edit(row)
    assert "zoe@" not in str(result.documents.to_pylist()) + str(result.edits.to_pylist())
    assert result.documents.to_pylist()[0] | {"placeholders": None} == row | {
        "text": "mail <|email|>",
        "url": "https://example.org/u?m=<|email|>",
        "title": "<|email|>",
        "metadata": '{"who": "<|email|>", "n": 1.0}',
        "placeholders": None,
        "license": None,
        "encoding": None,
        "encoding_by": None,
    }
    assert result.documents["placeholders"].to_pylist() == [[{"start": 5, "end": 14, "token": "<|email|>"}]]


def test_edits_come_in_order_of_document_field_and_start() -> None:
    result = edit(
        document("b", "8.8.8.8 zoe@example.org", title="zoe@example.org", url="https://8.8.8.8/"),
        document("a", "nothing here"),
        document("c", "<|ip|>", metadata='{"k": "zoe@example.org"}'),
    )
    places = [(e["doc_id"], e["field"], e["kind"], e["start"], e["end"]) for e in result.edits.to_pylist()]
    assert places == [
        ("b", "text", "ip", 0, 7),
        ("b", "text", "email", 8, 23),
        ("b", "title", "email", 0, 15),
        ("b", "url", "ip", 8, 15),
        ("c", "metadata", "email", 7, 22),
        ("c", "text", "literal_special", 1, 1),
    ]


def test_a_document_with_a_forbidden_entity_is_dropped_under_its_name() -> None:
    result = edit(
        document("1", "key AKIA" + "Z2" * 8),
        document("2", "write to zoe@example.org"),
        document("3", "clean", title="key AKIA" + "Z2" * 8),
        actions={"secret": "drop_document"},
    )
    assert result.verdicts["keep"].to_pylist() == [False, True, False]
    assert rules(result)[0] == rules(result)[2] == "pii_drop"
    assert result.verdicts["detail"].to_pylist()[0] == "secret"
    assert result.edits.to_pylist()[0]["replacement"] is None


def test_a_dense_document_is_dropped_with_its_count_and_limit() -> None:
    pair = "write to amy@example.org and bob@example.org"
    result = edit(document("1", pair), document("2", pair, title="zoe@example.org"), max_per_document=2)
    assert result.verdicts.select(["keep", "rule", "value", "threshold"]).to_pylist() == [
        {"keep": True, "rule": None, "value": None, "threshold": None},
        {"keep": False, "rule": "pii_density", "value": 3.0, "threshold": 2.0},
    ]


def test_a_document_of_placeholders_alone_is_empty() -> None:
    result = edit(document("1", "zoe@example.org\n 8.8.8.8 "), document("2", " \n"), document("3", "zoe@example.org!"))
    assert rules(result) == ["empty_after_pii", None, None]


def test_a_second_pass_changes_no_document() -> None:
    row = document("1", "😀 <|email|> zoe@example.org", title="zoe@example.org", metadata='{"a": "8.8.8.8"}')
    once = edit(row).documents
    again = edit(*once.to_pylist())
    assert again.documents.equals(once)
    assert again.edits.num_rows == 0


def test_an_empty_shard_gives_empty_tables() -> None:
    assert edit().edits.num_rows == 0


def test_columns_of_earlier_judges_are_left_out() -> None:
    table = pa.Table.from_pylist([document("1", "x")], schema=DOCUMENTS).append_column("lang", pa.array(["en"]))
    assert PII.edit(table, None, PIIParams(), None).documents.schema == DOCUMENTS


def test_a_broken_trusted_span_names_its_document() -> None:
    broken = document("d7", "text", placeholders=[{"start": 0, "end": 3, "token": "<|x|>"}])
    with pytest.raises(ValueError, match=r"document d7: placeholder span 0\.\.3"):
        edit(broken)


def test_a_document_without_a_candidate_never_becomes_a_python_string(monkeypatch: pytest.MonkeyPatch) -> None:
    scrubbed = []

    def note(row: dict[str, Any], params: PIIParams) -> Any:
        scrubbed.append(row["doc_id"])
        return scrub_document(row, params)

    scrub_document = editor._scrub_document
    monkeypatch.setattr(editor, "_scrub_document", note)
    result = edit(
        document("plain", "Nothing of the kind, not even in 2031."),
        document("email", "to zoe@example.org"),
        document("title", "plain", title="8.8.8.8"),
        document("url", "plain", url="https://example.org/?m=zoe@example.org"),
        document("metadata", "plain", metadata='{"a": "zoe@example.org"}'),
        document("escape", "plain", metadata='{"a": "zoe\\u0040example.org"}'),
        document("look-alike", "a literal <|email|>"),
        document("trusted", "<|x|>", placeholders=[{"start": 0, "end": 5, "token": "<|x|>"}]),
        document("last", "Still nothing.", title="No", url="https://example.org/a", metadata='{"n": 1.5}'),
    )
    assert scrubbed == ["email", "title", "url", "metadata", "escape", "look-alike", "trusted"]
    assert result.documents["doc_id"].to_pylist() == ["plain", *scrubbed, "last"]
    assert "zoe" not in str(result.documents.to_pylist())
