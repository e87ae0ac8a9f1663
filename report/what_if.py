"""What a run would have kept under other settings: decided again from stored measures, without reading any text.

Only settings that judges decide by can be tried (`pipeline.stage.decides`). A judge with new settings decides again on
its stored measures; one that fits a state from measures alone (a perplexity band) fits it again when its settings or
the documents that reach it change. Everything else keeps its stored verdicts. A document that reaches a judge or an
editor which has not looked at it is `unmeasured` there: only a run can tell what becomes of it. The same holds for a
document that was dropped as the duplicate of one that no longer arrives (`twin_gone`). Both stay `open`, and later
stages judge them where they can. The run folder is only read.
"""

from __future__ import annotations

import copy
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.config import ConfigError, Registry, check_params, set_values
from pipeline.runner import read_run
from pipeline.stage import Judge, Params, measuring
from pipeline.storage import read_table
from pipeline.tasks import read_sidecar
from report.views import NoRunError, manifests

DROPPED, OPEN, KEPT = 0, 1, 2
_UNSEEN: Final = -1  # in place of a verdict: the stage has not looked at the document
SHOWN: Final = "--set"

States = npt.NDArray[np.int8]


class _NeedsTextError(Exception):
    """A fit asked for texts."""


@dataclass
class _Stage:
    """One judge or editor of the run: its manifest, what it is, and its settings before and after."""

    name: str
    kind: str
    manifest: dict[str, Any]
    judge: type[Judge] | None  # None: an editor, or a class that the registry does not know
    fits: bool = True  # does it look at the whole corpus? unknown classes may
    params: Any = None
    changed: bool = False

    def files(self, folder: str) -> dict[str, str]:
        """Shard -> path below the run folder."""
        prefix = f"{self.name}/{folder}/"
        paths = [o["path"] for o in self.manifest["outputs"] if o["path"].startswith(prefix)]
        return {p[len(prefix) :].removesuffix(".parquet"): p for p in paths if p.endswith(".parquet")}


@dataclass(frozen=True)
class _Verdicts:
    """A stage's verdicts for the documents of one shard as ingested: keep 1, drop 0, not looked at -1."""

    keep: npt.NDArray[np.int8]
    table: pa.Table
    rows: npt.NDArray[np.int64]  # row of `table` that speaks of each document, -1: none

    def reason(self, document: int) -> dict[str, Any]:
        """Rule, value and threshold of one drop."""
        (row,) = self.table.slice(int(self.rows[document]), 1).select(["rule", "value", "threshold"]).to_pylist()
        return dict(row)

    def rules(self, documents: npt.NDArray[np.bool_]) -> list[str]:
        rules: list[str] = self.table["rule"].take(pa.array(self.rows[documents])).to_pylist()
        return rules


@dataclass
class _Shard:
    name: str
    source: str
    ids: pa.Array
    before: States
    after: States
    reasons: dict[int, dict[str, Any]] = field(default_factory=dict)  # document -> before, after, where they differ


class _Measures:
    """What a fit may see (`pipeline.stage.Fitting`) when no text is read."""

    def __init__(self, tables: Callable[[], Iterator[pa.Table]], workspace: Path, settings: dict[str, Any]) -> None:
        self._tables, self.workspace, self.memory = tables, workspace, int(settings["memory"])
        ranked = sorted(enumerate(settings["sources"]), key=lambda p: _rank(p[0], p[1]))
        self.sources = tuple(source["name"] for _, source in ranked)

    def measures(self, columns: list[str] | None = None) -> Iterator[pa.Table]:
        for table in self._tables():
            yield table if columns is None else table.select(list(dict.fromkeys(["doc_id", "source", *columns])))

    def documents(self, doc_ids: Iterable[str]) -> Iterator[pa.Table]:
        raise _NeedsTextError


def _rank(position: int, source: dict[str, Any]) -> tuple[bool, int, int]:
    return source.get("priority") is None, source.get("priority") or 0, position


