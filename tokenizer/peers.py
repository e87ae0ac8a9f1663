"""Tokenizers to look at side by side: ours, a tokenizer.json of Hugging Face, a .tiktoken file.

A `Peer` says what a tokenizer is (tokens, merges, special tokens, pattern, normalisation) and encodes texts in its own
library. Special text in a text is ordinary text for every peer.
"""

import base64
import binascii
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tokenizer.layout import hash_of
from tokenizer.model import FILE, Tokenizer
from tokenizer.patterns import GPT2, NAMES, Pattern, pattern
from tokenizer.reference import byte_alphabet

Encoded = tuple[NDArray[np.int64], NDArray[np.int64]]  # ids of all texts, and n + 1 offsets of each text's ids
MergePairs = list[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Peer:
    """A tokenizer as others see it.

    kind: curate, tokenizer.json or tiktoken. tokens: bytes by id, without special tokens. merges: the bytes of each
    merge's two parts, in order; None where the model has none. steps: the expressions that cut, in order. decode: the
    library's own decoder where the bytes of a text's tokens, joined, are not what it decodes to.
    """

    kind: str
    tokens: Mapping[int, bytes]
    special_tokens: Mapping[str, int]
    steps: tuple[str, ...]
    normalization: str
    encode: Callable[[pa.Array], Encoded]
    find_merges: Callable[[], MergePairs | None] = field(repr=False)
    decode: Callable[[list[int]], str] | None = None

    @cached_property
    def merges(self) -> MergePairs | None:
        return self.find_merges()

    @property
    def vocab_size(self) -> int:
        """Number of ids, special tokens included."""
        return len(self.tokens) + len(self.special_tokens)

    @property
    def pattern(self) -> str:
        """The name of the pattern with these expressions, or the expressions themselves."""
        named = (name for name in NAMES if name != "llama3" and _steps(pattern(name)) == self.steps)
        return next(named, " then ".join(self.steps))

    @cached_property
    def vocabulary_hash(self) -> str | None:
        """As `Tokenizer.vocabulary_hash`; None where there are no merges, or ids with gaps."""
        id_of = {token: id_ for id_, token in self.tokens.items()}
        every = dict(self.tokens) | {id_: special.encode() for special, id_ in self.special_tokens.items()}
        if self.merges is None or sorted(every) != list(range(len(every))):
            return None
        pairs = np.array([(id_of[left], id_of[right]) for left, right in self.merges], np.int64).reshape(-1, 2)
        return hash_of([every[id_] for id_ in range(len(every))], pairs, dict(self.special_tokens))


def _steps(chosen: Pattern) -> tuple[str, ...]:
    """The expressions of a pattern; none for one that does not cut, as in a tokenizer.json without a Split."""
    return chosen.steps if chosen.splits else ()


def load_peer(path: str | Path, expression: str | None = None) -> Peer:
    """The tokenizer at a path: a folder of ours, a run folder, a tokenizer.json or its folder, or a .tiktoken file.

    expression: the pattern, by name or as an expression, of a .tiktoken file, which carries none; its special tokens
    are those of a special_tokens.json beside it. Raises ValueError (`TokenizerError` for a damaged folder of ours)
    where there is none of these or it cannot be used.
    """
    path = Path(path)
    for folder in (path, path / "tokenizer"):
        if (folder / FILE).exists():
            return _of_ours(Tokenizer.load(folder))
    if path.suffix == ".tiktoken" and path.is_file():
        return _of_tiktoken(path, expression)
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise ValueError(f"{path}: holds neither model.json nor tokenizer.json; give a folder with a tokenizer")
    return _of_hugging_face(file)


def _flat(lists: Sequence[Sequence[int]]) -> Encoded:
    offsets = np.concatenate([[0], np.cumsum([len(ids) for ids in lists], dtype=np.int64)]).astype(np.int64)
    ids = np.fromiter((i for ids in lists for i in ids), np.int64, int(offsets[-1]))
    return ids, offsets


# --- ours ---------------------------------------------------------------------------------------------------------


def _of_ours(ours: Tokenizer) -> Peer:
    def encode(texts: pa.Array) -> Encoded:
        found = ours.encode_batch(texts)
        return found.values.to_numpy().astype(np.int64), found.offsets.to_numpy().astype(np.int64)

    special_ids = set(ours.special_tokens.values())
    merges = [(ours.token_bytes(left), ours.token_bytes(right)) for left, right in ours.merges.tolist()]
    return Peer(
        kind="curate",
        tokens={i: ours.token_bytes(i) for i in range(ours.vocab_size) if i not in special_ids},
        special_tokens=ours.special_tokens,
        steps=_steps(ours.pattern),
        normalization=ours.normalization,
        encode=encode,
        find_merges=lambda: merges,
    )


# --- tiktoken -----------------------------------------------------------------------------------------------------


def _of_tiktoken(path: Path, expression: str | None) -> Peer:
    import tiktoken

    if expression is None:
        raise ValueError(f"{path}: a .tiktoken file carries no pattern; say which, as in `--pattern cl100k`")
    chosen = pattern(expression)
    if chosen.before:
        raise ValueError(f"{path}: the pattern {expression} is several expressions; tiktoken has one")
    try:
        lines = [line.split() for line in path.read_bytes().splitlines() if line.strip()]
        ranks = {base64.b64decode(token, validate=True): int(rank) for token, rank in lines}
    except (ValueError, binascii.Error) as error:
        raise ValueError(f"{path}: no .tiktoken file ({error}); each line is a token in base64 and its rank") from error
    beside = path.with_name("special_tokens.json")
    specials: dict[str, int] = json.loads(beside.read_text("utf-8")) if beside.exists() else {}
    try:
        encoding = tiktoken.Encoding(path.stem, pat_str=chosen.regex, mergeable_ranks=ranks, special_tokens=specials)
    except BaseException as error:  # panics of compiled code included
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        raise ValueError(f"{path}: tiktoken cannot load it ({error})") from error
    return Peer(
        kind="tiktoken",
        tokens={rank: token for token, rank in ranks.items()},
        special_tokens=specials,
        steps=_steps(chosen),
        normalization="none",
        encode=lambda texts: _flat(encoding.encode_ordinary_batch(texts.to_pylist(), num_threads=1)),
        find_merges=lambda: merges_of_ranks(ranks),
    )


def merges_of_ranks(ranks: Mapping[bytes, int]) -> MergePairs:
    """The merges that ranks stand for: each token's two parts under the merges before it.

    A token that earlier merges do not bring to two parts has no merge and is left out.
    """
    merges = []
    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        parts = [token[i : i + 1] for i in range(len(token))]
        while len(parts) > 2:
            best = min((ranks.get(a + b, rank), i) for i, (a, b) in enumerate(pairwise(parts)))
            if best[0] >= rank:
                break
            parts[best[1] : best[1] + 2] = [parts[best[1]] + parts[best[1] + 1]]
        if len(parts) == 2:
            merges.append((parts[0], parts[1]))
    return merges


# --- Hugging Face -------------------------------------------------------------------------------------------------


def _of_hugging_face(path: Path) -> Peer:
    import tokenizers

    try:
        loaded = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises plain Exception
        raise ValueError(f"{path}: cannot be loaded ({error}); give a tokenizer.json") from error
    loaded.encode_special_tokens = True
    content = json.loads(loaded.to_str())
    model = content["model"]
    added = {entry["content"]: entry["id"] for entry in content["added_tokens"]}
    vocab = model["vocab"] if isinstance(model["vocab"], dict) else {t: i for i, (t, _) in enumerate(model["vocab"])}
    byte_level = '"ByteLevel"' in json.dumps([content["pre_tokenizer"], content["decoder"]])
    spelled = _byte_level if byte_level else _marked
    merges = [merge if isinstance(merge, list) else merge.split(" ") for merge in model.get("merges", [])]

    def encode(texts: pa.Array) -> Encoded:
        return _flat([e.ids for e in loaded.encode_batch_fast(texts.to_pylist(), add_special_tokens=False)])

    def find_merges() -> MergePairs | None:
        return [(spelled(left), spelled(right)) for left, right in merges] if model["type"] == "BPE" else None

    return Peer(
        kind="tokenizer.json",
        tokens={id_: spelled(token) for token, id_ in vocab.items() if token not in added},
        special_tokens=added,
        steps=tuple(_cuts(content["pre_tokenizer"])),
        normalization=_normalization(content["normalizer"]),
        encode=encode,
        find_merges=find_merges,
        decode=None if byte_level else lambda ids: str(loaded.decode(ids, skip_special_tokens=False)),
    )


_BYTES = {character: byte for byte, character in byte_alphabet().items()}


def _byte_level(token: str) -> bytes:
    """The bytes of a token in GPT-2's printable alphabet."""
    if all(character in _BYTES for character in token):
        return bytes(_BYTES[character] for character in token)
    return token.encode()


def _marked(token: str) -> bytes:
    """The bytes of a token of SentencePiece (U+2581 is a space, <0x0A> a byte) or WordPiece (## goes on)."""
    if len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
        return bytes.fromhex(token[3:5])
    return token.removeprefix("##").replace("\u2581", " ").encode()


def _cuts(step: dict[str, Any] | None) -> list[str]:
    """The expressions by which a pre-tokenizer cuts; another way of cutting as its name and settings."""
    if step is None:
        return []
    if step["type"] == "Sequence":
        return [cut for inner in step["pretokenizers"] for cut in _cuts(inner)]
    if step["type"] == "ByteLevel":
        return [*(["add_prefix_space"] if step.get("add_prefix_space") else []), *([GPT2] if step["use_regex"] else [])]
    if step["type"] == "Split" and step["behavior"] == "Isolated" and not step["invert"] and "Regex" in step["pattern"]:
        return [step["pattern"]["Regex"]]
    return [json.dumps(step, sort_keys=True)]


def _normalization(step: dict[str, Any] | None) -> str:
    """none, a form by its name, or the settings of another way to normalise."""
    if step is None or (step["type"] == "Sequence" and not step["normalizers"]):
        return "none"
    return step["type"] if list(step) == ["type"] else json.dumps(step, sort_keys=True)
