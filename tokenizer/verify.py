"""Is a tokenizer folder what it says? Hashes, exports, and every id there and back."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tokenizer import tokens
from tokenizer.export import gpt2_files, hugging_face_files, tiktoken_files
from tokenizer.model import Tokenizer
from tokenizer.unicode_differences import unicode_differences


def verify(folder: str | Path) -> dict[str, Any]:
    """What was checked, as JSON values; the folder is sound where `problems` is empty.

    ids: how many. returning: ids whose bytes, as a piece, are encoded to that id alone. unreachable: the other ids with
    the reason. special: ids of special tokens, each encoded to itself where it is allowed. files: exports and
    tokens.parquet that hold exactly what the model says. unicode_differences: where libraries cut otherwise.

    Raises TokenizerError where model.json is missing, damaged or contradicts its own hash.
    """
    path = Path(folder)
    tokenizer = Tokenizer.load(path)
    lost = tokens.unreachable(tokenizer)
    problems = [
        f"the special token {special!r} is not encoded to its id {id_}"
        for special, id_ in tokenizer.special_tokens.items()
        if tokenizer.encode(special, {special}) != [id_] or tokenizer.decode([id_]) != special
    ]
    good, bad = _files(tokenizer, path)
    return {
        "vocabulary_hash": tokenizer.vocabulary_hash,
        "ids": tokenizer.vocab_size,
        "returning": tokenizer.first_special - len(lost),
        "special": len(tokenizer.specials),
        "unreachable": {str(id_): reason for id_, reason in lost.items()},
        "n_padded": tokenizer.n_padded,
        "files": good,
        "problems": problems + bad,
        "unicode_differences": unicode_differences(tokenizer.pattern),
    }


def _files(tokenizer: Tokenizer, folder: Path) -> tuple[list[str], list[str]]:
    """Names of files that hold what they should, and what is wrong with the others. An absent export was refused."""
    names = sorted(path.stem for path in folder.glob("*.tiktoken"))
    expected = hugging_face_files(tokenizer) | gpt2_files(tokenizer)
    for name in names:
        expected |= tiktoken_files(tokenizer, name)
    good, bad = [], []
    for name, content in expected.items():
        if not (folder / name).exists():
            continue
        if (folder / name).read_bytes() == content.encode():
            good.append(name)
        else:
            bad.append(f"{name} does not hold what model.json says; write it again with `curate tokenizer export`")
    if (folder / tokens.FILE).exists():
        if problem := _tokens(tokenizer, folder / tokens.FILE):
            bad.append(f"{tokens.FILE}: {problem}; train again")
        else:
            good.append(tokens.FILE)
    return good, bad


def _tokens(tokenizer: Tokenizer, path: Path) -> str | None:
    try:
        table = pq.read_table(path, columns=["id", "bytes"])
    except (pa.ArrowInvalid, OSError) as error:
        return f"not readable ({error})"
    if table["id"].to_pylist() != list(range(tokenizer.vocab_size)):
        return "its ids are not those of the model"
    for id_, token in enumerate(table["bytes"].to_pylist()):
        if token != tokenizer.token_bytes(id_):
            return f"the bytes of id {id_} are not those of the model"
    return None
