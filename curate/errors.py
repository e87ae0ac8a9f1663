"""Errors that a user can meet, each as one message and an exit code."""

from __future__ import annotations

import errno
import os


def explain(error: Exception) -> tuple[str, int] | None:
    """Message and exit code of an error that is not a fault of the program, else None."""
    import duckdb
    import pyarrow as pa

    from pipeline.config import ConfigError
    from pipeline.engines import TaskError
    from pipeline.execution import StrictError
    from pipeline.inputs import MissingInputError
    from pipeline.lock import RunLockedError
    from pipeline.manifest import ConservationError
    from pipeline.runner import QuarantineLimitError
    from pipeline.sources import UnreadableFileError
    from report.look import NotFoundError
    from report.query import QueryError
    from report.views import NoRunError
    from stages.dedup.runs import NoStageError
    from stages.dedup.similar import NoShingleError

    match error:
        case ConfigError():
            return str(error), 2
        case MissingInputError():
            return str(error), 2
        case NoRunError() | NotFoundError() | NoStageError() | NoShingleError() | QueryError():
            return str(error), 2
        case QuarantineLimitError():
            return str(error), 3
        case UnreadableFileError():
            advice = "mend or remove the file, or give its source `on_unreadable: quarantine`"
            return f"{error}; {advice}", 1
        case TaskError():
            details = f"\n{error.details}" if error.details and os.environ.get("CURATE_DEBUG") else ""
            more = "" if details or not error.details else " (set CURATE_DEBUG=1 for the traceback)"
            return f"{error}{more}; finished work is kept, run again to go on{details}", 1
        case StrictError() | RunLockedError() | ConservationError():
            return str(error), 1
        case duckdb.ParserException() | duckdb.BinderException() | duckdb.CatalogException():
            return f"the query failed: {error}", 1
        case duckdb.Error() | pa.lib.ArrowInvalid() if "parquet" in str(error).lower():
            return f"a file of the run cannot be read: {str(error).splitlines()[0]}; {_DAMAGED}", 1
        case OSError() if error.filename is None and ".parquet" in str(error):
            said = str(error).partition(". Detail:")[0]
            return f"a file of the run cannot be read: {said}; {_DAMAGED}", 1
        case duckdb.Error():
            return f"the query failed: {error}", 1
        case OSError() if error.filename or error.errno:
            return of_system(error), 1
    return None


_DAMAGED = "`curate verify RUN` names damaged files, `curate run CONFIG` makes them again"
_ADVICE = {
    errno.ENOENT: "check the path; its folder must be there",
    errno.EACCES: "give yourself access, or another path",
    errno.EPERM: "give yourself access, or another path",
    errno.EROFS: "give a path that can be written",
    errno.EISDIR: "give a file",
    errno.ENOTDIR: "a part of the path is a file: give a folder",
    errno.EEXIST: "a file of this name is in the way: give another path",
    errno.ENAMETOOLONG: "give a shorter name",
    errno.ENOSPC: "make room and run the same command again",
    errno.EDQUOT: "make room and run the same command again",
    errno.EMFILE: "allow more open files (ulimit -n)",
}


def of_system(error: OSError) -> str:
    """What the system refused: where, why, and what helps."""
    where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, (str, bytes)) else ""
    advice = _ADVICE.get(error.errno or 0)
    return f"{where}{error.strerror or error}" + (f"; {advice}" if advice else "")
