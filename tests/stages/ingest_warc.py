"""Web archives made by hand, record by record."""

from __future__ import annotations

import gzip

PAGE = "<html><head><title>Ferry {0}</title></head><body><p>The ferry number {0} leaves at nine.</p></body></html>"


def http(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """An HTTP response, with `Content-Type: text/html` unless `headers` say otherwise."""
    given = list(headers)
    if not any(h.lower().startswith("content-type") for h in given):
        given.insert(0, "Content-Type: text/html")
    return f"HTTP/1.1 {status}\r\n".encode() + "".join(f"{h}\r\n" for h in given).encode() + b"\r\n" + body


def warc(
    content: bytes,
    kind: str = "response",
    uri: str | None = "https://ferry.example/",
    *more: str,
    number: int = 1,
    length: int | None = None,
) -> bytes:
    """One record; `length`: what Content-Length claims."""
    headers = [f"WARC-Type: {kind}", f"WARC-Record-ID: <urn:uuid:{number:08d}>", "WARC-Date: 2026-01-02T03:04:05Z"]
    headers += [f"WARC-Target-URI: {uri}"] if uri is not None else []
    headers += ["Content-Type: application/http; msgtype=response"] if kind in ("response", "revisit") else []
    headers += [*more, f"Content-Length: {len(content) if length is None else length}"]
    return b"WARC/1.1\r\n" + "".join(f"{h}\r\n" for h in headers).encode() + b"\r\n" + content + b"\r\n\r\n"


def page(number: int, **options: int) -> bytes:
    """A response record with the page of that number."""
    body = http(PAGE.format(number).encode())
    if "short" in options:
        return warc(body, number=number, length=len(body) - options["short"])
    return warc(body, number=number)


def packed(*records: bytes) -> bytes:
    """One gzip member a record, as archives have them."""
    return b"".join(gzip.compress(r, mtime=0) for r in records)
