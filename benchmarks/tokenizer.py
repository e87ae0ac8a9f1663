"""Counting, training and encoding beside their peers, on the same documents, in one run.

    python benchmarks/tokenizer.py FILE… [--peers PYTHON] [--vocab 32000] [--repeat 3] [--only NAME…]

FILE: JSON Lines with `text` (.zst allowed). PYTHON: an interpreter that has gigatoken, rustbpe, tokenizers, tiktoken,
pyarrow and zstandard; default: this one. Every measure is a process of its own, which reads the documents from Arrow
(peers: as the strings or bytes they want), warms up on a few of them and then times itself: wall-clock seconds and
seconds of processor time over all threads. `repeat` rounds run one after the other, all measures in each, and the best
of each measure counts: what else the machine does changes ratios less that way. Peers use all cores.

Whole processes read the files themselves and end with a trained tokenizer; their peak memory is the kernel's.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SEPARATOR = "\x00\x01\x00"  # between documents, for what wants one buffer
GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
ROOT = Path(__file__).parents[1]
sys.path[0] = str(ROOT)  # in place of this folder, where `tokenizer` would be this file


def documents(path: Path) -> Iterator[str]:
    """The texts of one JSON Lines file."""
    import zstandard

    with zstandard.open(path, "rb") if path.suffix == ".zst" else path.open("rb") as raw:
        for line in io.BufferedReader(raw):  # type: ignore[arg-type]
            yield json.loads(line)["text"]


def timed(work: Callable[[], Any]) -> dict[str, float]:
    wall, used = time.perf_counter(), time.process_time()
    work()
    return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - used}


# --- what one process measures: (documents in Arrow, work folder, vocabulary) -> seconds ---------------------------


def column(folder: Path) -> Any:
    import pyarrow as pa

    with pa.memory_map(str(folder / "documents.arrow")) as source:
        return pa.ipc.open_file(source).read_all()["text"].combine_chunks()


def ours_count(folder: Path, vocab: int, pattern: str) -> dict[str, float]:
    from tokenizer import count_plain_pieces
    from tokenizer.patterns import pattern as find

    texts = column(folder)
    count_plain_pieces(texts[:100], find(pattern))
    return timed(lambda: count_plain_pieces(texts, find(pattern), ordered=False))


def ours_train(folder: Path, vocab: int, pattern: str) -> dict[str, float]:
    from tokenizer import Tokenizer, count_plain_pieces, train
    from tokenizer.patterns import pattern as find

    def whole(texts: Any, size: int) -> Any:
        return train(count_plain_pieces(texts, find(pattern), threads=os.cpu_count() or 1, ordered=False), size)

    texts = column(folder)
    whole(texts[:100], 300)
    found: list[Any] = []
    seconds = timed(lambda: found.append(whole(texts, vocab)))
    from tokenizer.export import write_exports

    tokenizer = Tokenizer(find(pattern), found[0].merges, ())
    tokenizer.save(folder / pattern)
    write_exports(tokenizer, folder / pattern, "x")
    return seconds


def ours_encode(folder: Path, vocab: int, pattern: str) -> dict[str, float]:
    from tokenizer import Tokenizer

    texts, tokenizer = column(folder), Tokenizer.load(folder / pattern)
    tokenizer.encode("warm")
    return timed(lambda: tokenizer.encode_batch(texts))


def gigatoken_train(folder: Path, vocab: int, pattern: str) -> dict[str, float]:
    import gigatoken

    data = SEPARATOR.join(column(folder).to_pylist()).encode()
    return timed(lambda: gigatoken.train_bpe(data, vocab, [], separator=SEPARATOR.encode()))


def rustbpe_train(folder: Path, vocab: int, pattern: str) -> dict[str, float]:
    import rustbpe

    texts = column(folder).to_pylist()
    expression = CL100K if pattern == "cl100k" else GPT2
    return timed(lambda: rustbpe.Tokenizer().train_from_iterator(iter(texts), vocab, pattern=expression))


def hugging_face_train(folder: Path, vocab: int, pattern: str) -> dict[str, float]:
    texts = column(folder).to_pylist()
    return timed(lambda: hugging_face(iter(texts), vocab, pattern))


def hugging_face(texts: Iterator[str], vocab: int, pattern: str) -> Any:
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    found = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(CL100K if pattern == "cl100k" else GPT2), "isolated")
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    found.pre_tokenizer = pre_tokenizers.Sequence([split, level])
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=vocab, show_progress=False, initial_alphabet=alphabet)
    found.train_from_iterator(texts, trainer)
    return found


def tiktoken_encode(folder: Path, vocab: int, pattern: str) -> dict[str, float]:
    import tiktoken

    lines = (line.split() for line in (folder / pattern / "x.tiktoken").read_bytes().splitlines())
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    encoding = tiktoken.Encoding("x", pat_str=CL100K, mergeable_ranks=ranks, special_tokens={})
    texts = column(folder).to_pylist()
    return timed(lambda: [encoding.encode_ordinary(text) for text in texts])


def hugging_face_encode(folder: Path, vocab: int, pattern: str) -> dict[str, float]:
    from tokenizers import Tokenizer

    found = Tokenizer.from_file(str(folder / pattern / "tokenizer.json"))
    texts = column(folder).to_pylist()
    return timed(lambda: found.encode_batch_fast(texts))


def gigatoken_encode(folder: Path, vocab: int, pattern: str) -> dict[str, float]:
    import gigatoken

    found = gigatoken.Tokenizer(folder / pattern / "tokenizer.json")
    texts = column(folder).to_pylist()
    return timed(lambda: found.encode_batch(texts, parallel=False))


def whole_peer(files: list[str], vocab: int, name: str) -> None:
    """A whole process of a peer: read the files, train."""
    texts = (text for file in files for text in documents(Path(file)))
    if name == "gigatoken":
        import gigatoken

        gigatoken.train_bpe(gigatoken.JsonlFileSource(files), vocab, [])
    elif name == "rustbpe":
        import rustbpe

        rustbpe.Tokenizer().train_from_iterator(texts, vocab, pattern=CL100K)
    else:
        hugging_face(texts, vocab, "cl100k")


# name: (function, pattern, whether a peer's interpreter runs it); encoding needs the files of `train cl100k`
MEASURES: dict[str, tuple[Callable[[Path, int, str], dict[str, float]], str, bool]] = {
    "count cl100k, 1 thread": (ours_count, "cl100k", False),
    "count o200k, 1 thread": (ours_count, "o200k", False),
    "train gpt2": (ours_train, "gpt2", False),
    "train gpt2, gigatoken": (gigatoken_train, "gpt2", True),
    "train cl100k": (ours_train, "cl100k", False),
    "train cl100k, rustbpe": (rustbpe_train, "cl100k", True),
    "train cl100k, tokenizers": (hugging_face_train, "cl100k", True),
    "encode cl100k, 1 thread": (ours_encode, "cl100k", False),
    "encode cl100k, tiktoken, 1 thread": (tiktoken_encode, "cl100k", True),
    "encode cl100k, tokenizers": (hugging_face_encode, "cl100k", True),
    "encode cl100k, gigatoken, 1 thread": (gigatoken_encode, "cl100k", True),
}
RATIOS = [
    ("train gpt2, gigatoken", "train gpt2"),
    ("train cl100k, rustbpe", "train cl100k"),
    ("train cl100k, tokenizers", "train cl100k"),
    ("encode cl100k, tiktoken, 1 thread", "encode cl100k, 1 thread"),
    ("encode cl100k, tokenizers", "encode cl100k, 1 thread"),
    ("encode cl100k, gigatoken, 1 thread", "encode cl100k, 1 thread"),
    ("process gpt2, gigatoken", "process gpt2"),
    ("process cl100k, rustbpe", "process cl100k"),
    ("process cl100k, tokenizers", "process cl100k"),
]


def processes(files: list[str], folder: Path, vocab: int, peers: str) -> dict[str, list[str]]:
    """Command lines of the whole processes."""

    def ours(pattern: str) -> list[str]:
        out = ["--out", str(folder / f"whole-{pattern}"), "--vocab-size", str(vocab), "--min-frequency", "1"]
        return [
            sys.executable,
            "-c",
            "from curate.cli import main; main()",
            "tokenizer",
            "train",
            *files,
            *out,
            "--pattern",
            pattern,
        ]

    def theirs(name: str) -> list[str]:
        return [peers, __file__, *files, "--vocab", str(vocab), "--whole-peer", name]

    return {
        "process gpt2": ours("gpt2"),
        "process gpt2, gigatoken": theirs("gigatoken"),
        "process cl100k": ours("cl100k"),
        "process cl100k, rustbpe": theirs("rustbpe"),
        "process cl100k, tokenizers": theirs("tokenizers"),
    }


def run(command: list[str]) -> tuple[dict[str, float], str]:
    """Seconds and peak memory of a process, and what it printed."""
    start = time.perf_counter()
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    out, errors = child.stdout.read() if child.stdout else "", child.stderr.read() if child.stderr else ""
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(command)}\n{errors[-2000:]}")
    wall = time.perf_counter() - start
    return {"wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "memory": usage.ru_maxrss / 1024}, out


def show(best: dict[str, dict[str, float]], megabytes: float) -> None:
    print(f"\n| measure ({megabytes:.0f} MB) | wall s | cpu s | MB per cpu s | peak MB |\n|---|---|---|---|---|")
    for name, found in best.items():
        memory = f"{found['memory']:,.0f}"
        print(f"| {name} | {found['wall']:.2f} | {found['cpu']:.2f} | {megabytes / found['cpu']:.1f} | {memory} |")
    print("\n| ratio | wall | cpu | peak memory of ours |\n|---|---|---|---|")
    for theirs, ours in RATIOS:
        if theirs in best and ours in best:
            a, b = best[theirs], best[ours]
            share = f"{100 * b['memory'] / a['memory']:.0f} %"
            print(f"| {theirs} | {a['wall'] / b['wall']:.1f} | {a['cpu'] / b['cpu']:.1f} | {share} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--peers", default=sys.executable)
    parser.add_argument("--vocab", type=int, default=32_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[], help="these measures")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--whole-peer", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.whole_peer:
        whole_peer(args.files, args.vocab, args.whole_peer)
    elif args.measure:
        work, pattern, _ = MEASURES[args.measure]
        print(json.dumps(work(Path(args.files[0]), args.vocab, pattern)))
    else:
        with tempfile.TemporaryDirectory() as folder:
            compare(args, Path(folder))


def compare(args: argparse.Namespace, folder: Path) -> None:
    import pyarrow as pa

    texts = pa.array((t for file in args.files for t in documents(Path(file))), pa.large_string())
    table = pa.table({"text": texts})
    with pa.OSFile(str(folder / "documents.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    megabytes = len(texts.buffers()[2]) / 1e6
    best: dict[str, dict[str, float]] = {}
    whole = processes(args.files, folder, args.vocab, args.peers)
    for _ in range(args.repeat):
        for name in [*MEASURES, *whole]:
            if args.only and name not in args.only:
                continue
            if name in whole:
                found, _ = run(whole[name])
            else:
                python = args.peers if MEASURES[name][2] else sys.executable
                found, out = run([python, __file__, str(folder), "--vocab", str(args.vocab), "--measure", name])
                found |= json.loads(out.strip().splitlines()[-1])
            before = best.get(name, found)
            best[name] = {key: min(before[key], found[key]) for key in found}
            print(name, {key: round(value, 2) for key, value in found.items()}, file=sys.stderr, flush=True)
    show(best, megabytes)


if __name__ == "__main__":
    main()
