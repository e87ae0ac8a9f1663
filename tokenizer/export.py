"""Exports for other libraries, each compared with our own encoder in its own library before it is published.

  tokenizer.json                       Hugging Face `tokenizers`
  tokenizer_config.json                for `transformers.AutoTokenizer`, beside tokenizer.json
  vocab.json, merges.txt               GPT-2's pair of files (byte alphabet); they carry no pattern
  NAME.tiktoken, special_tokens.json   `tiktoken`; they carry no pattern

An export that cannot be faithful is refused with the reason. The libraries bring class tables of their own, older than
ours: characters that Unicode assigned after their version can be cut otherwise there. Which ones is asked of the
libraries and reported (`Exports.unicode_differences`). Files are the same bytes for the same tokenizer.
"""

import base64
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from tokenizer.conformance import conformance_texts
from tokenizer.model import Tokenizer
from tokenizer.reference import byte_alphabet
from tokenizer.unicode_differences import unicode_differences

Encode = Callable[[str, bool], list[int]]  # text, whether special tokens are allowed


LONGEST_NAME = 200  # bytes; file systems take 255


class ExportError(Exception):
    """An export does not agree with our encoder, or its library cannot load it."""


@dataclass
class Exports:
    """Files that were written, in order, and the reason for each export that was refused.

    unicode_differences: see `tokenizer.unicode_differences`; empty for a pattern without character classes.
    """

    paths: list[Path] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    unicode_differences: dict[str, dict[str, str]] = field(default_factory=dict)


def check_name(name: str) -> str:
    """The name of the .tiktoken file. Raises ValueError for one that is no file name by itself."""
    if not name or re.search(r"[/\\\x00-\x1f\x7f]", name) or len(name.encode("utf-8", "replace")) > LONGEST_NAME:
        raise ValueError(
            f"name: {name!r} is no file name; give one without folders of at most {LONGEST_NAME} bytes, such as "
            "my-tokenizer: it becomes NAME.tiktoken in the output folder"
        )
    return name


def write_exports(tokenizer: Tokenizer, directory: str | Path, name: str, samples: Iterable[str] = ()) -> Exports:
    """Write every export into a folder (made if absent).

    samples: further texts on which the exports must agree, beside the conformance texts. An export of a custom
    pattern that disagrees is refused; of a named pattern, that is an ExportError with the first differing text. Raises
    ValueError for a name that is no file name.
    """
    check_name(name)
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    texts = [*conformance_texts(tokenizer.specials), *samples]
    done = Exports(unicode_differences=unicode_differences(tokenizer.pattern))
    for label, files, check in (
        ("tokenizer.json", hugging_face_files(tokenizer), _hugging_face_encoder),
        ("vocab.json + merges.txt", gpt2_files(tokenizer), _gpt2_encoder),
        (f"{name}.tiktoken", tiktoken_files(tokenizer, name), _tiktoken_encoder),
    ):
        reason = _spellings_clash(tokenizer) if check is not _tiktoken_encoder else _not_for_tiktoken(tokenizer)
        if reason is None:
            written = _write(folder, files)
            reason = _disagreement(tokenizer, label, texts, check, written)
            if reason is None:
                done.paths += written
                continue
            for path in written:
                path.unlink()
            if tokenizer.pattern.name != "custom":
                raise ExportError(f"{folder}: {reason}")
        done.refused[label] = reason
    return done


def _write(folder: Path, files: dict[str, str]) -> list[Path]:
    paths = []
    for name, content in files.items():
        path = folder / name
        path.write_text(content, "utf-8", newline="\n")
        paths.append(path)
    return paths


# --- what the files hold ------------------------------------------------------------------------------------------


def spelled_tokens(tokenizer: Tokenizer) -> dict[int, str]:
    """Bytes and merges in GPT-2's printable byte alphabet, by id, in the order of their ranks."""
    alphabet = byte_alphabet()
    return {i: tokenizer.token_bytes(i).decode("latin-1").translate(alphabet) for i in tokenizer.ordinary_ids}


def _hugging_face(tokenizer: Tokenizer, model: dict[str, Any], added: list[dict[str, Any]]) -> dict[str, Any]:
    """tokenizer.json around a model: how text is normalised and cut, and which tokens are special."""
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    cuts = tokenizer.pattern.steps if tokenizer.pattern.splits else ()
    steps: list[dict[str, Any]] = [
        {"type": "Split", "pattern": {"Regex": cut}, "behavior": "Isolated", "invert": False} for cut in cuts
    ]
    steps.append(byte_level)
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None if tokenizer.normalization == "none" else {"type": tokenizer.normalization},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps},
        "post_processor": None,
        "decoder": byte_level,
        "model": model,
    }


def hugging_face_files(tokenizer: Tokenizer) -> dict[str, str]:
    """tokenizer.json and tokenizer_config.json."""
    spelled = spelled_tokens(tokenizer)
    vocab = {token: i for i, token in spelled.items()}
    if not tokenizer.in_order:  # the library numbers tokens that its vocabulary does not hold anew, behind all others
        vocab |= tokenizer.special_tokens
    added = [
        {
            "id": i,
            "content": s,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for s, i in tokenizer.special_tokens.items()
    ]
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
        "vocab": vocab,
        "merges": [[spelled[left], spelled[right]] for left, right in tokenizer.merges.tolist()],
    }
    config = {
        "added_tokens_decoder": {str(a["id"]): {k: v for k, v in a.items() if k != "id"} for a in added},
        "additional_special_tokens": list(tokenizer.specials),
        "clean_up_tokenization_spaces": False,
        "tokenizer_class": "PreTrainedTokenizerFast",
    }
    if "<|endoftext|>" in tokenizer.special_tokens:
        config["eos_token"] = "<|endoftext|>"
    return {"tokenizer.json": _json(_hugging_face(tokenizer, model, added)), "tokenizer_config.json": _json(config)}


