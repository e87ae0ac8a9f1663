"""The licence judge: SPDX expressions against an allow list."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pydantic import ValidationError

from pipeline.sources import Source
from pipeline.stage import measuring
from stages.license import License, LicenseParams, Status, allowed, read

ALLOW = ("CC0-1.0", "MIT", "Apache-2.0", "GPL-2.0-only")


def judge(licenses: list[str | None], **params: Any) -> list[dict[str, Any]]:
    settings = LicenseParams(**{"allow": ALLOW, **params})
    documents = pa.table({"license": pa.array(licenses, pa.string())})
    measures = License.measure(documents, settings)
    assert measures.schema == License.schema(settings)
    rows: list[dict[str, Any]] = License.decide(measures, None, settings).to_pylist()
    return rows


@pytest.mark.parametrize(
    ("expression", "rule"),
    [
        ("MIT", None),
        ("mit", None),
        ("apache-2.0+", None),
        ("GPL-2.0", None),
        ("GPL-2.0-or-later", "license_not_allowed"),
        ("CC-BY-NC-4.0", "license_not_allowed"),
        ("CC-BY-NC-4.0 OR MIT", None),
        ("CC-BY-NC-4.0 AND MIT", "license_not_allowed"),
        ("MIT AND (Apache-2.0 OR CC-BY-NC-4.0)", None),
        ("(MIT AND CC-BY-NC-4.0) OR CC0-1.0", None),
        ("GPL-2.0-only WITH Classpath-exception-2.0", None),
        ("GPL-3.0-only WITH GCC-exception-3.1", "license_not_allowed"),
        ("LicenseRef-our-contract", "license_not_allowed"),
        (None, "license_unknown"),
        ("", "license_unknown"),
        ("  ", "license_unknown"),
        ("NOASSERTION", "license_unknown"),
        ("none", "license_unknown"),
        ("All rights reserved", "license_unknown"),
        ("MIT AND", "license_unknown"),
        ("MIT, Apache-2.0", "license_unknown"),
        ("MIT WITH MIT", "license_unknown"),
        ("Classpath-exception-2.0", "license_unknown"),
        ("MIT OR NoSuchLicense-1.0", "license_unknown"),
        ("\x00", "license_unknown"),
        ("(" * 5_000, "license_unknown"),
        ("(" * 900 + "MIT" + ")" * 900, None),
    ],
)
def test_an_expression_is_judged_by_its_operators(expression: str | None, rule: str | None) -> None:
    (verdict,) = judge([expression])
    assert verdict["rule"] == rule
    assert verdict["keep"] == (rule is None)
    assert allowed(expression, ALLOW) == (rule is None, rule)


def test_the_detail_says_the_text_or_the_expression() -> None:
    unknown, refused, missing = judge(["Some Licence v9", "cc-by-nc-4.0 or gpl-3.0+", None])
    assert unknown["detail"] == "Some Licence v9"
    assert refused["detail"] == "CC-BY-NC-4.0 OR GPL-3.0-or-later"
    assert missing["detail"] == "no licence given"


def test_measures_hold_the_normalised_expression_and_its_status() -> None:
    documents = pa.table({"license": pa.array(["mit or isc", None, "MIT AND", "Nope-1.0"], pa.string())})
    rows = License.measure(documents, LicenseParams(allow=("MIT",))).to_pydict()
    assert rows["expression"] == ["MIT OR ISC", None, "MIT AND", "Nope-1.0"]
    assert rows["status"] == [Status.KNOWN, Status.MISSING, Status.UNPARSABLE, Status.UNKNOWN_ID]


def test_unknown_licences_can_be_let_through_and_refused_ones_cannot() -> None:
    kept, refused = judge([None, "CC-BY-NC-4.0"], allow_unknown=True)
    assert kept["keep"]
    assert refused["rule"] == "license_not_allowed"


def test_an_exception_can_be_allowed_without_its_bare_licence() -> None:
    pair = "GPL-3.0-only WITH GCC-exception-3.1"
    with_exception, bare = judge([pair, "GPL-3.0-only"], allow=(pair,))
    assert with_exception["keep"]
    assert bare["rule"] == "license_not_allowed"


def test_ids_of_the_allow_list_take_their_canonical_spelling() -> None:
    assert LicenseParams(allow=("mit", "cc0-1.0", "MIT")).allow == ("MIT", "CC0-1.0")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("CC-BY-4", "'CC-BY-4' is no SPDX licence id; did you mean 'CC-BY-4.0'?"),
        ("Apache 2", "did you mean 'Apache-2.0'?"),
        ("qqqqqqq", "'qqqqqqq' is no SPDX licence id (see https://spdx.org/licenses)"),
        ("MIT OR ISC", "joins several licences: list each id on its own"),
        ("NOASSERTION", "'NOASSERTION' is no SPDX licence id"),
    ],
)
def test_a_wrong_id_in_the_allow_list_is_an_error_that_names_the_nearest(given: str, message: str) -> None:
    with pytest.raises(ValidationError) as error:
        LicenseParams(allow=(given,))
    assert message in str(error.value)


def test_an_empty_allow_list_is_an_error() -> None:
    with pytest.raises(ValidationError, match="allow"):
        LicenseParams(allow=())


def test_no_setting_reaches_the_measures() -> None:
    assert measuring(LicenseParams(allow=("MIT",), allow_unknown=True)) == {}


def test_an_empty_table_has_the_declared_schema() -> None:
    assert judge([]) == []


def test_each_distinct_text_is_parsed_once() -> None:
    judge([])  # reads the allow list
    before = read.cache_info().misses
    judge(["ISC AND MIT AND Zlib"] * 1_000)
    assert read.cache_info().misses == before + 1


@pytest.mark.parametrize(
    ("license", "params", "message"),
    [
        ("CC0", {}, "`license: CC0` of source 'essays' is no SPDX expression; did you mean 'CC0-1.0'?"),
        ("MIT License", {}, "did you mean 'MIT'?"),
        ("Apache License 2.0", {}, "did you mean 'Apache-2.0'?"),
        ("all rights reserved", {}, "LicenseRef-NAME for a licence that SPDX does not list"),
        ("MIT AND", {}, "is no SPDX expression"),
        ("", {}, "`license: ''` of source"),
        ("CC0", {"allow_unknown": True}, None),
        ("LicenseRef-mine", {}, None),
        ("mit or GPL-2.0-only", {}, None),
        (None, {}, None),
    ],
)
def test_a_source_whose_licence_has_no_reading_is_an_error_before_anything_is_read(
    license: str | None, params: dict[str, Any], message: str | None
) -> None:
    settings = LicenseParams(**{"allow": ALLOW, **params})
    source = Source(name="essays", path="essays.jsonl", license=license)
    if message is None:
        assert License.link(settings, (), (source,)) is settings
        return
    with pytest.raises(ValueError) as error:
        License.link(settings, (), (source,))
    assert message in str(error.value)
