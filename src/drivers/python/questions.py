"""A question to the daemon, for a line of input or for what an operation answers, and the wait for
its answer.

Only in that wait an interrupt raises; the answer that then comes too late is ignored by whoever
reads it. A thread may wait while the main thread ends the cell: its question is withdrawn.
"""

from __future__ import annotations

import _thread
import os
from typing import Any, Dict, Optional

from . import frames, interrupts, jsontext

_pipe = os.pipe
_close = os.close
_write = os.write
_quote = jsontext.quote
_Shield = interrupts.Shield

_WITHDRAWN = "the cell ended before this line was answered"


class Questions:
    def __init__(self, channel: frames.Channel, gate: interrupts.Gate) -> None:
        self._channel = channel
        self._gate = gate
        self._wake_lock = _thread.allocate_lock()
        self._wake_fd = -1  # writing to it wakes the thread that waits

    def ask(
        self, cell_id: int, prompt: str, is_secret: bool, is_main_thread: bool
    ) -> Optional[str]:
        """The answer without the end of its line, None at the end of the input. The caller holds
        the channel's lock, and knows that the cell runs."""
        question = (
            f'{{"ev":"input","id":{cell_id},"prompt":{_quote(prompt)},'
            f'"password":{"true" if is_secret else "false"}}}'
        )
        frame = self._exchange(cell_id, question, "input", is_main_thread)
        return None if frame.get("eof") else frame["text"]

    def call(self, cell_id: int, op: str, args: str, is_main_thread: bool) -> Dict[str, Any]:
        """What an operation of the daemon answers, which is asked on behalf of the cell: a frame
        with "result" or "error". `args` is JSON. As above of the lock and the cell."""
        question = f'{{"ev":"call","id":{cell_id},"op":{_quote(op)},"args":{args}}}'
        return self._exchange(cell_id, question, "result", is_main_thread)

    def _exchange(
        self, cell_id: int, question: str, answer: str, is_main_thread: bool
    ) -> Dict[str, Any]:
        shield = _Shield(self._gate, is_main_thread)
        with shield:
            while self._channel.has_unread():  # answers to questions that were interrupted
                self._channel.receive()
            self._channel.send(question)
        while True:
            if is_main_thread:
                self._channel.wait_unread()
            else:
                self._wait_in_thread()
            with shield:
                frame: Dict[str, Any] = self._channel.receive()
            if frame["op"] == answer and frame["id"] == cell_id:
                return frame

    def _wait_in_thread(self) -> None:
        wake_read, wake_write = _pipe()
        self._wake_fd = wake_write
        try:
            if self._gate.is_running:
                self._channel.wait_unread(wake_read)
            if not self._gate.is_running:
                raise EOFError(_WITHDRAWN)
        finally:
            with self._wake_lock:
                self._wake_fd = -1
                _close(wake_write)
            _close(wake_read)

    def withdraw(self) -> None:
        """The cell is over. Whether a thread sees that by itself, or is seen here, it stops."""
        if self._wake_fd >= 0:
            with self._wake_lock:
                if self._wake_fd >= 0:
                    _write(self._wake_fd, b"x")