def gpt2_files(tokenizer: Tokenizer) -> dict[str, str]:
    """vocab.json (special tokens included) and merges.txt."""
    spelled = spelled_tokens(tokenizer)
    vocab = {token: i for i, token in spelled.items()} | tokenizer.special_tokens
    lines = ["#version: 0.2", *(f"{spelled[left]} {spelled[right]}" for left, right in tokenizer.merges.tolist())]
    return {"vocab.json": _json(vocab), "merges.txt": "\n".join(lines) + "\n"}


def tiktoken_files(tokenizer: Tokenizer, name: str) -> dict[str, str]:
    """NAME.tiktoken (base64 bytes and rank, by line) and special_tokens.json (token to id)."""
    lines = (f"{base64.b64encode(tokenizer.token_bytes(i)).decode()} {i}\n" for i in tokenizer.ordinary_ids)
    return {f"{name}.tiktoken": "".join(lines), "special_tokens.json": _json(tokenizer.special_tokens)}


def _json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


# --- what cannot be carried ---------------------------------------------------------------------------------------


def _spellings_clash(tokenizer: Tokenizer) -> str | None:
    """Hugging Face finds tokens by their spelling, so a special token must not be spelled like another token."""
    spelled = set(spelled_tokens(tokenizer).values())
    for special in tokenizer.specials:
        if special in spelled:
            return f"the special token {special!r} is spelled like an ordinary token of the vocabulary"
    return None


def _not_for_tiktoken(tokenizer: Tokenizer) -> str | None:
    """It has one expression and no normalisation, and tries special tokens in no fixed order."""
    if tokenizer.normalization != "none":
        return f"the tokenizer normalises to {tokenizer.normalization}; tiktoken does not"
    if tokenizer.pattern.before:
        return f"the pattern {tokenizer.pattern.name} is several expressions; tiktoken has one"
    for special in tokenizer.specials:
        for other in tokenizer.specials:
            if other != special and other.startswith(special):
                return f"the special token {other!r} begins with {special!r}; tiktoken does not take the longest"
    return None


# --- the same texts in the library and in ours --------------------------------------------------------------------


def _disagreement(
    tokenizer: Tokenizer,
    label: str,
    texts: Sequence[str],
    encoder: Callable[[Tokenizer, Sequence[Path]], Encode],
    paths: Sequence[Path],
) -> str | None:
    """Why the export is not faithful: the first text whose ids differ; None if there is none."""
    try:
        theirs = encoder(tokenizer, paths)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # whatever their parsers raise, panics of compiled code included
        return f"{label}: its library cannot load it ({error})"
    column = pa.array(texts, pa.large_string())
    for allowed in (False, True):
        ours = tokenizer.encode_batch(column, allowed_special="all" if allowed else ())
        for text, ids in zip(texts, ours.to_pylist(), strict=True):
            try:
                got = theirs(text, allowed)
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:
                return f"{label}: its library fails on {text!r} ({error})"
            if got != ids:
                mode = "allowed" if allowed else "as text"
                return f"{label}: with special tokens {mode}, {text!r} has the ids {got} there and {ids} here"
    return None


def _hugging_face_encoder(tokenizer: Tokenizer, paths: Sequence[Path]) -> Encode:
    import tokenizers

    loaded = tokenizers.Tokenizer.from_file(str(paths[0]))
    return _hugging_face_encode(loaded)


def _gpt2_encoder(tokenizer: Tokenizer, paths: Sequence[Path]) -> Encode:
    """The two files with our pattern and special tokens set by hand, since they do not carry them."""
    import tokenizers

    empty = json.loads(tokenizers.Tokenizer(tokenizers.models.BPE()).to_str())["model"]
    whole = _hugging_face(tokenizer, empty, [])
    loaded = tokenizers.Tokenizer.from_str(json.dumps(whole))
    loaded.model = tokenizers.models.BPE.from_file(str(paths[0]), str(paths[1]))
    loaded.add_special_tokens([tokenizers.AddedToken(s, normalized=False) for s in tokenizer.specials])
    return _hugging_face_encode(loaded)


def _hugging_face_encode(loaded: Any) -> Encode:
    def encode(text: str, allowed: bool) -> list[int]:
        loaded.encode_special_tokens = not allowed
        ids: list[int] = loaded.encode(text, add_special_tokens=False).ids
        return ids

    return encode


def _tiktoken_encoder(tokenizer: Tokenizer, paths: Sequence[Path]) -> Encode:
    import tiktoken

    lines = (line.split() for line in paths[0].read_bytes().splitlines())
    encoding = tiktoken.Encoding(
        name=paths[0].stem,
        pat_str=tokenizer.pattern.regex,
        mergeable_ranks={base64.b64decode(token): int(rank) for token, rank in lines},
        special_tokens=json.loads(paths[1].read_text("utf-8")),
        explicit_n_vocab=tokenizer.vocab_size,
    )

    def encode(text: str, allowed: bool) -> list[int]:
        return encoding.encode(text, allowed_special="all") if allowed else encoding.encode_ordinary(text)

    return encode
