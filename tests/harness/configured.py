"""A daemon whose configuration changes while it runs."""

import json
import signal

import pytest

from . import host
from .client import ApiError


class Configured:
    """A daemon with a file that it reads again on SIGHUP. Root's daemon reads it as somebody else,
    so it lies where everybody may look."""

    def __init__(self, launch, folder, text):
        self.file = folder / "cella.yaml"
        self.file.write_text(text)
        self.daemon = launch(args=["--config", str(self.file), "--log-format", "json"])
        self.client = self.daemon.client

    def log(self, *events):
        """The lines of the log that tell of these. The last may be there in part."""
        *lines, _ = self.daemon.errors().split("\n")
        lines = [json.loads(line) for line in lines if line.startswith("{")]
        return [line for line in lines if line["event"] in events]

    def reload(self, text=None):
        """Returns what the log tells of it."""
        if text is not None:
            self.file.write_text(text)
        n = len(self.log("reloaded", "reload_failed"))
        self.daemon.process.send_signal(signal.SIGHUP)
        host.eventually(lambda: len(self.log("reloaded", "reload_failed")) > n, "the reload")
        return self.log("reloaded", "reload_failed")[-1]

    def spawn(self, **members):
        return self.client.spawn("min", **members)

    def refusal(self, **members):
        with pytest.raises(ApiError) as refused:
            self.spawn(**members)
        return refused.value
