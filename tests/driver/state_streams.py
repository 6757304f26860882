"""What was saved, with its parts by name."""

from __future__ import annotations

import socket
from typing import Any, Dict, List

import states
from states import Record, stream_from


class State:
    def __init__(self, records: List[Record]) -> None:
        self.records = records

    @property
    def lost(self) -> Dict[str, str]:
        return {name: type_name for name, (type_name, _) in states.lost(self.records).items()}

    @property
    def last(self) -> Dict[str, Any]:
        return self.records[-1].header

    def bodies(self) -> Dict[str, bytes]:
        """By the names in them."""
        found = {}
        for record in self.records:
            if record.header.get("body"):
                names = ",".join(record.header["names"])
                found[f"{record.header['kind']}:{names}"] = record.body
        return found


def ask_to_save(target: Any) -> socket.socket:
    ours, theirs = socket.socketpair()
    frame = {"op": "save", "id": 1, "format": "state", "max_bytes": 64 << 20}
    target.send(frame, (theirs.fileno(),))
    theirs.close()
    ours.settimeout(states.PATIENCE)
    return ours


def save(target: Any, **order: Any) -> State:
    return State(states.records_of(states.stream_of(target, **order)))


def load(peer: Any, state: State) -> Dict[str, Any]:
    """The answer, without what does not change."""
    return states.load(peer, stream_from(state.records))