def what_if(root: Path, registry: Registry, overrides: Sequence[str], limit: int | None = 20) -> dict[str, Any]:
    """The funnel before and after, and up to `limit` documents that change side, as plain JSON.

    Raises ConfigError for a setting that does not exist, is wrong, or is read when documents are measured; NoRunError
    for a folder without judges.
    """
    stages = _stages(root, registry)
    if not stages:
        raise NoRunError(f"{root} has no judge or editor that has finished: there is nothing to decide again")
    _change(root, stages, registry, overrides)
    shards = _shards(root, stages)
    settings = read_run(root)["settings"]
    funnel = [_Replay(root, stage, shards, settings).row() for stage in stages]
    return {"run": str(root), "settings": list(overrides), "stages": funnel, "changed": _changed(shards, limit)}


def _stages(root: Path, registry: Registry) -> list[_Stage]:
    listed = manifests(root)
    params = read_run(root)["params"]
    found = []
    for entry, manifest in listed:
        if entry["kind"] not in ("judge", "editor"):
            continue
        try:
            known = registry.find(entry["type"])
        except KeyError:
            known = None
        judge = known if known is not None and issubclass(known, Judge) else None
        stage = _Stage(entry["stage"], entry["kind"], manifest, judge, known is None or known.fits)
        if judge is not None:
            stage.params = check_params(judge.Params, params[stage.name], stage.name, registry, "run.json")
        found.append(stage)
    return found


def _change(root: Path, stages: list[_Stage], registry: Registry, overrides: Sequence[str]) -> None:
    """Give the stages their new settings; refuse those that cannot be tried."""
    listed = [{name: value} for name, value in copy.deepcopy(read_run(root)["params"]).items()]
    data: dict[str, Any] = {"stages": listed}
    for text in overrides:
        if "=" in text and "." not in text.partition("=")[0]:
            raise ConfigError(SHOWN, None, text, "write STAGE.SETTING=VALUE, for example gopher.min_words=30")
        set_values(data, [text], SHOWN, registry)
    new = {name: value for item in data.pop("stages") for name, value in item.items()} | data
    old = read_run(root)["params"]
    by_name = {stage.name: stage for stage in stages}
    for name in (n for n in new if new[n] != old[n]):
        stage = by_name.get(name)
        if stage is None or stage.judge is None:
            judges = ", ".join(s.name for s in stages if s.judge is not None)
            raise ConfigError(SHOWN, None, name, f"is no judge that can decide again here; judges: {judges}")
        params = check_params(stage.judge.Params, new[name], name, registry, SHOWN)
        _refuse_measuring(stage, params)
        stage.changed, stage.params = params != stage.params, params


def _refuse_measuring(stage: _Stage, params: Params) -> None:
    before, after = measuring(stage.params), measuring(params)
    for key in after:
        if before[key] != after[key]:
            message = "changes what is measured, and that needs the texts: use `curate run CONFIG --set` for it"
            raise ConfigError(SHOWN, None, f"{stage.name}.{key}", message)


def _shards(root: Path, stages: list[_Stage]) -> list[_Shard]:
    """The shards as ingested: the first stage after it lists all of their documents."""
    sources = _sources(root)
    shards = []
    for name, path in stages[0].files("verdicts").items():
        ids = read_table(root / path, ["doc_id"])["doc_id"].combine_chunks()
        before, after = (np.full(len(ids), KEPT, np.int8) for _ in range(2))
        shards.append(_Shard(name, sources.get(name, ""), ids, before, after))
    return shards


def _sources(root: Path) -> dict[str, str]:
    """Shard -> source, from the sidecars of the files that were read."""
    found: dict[str, str] = {}
    for entry, manifest in manifests(root):
        for task in manifest["tasks"] if entry["kind"] == "source" else ():
            sidecar = read_sidecar(root, task)
            if sidecar is not None and "source" in sidecar.parts:
                found |= dict.fromkeys(sidecar.summary.get("shards", ()), sidecar.parts["source"]["name"])
    return found


