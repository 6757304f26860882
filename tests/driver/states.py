"""The daemon's side of saving and loading: streams of records, read and written."""

from __future__ import annotations

import json
import socket
import sys
import threading
from typing import Any, Dict, List, Tuple

import pytest
from peer import PATIENCE, Peer

UNLIMITED = 1 << 40


def only_here(python: str) -> None:
    """For what takes long: one interpreter will do."""
    if python != sys.executable:
        pytest.skip("takes long; one interpreter will do")


class Record:
    def __init__(self, header: Dict[str, Any], body: bytes) -> None:
        self.header = header
        self.body = body

    def __repr__(self) -> str:
        return f"{self.header} {len(self.body)}"


def stream_of(target: Any, **order: Any) -> bytes:
    """What a saver writes, after its greeting. `target` is a session or a checkpoint."""
    ours, theirs = socket.socketpair()
    frame = {"op": "save", "id": 1, "format": "state", "max_bytes": UNLIMITED, **order}
    target.send(frame, (theirs.fileno(),))
    theirs.close()
    ours.settimeout(PATIENCE)
    data = bytearray()
    while True:
        part = ours.recv(1 << 20)
        if not part:
            break
        data += part
    ours.close()
    assert data[:1] == b"s", data[:100]
    return bytes(data[1:])


def records_of(stream: bytes) -> List[Record]:
    found = []
    at = 0
    while at < len(stream):
        header, at = _take(stream, at)
        assert len(header) <= 64 << 10
        record = Record(json.loads(header), b"")
        if record.header.get("body"):
            parts = []
            while True:
                part, at = _take(stream, at)
                assert len(part) <= 1 << 20
                if not part:
                    break
                parts.append(part)
            record.body = b"".join(parts)
        found.append(record)
    return found


def _take(stream: bytes, at: int) -> Tuple[bytes, int]:
    size = int.from_bytes(stream[at : at + 4], "little")
    assert at + 4 + size <= len(stream)
    return stream[at + 4 : at + 4 + size], at + 4 + size


def stream_from(found: List[Record]) -> bytes:
    stream = bytearray()
    for record in found:
        header = json.dumps(record.header).encode()
        stream += len(header).to_bytes(4, "little") + header
        if record.header.get("body"):
            for start in range(0, len(record.body), 1 << 20):
                part = record.body[start : start + (1 << 20)]
                stream += len(part).to_bytes(4, "little") + part
            stream += bytes(4)
    return bytes(stream)


def save(target: Any, **order: Any) -> List[Record]:
    found = records_of(stream_of(target, **order))
    assert found[0].header["rec"] == "begin"
    return found


def lost(found: List[Record]) -> Dict[str, Tuple[str, str]]:
    headers = [one.header for one in found if one.header["rec"] == "lost"]
    return {header["name"]: (header["type"], header["advice"]) for header in headers}


def load(peer: Peer, stream: bytes) -> Dict[str, Any]:
    ours, theirs = socket.socketpair()
    peer.send({"op": "load", "id": 9}, (theirs.fileno(),))
    theirs.close()

    def feed() -> None:
        try:
            ours.sendall(stream)
        except OSError:  # it has read enough
            pass
        ours.close()

    feeder = threading.Thread(target=feed)
    feeder.start()
    answer = peer.receive(PATIENCE)
    feeder.join()
    assert answer.pop("ev") == "loaded" and answer.pop("id") == 9
    return answer
