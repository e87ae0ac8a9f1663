"""Inputs in an object store: a run reads them as it reads files, over the wire of a real S3 server on loopback."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import zstandard
from toys import Project, jsonl, small, texts

BUCKET = "corpus"


@pytest.fixture(scope="module")
def store() -> Iterator[Any]:
    """A client of an S3 server with one bucket; processes started meanwhile find the server in their environment."""
    import boto3
    from moto.moto_server.threaded_moto_server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    given = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in given.items():
            patch.setenv(name, value)
        client = boto3.client("s3")
        client.create_bucket(Bucket=BUCKET)
        yield client
    server.stop()


def curate(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "curate", *map(str, arguments)]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=300)


def shards(run: Path) -> dict[str, str]:
    """Content hash of each output of ingest, by its name without the part that comes from the path."""
    manifest = json.loads((run / "ingest" / "manifest.json").read_text())
    return {o["path"]: o["content_hash"] for o in manifest["outputs"]}


def put(store: Any, project: Project, files: dict[str, bytes]) -> None:
    """The same bytes in the bucket and below inputs/."""
    for name, content in files.items():
        store.put_object(Bucket=BUCKET, Key=f"inputs/{name}", Body=content)
        project.write(f"inputs/{name}", content)


def test_a_run_over_an_object_store_publishes_what_a_run_over_the_same_local_files_does(
    store: Any, tmp_path: Path
) -> None:
    project = Project(tmp_path)
    lines = jsonl(texts(0, 60)).encode()
    put(store, project, {
        "a.jsonl.gz": gzip.compress(lines[: len(lines) // 3]) + gzip.compress(lines[len(lines) // 3 :]),
        "deep/b.jsonl.zst": zstandard.compress(jsonl(texts(100, 30)).encode()),
        "deep/notes.txt": texts(200, 1)[0].encode(),
    })  # fmt: skip
    found = []
    for run, root in (("local", "inputs"), ("remote", f"s3://{BUCKET}/inputs")):
        source = {"name": "notes", "path": [f"{root}/*.gz", f"{root}/deep/*"], "license": "CC0-1.0"}
        project.config(["ingest"], [source])
        done = curate("run", tmp_path / "config.yaml", "--run-dir", tmp_path / run, "--workers", 2)
        assert done.returncode == 0, done.stderr
        found.append(shards(tmp_path / run))
    assert found[0] == found[1]
    again = curate("run", tmp_path / "config.yaml", "--run-dir", tmp_path / "remote")
    assert "nothing to compute" in again.stdout


def test_a_changed_and_an_added_object_are_read_again_and_the_others_are_not(store: Any, tmp_path: Path) -> None:
    project = Project(tmp_path)

    def computed() -> list[str]:
        return [name.split("-")[2] for name in project.run(until="ingest").computed if "/read/" in name]

    for key in ("one", "two"):
        store.put_object(Bucket=BUCKET, Key=f"changing/{key}.jsonl", Body=jsonl(texts(0, 10)).encode())
    project.config(["ingest"], [{"name": "notes", "path": f"s3://{BUCKET}/changing/*.jsonl", "license": "CC0-1.0"}])
    assert computed() == ["one.jsonl", "two.jsonl"]
    store.put_object(Bucket=BUCKET, Key="changing/two.jsonl", Body=jsonl(texts(20, 15)).encode())
    store.put_object(Bucket=BUCKET, Key="changing/three.jsonl", Body=jsonl(texts(40, 5)).encode())
    assert sorted(computed()) == ["three.jsonl", "two.jsonl"]
    assert computed() == []


def test_a_web_server_is_read_like_a_folder(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("site/a.jsonl.gz", gzip.compress(jsonl(texts(0, 10)).encode()))
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "site"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        found = []
        for name, root in (("local", "site"), ("remote", f"http://127.0.0.1:{server.server_port}")):
            project.config(["ingest"], [{"name": "notes", "path": f"{root}/a.jsonl.gz", "license": "CC0-1.0"}])
            project.run(name, until="ingest")
            found.append(shards(tmp_path / name))
        server.shutdown()
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("s3://corpus/nothing/*.jsonl", "sources.path: no file matches 's3://corpus/nothing/*.jsonl'"),
        ("s3://no-such-bucket/a.jsonl", "no file matches 's3://no-such-bucket/a.jsonl'"),
        ("s4://corpus/a.jsonl", "'s4://corpus/a.jsonl' cannot be opened: Protocol not known: s4"),
    ],
)
def test_a_place_with_nothing_in_it_and_an_unknown_store_are_messages_of_the_config(
    store: Any, tmp_path: Path, call: Any, path: str, said: str
) -> None:
    small(tmp_path).config(["ingest"], [{"name": "notes", "path": path, "license": "CC0-1.0"}])
    done = call("plan", tmp_path / "config.yaml")
    assert done.exit_code == 2 and said in done.stderr


def test_a_store_without_a_connection_is_a_message(store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    project = small(tmp_path)
    project.config(["ingest"], [{"name": "notes", "path": "s3://corpus/a.jsonl", "license": "CC0-1.0"}])
    done = curate("plan", tmp_path / "config.yaml")
    assert done.returncode == 2 and "s3://corpus/a.jsonl" in done.stderr
    assert "Traceback" not in done.stderr
