"""The closing step `curated`: the kept documents with their language, as Parquet shards one can train on."""

from __future__ import annotations

from typing import Any, ClassVar

import pyarrow as pa

from pipeline.documents import CURATED
from pipeline.stage import Closing, Params


class CuratedParams(Params):
    """`curated` has no settings."""


class Curated(Closing):
    """Documents -> schema CURATED, one table a shard, empty ones included."""

    name: ClassVar[str] = "curated"
    Params: ClassVar[type[Params]] = CuratedParams
    needs: ClassVar[dict[str, str]] = {"lang": "language.lang"}

    @staticmethod
    def each(documents: pa.Table, params: Any) -> tuple[pa.Table, dict[str, Any]]:
        """The columns of CURATED; `lang` is NULL where no language judge ran."""
        return documents.select(CURATED.names).cast(CURATED), {}