class _Replay:
    """One stage over all shards: as it was, and as it would be."""

    def __init__(self, root: Path, stage: _Stage, shards: list[_Shard], settings: dict[str, Any]) -> None:
        self.root, self.stage, self.shards, self.settings = root, stage, shards, settings
        self.verdicts, self.measures = stage.files("verdicts"), stage.files("measures")
        self.altered = any((s.before != s.after).any() for s in shards)
        self.certain = not any((s.after == OPEN).any() for s in shards)
        self.lost = self._lost() if stage.judge is not None and stage.judge.clusters and self.altered else None

    def row(self) -> dict[str, Any]:
        """Decide every shard and count."""
        state = self._state()
        before: Counter[str] = Counter()
        after: Counter[str] = Counter()
        numbers: Counter[str] = Counter()
        for shard in self.shards:
            stored = self._aligned(read_table(self.root / self.verdicts[shard.name]), shard)
            decided = stored if state is None else self._decided(shard, state[0], stored)
            self._apply(shard, stored, decided, before, after, numbers)
        open_ = numbers["unmeasured"] + numbers["twin_gone"]
        return {
            "stage": self.stage.name,
            "kind": self.stage.kind,
            "before": _counts(numbers["in_before"], before),
            "after": _counts(numbers["in_after"], after, open_),
            "unmeasured": numbers["unmeasured"],
            "twin_gone": numbers["twin_gone"],
            "exact": self.certain and not open_ and not (state is None and self.altered and self._unfitted()),
        }

    def _unfitted(self) -> bool:
        """Would a run have fitted another state, from what cannot be read here?"""
        return self.stage.fits and not (self.stage.judge is not None and self.stage.judge.clusters)

    def _state(self) -> tuple[pa.Table | None] | None:
        """What to decide with: None to keep the stored verdicts, else a tuple of the state (None: there is none)."""
        stage, judge = self.stage, self.stage.judge
        if judge is None or not (stage.changed or (self.altered and judge.fits and not judge.clusters)):
            return None
        if not judge.fits:
            return (None,)
        with tempfile.TemporaryDirectory(prefix="curate-what-if-") as workspace:
            corpus = _Measures(self._arriving, Path(workspace), self.settings)
            try:
                return (judge.fit(corpus, stage.params).table,)
            except _NeedsTextError:
                if stage.changed:
                    message = "compares texts when its settings change: use `curate run CONFIG --set` for it"
                    raise ConfigError(SHOWN, None, stage.name, message) from None
        return None

    def _arriving(self) -> Iterator[pa.Table]:
        """Measured documents that would reach this judge, shard by shard."""
        for shard in self.shards:
            table = read_table(self.root / self.measures[shard.name])
            arriving = shard.ids.filter(pa.array(shard.after != DROPPED))
            wanted = pc.and_(table["measured"], pc.is_in(table["doc_id"], value_set=arriving))
            yield _with_source(table.filter(wanted), shard.source)

    def _decided(self, shard: _Shard, state: pa.Table | None, stored: _Verdicts) -> _Verdicts:
        assert self.stage.judge is not None
        measures = read_table(self.root / self.measures[shard.name])
        rows = _with_source(measures.filter(measures["measured"]), shard.source)
        decided = self.stage.judge.decide(rows, state, self.stage.params)
        return self._aligned(decided.add_column(0, "doc_id", rows["doc_id"]), shard)

    def _aligned(self, table: pa.Table, shard: _Shard) -> _Verdicts:
        at = pc.fill_null(pc.index_in(shard.ids, value_set=table["doc_id"].combine_chunks()), -1)
        rows = pc.cast(at, pa.int64()).to_numpy(zero_copy_only=False)
        given = pc.fill_null(pc.cast(table["keep"], pa.int8()), _UNSEEN).to_numpy()
        keep = np.full(len(rows), _UNSEEN, np.int8)
        keep[rows >= 0] = given[rows[rows >= 0]]
        return _Verdicts(keep, table, rows)

    def _apply(
        self,
        shard: _Shard,
        stored: _Verdicts,
        decided: _Verdicts,
        before: Counter[str],
        after: Counter[str],
        numbers: Counter[str],
    ) -> None:
        was, now = shard.before == KEPT, shard.after != DROPPED
        gone = was & (stored.keep == 0)
        drops = now & (decided.keep == 0)
        twins = drops & self._twin_gone(shard, decided)
        drops &= ~twins
        unseen = now & (decided.keep == _UNSEEN)
        numbers.update(in_before=int(was.sum()), in_after=int(now.sum()))
        numbers.update(unmeasured=int(unseen.sum()), twin_gone=int(twins.sum()))
        before.update(stored.rules(gone))
        after.update(decided.rules(drops))
        for document in np.flatnonzero((gone != drops) | twins).tolist():
            reasons = shard.reasons.setdefault(document, {})
            for side, hit, verdicts in (("before", gone, stored), ("after", drops, decided)):
                if hit[document]:
                    reasons[side] = {"stage": self.stage.name, **verdicts.reason(document)}
        for document in np.flatnonzero(unseen | twins).tolist():
            why = "unmeasured" if unseen[document] else "twin_gone"
            shard.reasons.setdefault(document, {}).setdefault("open", {"stage": self.stage.name, "why": why})
        shard.before[gone] = DROPPED
        shard.after[unseen | twins] = OPEN
        shard.after[drops] = DROPPED

    def _lost(self) -> pa.Array:
        """Documents that reached this stage before and would not any more."""
        parts = [s.ids.filter(pa.array((s.before == KEPT) & (s.after == DROPPED))) for s in self.shards]
        return pa.chunked_array(parts, pa.string()).combine_chunks()

    def _twin_gone(self, shard: _Shard, decided: _Verdicts) -> npt.NDArray[np.bool_]:
        """Documents dropped as the duplicate of one that would not arrive."""
        if self.lost is None or not len(self.lost):
            return np.zeros(len(shard.ids), np.bool_)
        kept = decided.table["detail"].take(pa.array(decided.rows, mask=decided.rows < 0))
        found: npt.NDArray[np.bool_] = pc.is_in(kept, value_set=self.lost).to_numpy()
        return found


