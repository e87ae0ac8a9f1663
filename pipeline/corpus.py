"""Where a run stands between two stages: the shards of the current generation and which of their documents are kept."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from pipeline.hashing import json_hash
from pipeline.steps import Need, ShardInput


@dataclass(frozen=True)
class Measured:
    """A judge's measures of one shard."""

    path: str
    content_hash: str


@dataclass
class Shard:
    """One documents shard: its file, its content hash, which rows are kept so far, how long each text is."""

    name: str
    source: str
    path: str
    content_hash: str
    alive: npt.NDArray[np.bool_]
    sizes: npt.NDArray[np.int64]  # bytes of text
    measures: dict[str, Measured] = field(default_factory=dict)  # by stage, of this and earlier generations

    @property
    def rows(self) -> int:
        return len(self.alive)

    def kept(self) -> tuple[int, int]:
        """Documents kept so far, and their bytes of text."""
        return int(self.alive.sum()), int(self.sizes[self.alive].sum())

    def survivors(self) -> str:
        """Hash of which rows are kept."""
        return "all" if self.alive.all() else json_hash([self.rows, np.packbits(self.alive).tobytes().hex()])

    def given(self, needs: tuple[Need, ...], everyone: bool) -> ShardInput:
        """What a step is told about this shard."""
        alive = None if everyone or self.alive.all() else np.packbits(self.alive).tobytes()
        return ShardInput(self.path, alive, self.rows, needs)
