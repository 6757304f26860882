"""The daemon's side of saving and loading: the stream of records."""

from __future__ import annotations

import json
import socket
import threading
from typing import Any, Dict, List, Optional

from peer import Peer

TIMEOUT_SECONDS = 20


class Record:
    def __init__(self, header: Dict[str, Any], body: Optional[bytes]) -> None:
        self.header = header
        self.body = body

    def encode(self) -> bytes:
        text = json.dumps(self.header).encode()
        data = len(text).to_bytes(4, "little") + text
        if self.body is not None:
            for at in range(0, len(self.body), 1 << 20):
                piece = self.body[at : at + (1 << 20)]
                data += len(piece).to_bytes(4, "little") + piece
            data += bytes(4)
        return data


class State:
    """What was saved."""

    def __init__(self, records: List[Record]) -> None:
        self.records = records

    @property
    def lost(self) -> Dict[str, str]:
        headers = [record.header for record in self.records]
        return {h["name"]: h["type"] for h in headers if h["rec"] == "lost"}

    @property
    def last(self) -> Dict[str, Any]:
        return self.records[-1].header

    def bodies(self) -> Dict[str, bytes]:
        """By the names in them."""
        found = {}
        for record in self.records:
            if record.body is not None:
                names = ",".join(record.header["names"])
                found[f"{record.header['kind']}:{names}"] = record.body
        return found


def read_all(sock: socket.socket) -> bytes:
    sock.settimeout(TIMEOUT_SECONDS)
    data = bytearray()
    while piece := sock.recv(1 << 20):
        data += piece
    return bytes(data)


def decode(data: bytes) -> State:
    records = []
    at = 0

    def take() -> bytes:
        nonlocal at
        length = int.from_bytes(data[at : at + 4], "little")
        piece = data[at + 4 : at + 4 + length]
        assert len(piece) == length
        at += 4 + length
        return piece

    while at < len(data):
        header = json.loads(take())
        body = None
        if header.get("body"):
            body = b""
            while piece := take():
                body += piece
        records.append(Record(header, body))
    return State(records)


def ask_to_save(send: Any, format: str = "state", max_bytes: int = 64 << 20) -> socket.socket:
    """`send` takes a frame and descriptors."""
    ours, theirs = socket.socketpair()
    frame = {"op": "save", "id": 1, "format": format, "max_bytes": max_bytes}
    send(frame, (theirs.fileno(),))
    theirs.close()
    return ours


def save(peer: Any, **options: Any) -> State:
    data = read_all(ask_to_save(peer.send, **options))
    assert data[:1] == b"s"
    return decode(data[1:])


def load(peer: Peer, state: State) -> Dict[str, Any]:
    """The answer, without what does not change."""
    ours, theirs = socket.socketpair()
    data = b"".join(record.encode() for record in state.records)
    peer.send({"op": "load", "id": 5}, (theirs.fileno(),))
    theirs.close()

    def write() -> None:
        ours.sendall(data)
        ours.close()

    writer = threading.Thread(target=write)
    writer.start()
    answer = peer.receive()
    writer.join()
    assert (answer.pop("ev"), answer.pop("id")) == ("loaded", 5)
    return answer
