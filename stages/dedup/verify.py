"""Verification and choice: exact Jaccard of candidates, batch after batch, and which documents are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipeline.slices import ROWS, spilled, spilling
from stages.dedup import clusters
from stages.dedup.candidates import OPEN_FILES, Buckets, Components

I64s = NDArray[np.int64]
STATE: Final = clusters.CLUSTERS.append(pa.field("band", pa.int64(), nullable=False))  # the first band they share
MEMBERS: Final = pa.schema(
    [
        pa.field("number", pa.int64()),  # of the document among all that have keys
        pa.field("doc_id", pa.large_string()),
        pa.field("rank", pa.int64()),  # of its source; below 0: of an earlier corpus
        pa.field("characters", pa.int64()),
        pa.field("shingles", pa.large_list(pa.int64())),  # sorted distinct 64-bit hashes
    ]
)
"""A candidate as it is verified. `rank`, `characters` (descending) and `doc_id` are the declared order."""


@dataclass
class Found:
    """What was decided: removed documents (STATE), in a file, and how they were found."""

    folder: Path
    memory: int
    comparisons: int = 0
    abandoned: list[dict[str, int]] = field(default_factory=list)  # buckets that reached the bound of comparisons
    by_rank: Counter[int] = field(default_factory=Counter)  # removed documents by the rank of their source
    largest: int = 0  # members of the largest cluster, the kept document included
    table: pa.Table = field(default_factory=STATE.empty_table)  # the removed documents by doc_id, mapped

    def settle(self, removed: Iterable[pa.Table]) -> Found:
        """Sort the removed documents, within `memory`."""
        import duckdb

        batches = (batch for table in removed for batch in table.to_batches())
        unsorted = spilled(batches, STATE, self.folder / "removed.arrow")
        with duckdb.connect(config=spilling(self.memory, self.folder)) as connection:
            connection.register("removed", unsorted)
            sizes = "select count(*) as size from removed where run is null group by kept_id"
            most = connection.sql(f"select max(size) from ({sizes})").fetchall()[0][0]
            ordered = connection.sql("select * from removed order by doc_id").to_arrow_reader(ROWS)
            self.table = spilled(ordered, STATE, self.folder / "sorted.arrow")
        self.largest = 0 if most is None else int(most) + 1
        return self


class Batches:
    """Files of candidates (MEMBERS), one for each batch of components."""

    def __init__(self, folder: Path, components: Components, memory: int) -> None:
        self.folder, self.components, self.memory = folder, components, memory
        self.count = min(OPEN_FILES, max(1, -(-components.weight() * 8 // max(1, memory // 4))))
        self.files = [folder / f"candidates-{b}.arrow" for b in range(self.count)]

    def write(self, members: Iterable[pa.Table]) -> None:
        """Spread the candidates over the batches, each whole components."""
        writers = [pa.ipc.new_stream(str(file), MEMBERS) for file in self.files]
        for table in members:
            batch = self.components.batch_of(table["number"].to_numpy(), self.count)
            for b in np.unique(batch).tolist():
                writers[b].write_table(table.filter(pa.array(batch == b)).combine_chunks())
        for writer in writers:
            writer.close()
        self.components.spread(self.count)

    def decide(self, threshold: float, max_bucket: int, runs: list[str]) -> Found:
        """Verify and choose, batch after batch. `runs`: names of the earlier corpora, that of rank -1 last."""
        found = Found(self.folder, self.memory)
        limit = max_bucket * (max_bucket - 1) // 2

        def removed() -> Iterator[pa.Table]:
            for b, file in enumerate(self.files):
                with pa.memory_map(str(file)) as mapped, pa.ipc.open_stream(mapped) as reader:
                    table = reader.read_all()
                if table.num_rows:
                    yield _decide(table, self.components.buckets(b), threshold, limit, runs, found)
                file.unlink()

        found.settle(removed())
        found.abandoned.sort(key=lambda bucket: (bucket["band"], -bucket["documents"]))
        return found


def _decide(table: pa.Table, buckets: Buckets, threshold: float, limit: int, runs: list[str], found: Found) -> pa.Table:
    """The removed documents (STATE) of one batch; how they were found is added to `found`."""
    from kernels import keepers

    order = [("rank", "ascending"), ("characters", "descending"), ("doc_id", "ascending"), ("number", "ascending")]
    at = pc.sort_indices(table.select([name for name, _ in order]), sort_keys=order).to_numpy().astype(np.int64)
    numbers, rank = table["number"].to_numpy(), table["rank"].to_numpy()[at]
    members = _numbered(buckets, numbers, at)
    visits = np.argsort(members, kind="stable")
    first = np.searchsorted(members[visits], np.arange(len(at) + 1))
    lists = table["shingles"].combine_chunks()
    offsets, values = lists.offsets.to_numpy(), lists.values.to_numpy()
    starts, stops = offsets[at], offsets[at + 1]
    kept, common, bucket = (np.zeros(len(at), np.int64) for _ in range(3))
    spent = np.zeros(len(buckets.ends), np.int64)
    fixed = int(np.searchsorted(rank, 0))
    keepers.choose(
        *(members, buckets.bucket, buckets.ends, visits, first, values, starts, stops),
        *(threshold, limit, fixed, kept, common, bucket, spent),
    )
    removed = np.flatnonzero(kept >= 0)
    keeper, shared, size = kept[removed], common[removed], stops - starts
    ids = table["doc_id"].combine_chunks().take(pa.array(at)).cast(pa.string())
    columns: list[Any] = [
        ids.take(pa.array(removed)),
        ids.take(pa.array(keeper)),
        pa.array(shared / (size[removed] + size[keeper] - shared), pa.float64()),
        pa.array(shared / size[removed], pa.float64()),
        _runs(rank[keeper], runs),
        pa.array(buckets.band[bucket[removed]], pa.int64()),
    ]
    found.by_rank.update(rank[removed].tolist())
    _account(buckets, spent, limit, found)
    return pa.Table.from_arrays(columns, schema=STATE)


def _runs(rank: I64s, runs: list[str]) -> pa.Array:
    """The earlier run of each kept document, NULL for this one."""
    earlier = np.minimum(rank, 0)
    return pa.array(runs, pa.string()).take(pa.array(earlier + len(runs), mask=earlier == 0))


def _account(buckets: Buckets, spent: I64s, limit: int, found: Found) -> None:
    """Add up comparisons, and note the buckets that were left at the limit."""
    found.comparisons += int(np.minimum(spent, limit).sum())
    sizes = buckets.sizes
    found.abandoned += [
        {"band": int(buckets.band[g]), "documents": int(sizes[g]), "comparisons": limit}
        for g in np.flatnonzero(spent > limit).tolist()
    ]


def _numbered(buckets: Buckets, numbers: I64s, at: I64s) -> I64s:
    """The members of buckets by their place in the declared order, ascending in each bucket."""
    sorter = np.argsort(numbers)
    place = np.empty(len(at), np.int64)
    place[at] = np.arange(len(at))
    members = place[sorter[np.searchsorted(numbers, buckets.members, sorter=sorter)]]
    return members[np.lexsort((members, buckets.bucket))]


def members(numbers: I64s, ids: Any, ranks: Any, characters: Any, sets: tuple[I64s, I64s]) -> pa.Table:
    """A table of candidates (MEMBERS); set k is sets[0][sets[1][k]:sets[1][k + 1]]."""
    lists = pa.LargeListArray.from_arrays(pa.array(sets[1]), pa.array(sets[0]))
    return pa.Table.from_arrays(
        [pa.array(numbers), ids.cast(pa.large_string()), ranks, characters, lists], schema=MEMBERS
    )
