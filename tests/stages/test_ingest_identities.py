"""Identities of many records, hashed in groups."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.hashing import identity
from stages.ingest import identities
from stages.ingest.identities import Identities

OWN = st.one_of(st.none(), st.text(max_size=5), st.just("\ud800"))


@settings(deadline=None)
@given(st.lists(st.tuples(OWN, st.binary(max_size=300)), max_size=40), st.integers(0, 2000), st.integers(0, 3000))
def test_identities_are_those_of_single_records_in_their_order_wherever_groups_end(records, worth, group):
    kept = identities.WORTH, identities.GROUP, identities.LONG
    identities.WORTH, identities.GROUP, identities.LONG = worth, group, 200  # type: ignore[misc]
    try:
        found = Identities("web")
        for turn in (records, records[:3]):
            for own_id, raw in turn:
                found.add(own_id, raw)
            assert found.take() == [identity("web", own_id, raw) for own_id, raw in turn]
    finally:
        identities.WORTH, identities.GROUP, identities.LONG = kept  # type: ignore[misc]
