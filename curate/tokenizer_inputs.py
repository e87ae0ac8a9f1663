"""What the commands on tokenizers take: a folder, and texts from files or a run, in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from curate.cli import RegularFile, fail

if TYPE_CHECKING:
    import pyarrow as pa

    from tokenizer.compare import Batch
    from tokenizer.documents import Skipped
    from tokenizer.model import Tokenizer

USAGE = 2
BATCH_CHARACTERS = 1 << 22
_ROWS = 1024  # documents of a run at once
_SHOWN = 20  # records that could not be used; the others are counted

_KERNELS = tuple(f"kernels.{name}" for name in ("encoding", "merges", "pieces", "scanners", "words"))

folder = click.argument("folder", metavar="TOKENIZER", type=click.Path(exists=True, file_okay=False, path_type=Path))
files = click.argument("files", nargs=-1, type=RegularFile())
run_option = click.option(
    "--run", "run", type=click.Path(exists=True, file_okay=False, path_type=Path), help="A run folder."
)
text_field = click.option(
    "--text-field", default="text", show_default=True, help="Field of JSON Lines and Parquet files."
)


def compiled(command: Callable[..., Any]) -> Callable[..., Any]:
    """Before a command that encodes or counts, what the kernel cache lacks is compiled, and that is said."""

    @wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        import kernels

        if not set(_KERNELS).isdisjoint(kernels.uncompiled()):
            kernels.compile_all(lambda said: click.echo(f"curate: {said}", err=True), _KERNELS)
        return command(*args, **kwargs)

    return wrapped


def load(folder: Path) -> Tokenizer:
    """The tokenizer of a folder, or the end with a message."""
    from tokenizer import model

    try:
        return model.Tokenizer.load(folder)
    except model.TokenizerError as error:
        fail(str(error), USAGE)


def say_skipped(record: Skipped) -> None:
    """A record that was not used, on stderr."""
    click.echo(f"skipped {record.file}: {record.record}: {record.reason} {record.detail}", err=True)


def texts_of_files(paths: Sequence[Path], field: str) -> Iterator[tuple[pa.Array, list[str]]]:
    """Texts of text, JSON Lines and Parquet files, with the file's name; unusable records are said."""
    import pyarrow as pa

    from tokenizer.documents import name_of, read_documents

    for path in paths:
        for texts in _batches(read_documents(path, field, say_skipped)):
            yield pa.array(texts, pa.large_string()), [name_of(path)] * len(texts)


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    waiting = 0
    for text in texts:
        batch.append(text)
        waiting += len(text)
        if waiting >= BATCH_CHARACTERS:
            yield batch
            batch, waiting = [], 0
    if batch:
        yield batch


def ingested(paths: Sequence[Path], field: str) -> Iterator[Batch]:
    """Texts of files of every format that ingest reads, by file; what cannot be used is said."""
    from pipeline.sources import Source, UnreadableFileError
    from stages.ingest import Ingest, IngestParams
    from tokenizer.compare import Batch
    from tokenizer.documents import name_of

    lost = 0
    for path in paths:
        source = Source.model_validate({"name": "files", "path": str(path), "text_field": field})
        try:
            for read in Ingest.read(str(path), name_of(path), source, IngestParams.model_validate({})):
                for row in read.quarantine.to_pylist()[: max(_SHOWN - lost, 0)]:
                    click.echo(f"skipped {row['record']}: {row['reason']} {row['detail']}", err=True)
                lost += read.quarantine.num_rows
                if n := read.documents.num_rows:
                    yield Batch(
                        read.documents["text"], read.documents["record"].to_pylist(), {"source": [name_of(path)] * n}
                    )
        except UnreadableFileError as error:
            fail(f"{error}; mend the file or leave it out", USAGE)
    if lost > _SHOWN:
        click.echo(f"skipped {lost - _SHOWN} more records", err=True)


def curated_rows(run: Path, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Columns of the run's curated documents, as tables of some rows by column name, or the end with a message."""
    from report.views import connect

    with connect(run) as db:
        if not db.sql("select 1 from information_schema.tables where table_name = 'curated'").fetchall():
            fail(f"{run}: the run has no curated documents; finish it with `curate run`", USAGE)
        reader = db.sql(f"select {', '.join(columns)} from curated").to_arrow_reader(_ROWS)
        for batch in reader:
            yield {name: batch.column(name) for name in columns}


def curated(run: Path) -> Iterator[Batch]:
    """The curated documents of a run, by source and language."""
    from tokenizer.compare import Batch

    for rows in curated_rows(run, ("doc_id", "text", "source", "lang")):
        groups = {name: [value or "unknown" for value in rows[name].to_pylist()] for name in ("source", "lang")}
        yield Batch(rows["text"], rows["doc_id"].to_pylist(), groups)


def held_out(run: Path, by: str) -> Iterator[tuple[pa.Array, list[str]]]:
    """Texts and groups of the curated documents that the run's tokenizer has not seen."""
    import pyarrow as pa

    from pipeline.manifest import read_manifest
    from stages.train_tokenizer import held_out

    manifest = read_manifest(run, "tokenizer")
    if manifest is None:
        fail(f"{run}: the run has no tokenizer; give files instead", USAGE)
    share = manifest["params"]["holdout"]
    if share == 0:
        fail(f"{run}: the run held nothing out; set `holdout:` under `tokenizer:` and run again, or give files", USAGE)
    for rows in curated_rows(run, ("doc_id", "text", by)):
        kept = pa.array(held_out(pa.chunked_array([rows["doc_id"]]), share))
        yield rows["text"].filter(kept), [value or "unknown" for value in rows[by].filter(kept).to_pylist()]