def _with_source(measured: pa.Table, source: str) -> pa.Table:
    rows = measured.drop_columns(["measured"])
    return rows.add_column(1, "source", pa.array([source] * rows.num_rows, pa.string()))


def _counts(documents_in: int, dropped: Counter[str], open_: int = 0) -> dict[str, Any]:
    kept = documents_in - sum(dropped.values()) - open_
    return {"documents_in": documents_in, "kept": kept, "dropped": dict(sorted(dropped.items()))}


def _changed(shards: list[_Shard], limit: int | None) -> dict[str, Any]:
    """How many documents change side, and the first of them in the order of doc_id, which is a hash."""
    sides = {"newly_kept": (DROPPED, KEPT), "newly_dropped": (KEPT, DROPPED)}
    counts = dict.fromkeys((*sides, "open"), 0)
    listed = []
    for shard in shards:
        chosen = {"open": shard.after == OPEN}
        chosen |= {side: (shard.before == a) & (shard.after == b) for side, (a, b) in sides.items()}
        for side, rows in chosen.items():
            counts[side] += int(rows.sum())
            for document in np.flatnonzero(rows).tolist():
                reasons = shard.reasons.get(document, {})
                about = {"doc_id": shard.ids[document].as_py(), "source": shard.source, "side": side}
                listed.append(about | {k: reasons.get(k) for k in ("before", "after", "open")})
        if limit is not None:
            listed = sorted(listed, key=lambda row: row["doc_id"])[:limit]
    final = {when: sum(int((getattr(s, when) == KEPT).sum()) for s in shards) for when in ("before", "after")}
    return {"kept": final, **counts, "documents": sorted(listed, key=lambda row: row["doc_id"])}
