"""Where the daemon is: a URL with its key, or the UNIX socket in a data directory, where one is
started if none runs. The rules are those of the command line."""

from __future__ import annotations

import errno
import os
import shutil
import ssl
import subprocess
import sys
import sysconfig
import typing as t
from pathlib import Path
from urllib.parse import urlsplit

from .errors import CellaError, NoDaemon

SOCKET = "cella.sock"
SOCKET_PATH_MAX = 100  # of the kernel's 108 bytes
START_SECONDS = 180.0


def data_dir(given: t.Optional[str]) -> Path:
    asked = given or os.environ.get("CELLA_DATA")
    if asked:
        return Path(asked).expanduser().absolute()
    state = os.environ.get("XDG_STATE_HOME", "")
    if state.startswith("/"):
        return Path(state) / "cella"
    if os.geteuid() == 0:
        return Path("/var/lib/cella")
    return Path.home() / ".local/state/cella"


def find_program(given: t.Optional[str] = None) -> t.Optional[str]:
    """The program `cella`: as given, beside this package, or on PATH."""
    if given:
        return given
    for folder in (sysconfig.get_path("scripts"), os.path.join(sys.prefix, "bin"),
                   os.path.join(os.path.expanduser("~"), ".local/bin")):
        beside = shutil.which("cella", path=folder)
        if beside and Path(beside).parent.parent.joinpath("lib/cella/cella").exists():
            return beside
    return shutil.which("cella")


class Place:
    """An address and how to speak there."""

    def __init__(self, url: t.Optional[str] = None, key: t.Optional[str] = None, *,
                 data: t.Optional[str] = None, program: t.Optional[str] = None,
                 start: bool = True) -> None:
        if url is None and data is None:
            url = os.environ.get("CELLA_URL") or None
        self.data = data_dir(data)
        self.host: t.Optional[str] = None
        self.port = 0
        self.tls: t.Optional[ssl.SSLContext] = None
        self.prefix = ""  # of paths, behind a proxy
        self.key: t.Optional[str] = None
        self.program, self.may_start = program, start
        if url is not None:
            self._read_url(url)
            self.key = key or os.environ.get("CELLA_KEY") or self._key_file()

    def _read_url(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
            raise CellaError(f"{url!r} is not the address of a daemon",
                             "write http://HOST:PORT", "invalid")
        self.host = parts.hostname
        self.port = parts.port or (443 if parts.scheme == "https" else 80)
        self.prefix = parts.path.rstrip("/")
        if parts.scheme == "https":
            self.tls = ssl.create_default_context()

    def _key_file(self) -> t.Optional[str]:
        try:
            return (self.data / "key").read_text().strip()
        except OSError:
            return None

    @property
    def host_header(self) -> str:
        if self.host is None:
            return "localhost"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"http://{self.host_header}" if self.host else str(self.data / SOCKET)

    def socket_path(self) -> t.Tuple[str, t.Optional[int]]:
        """A path to connect to, and a descriptor to close afterwards: the path of a data
        directory may be longer than a socket's address."""
        path = str(self.data / SOCKET)
        if len(os.fsencode(path)) <= SOCKET_PATH_MAX:
            return path, None
        folder = os.open(self.data, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        return f"/proc/self/fd/{folder}/{SOCKET}", folder

    def can_start(self, error: OSError) -> bool:
        """Whether nothing listens there, and it is for us to start something."""
        return (self.host is None and self.may_start
                and error.errno in (errno.ENOENT, errno.ECONNREFUSED))

    def start(self) -> None:
        """Starts a daemon, unless another program is faster. It goes on after us."""
        program = find_program(self.program)
        if program is None:
            raise NoDaemon(f"no daemon runs on {self.data}, and there is no program `cella` here",
                           "install it (pip install of the wheel brings it), or give url and key")
        command = [program, "call", "health", "--data", str(self.data)]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=START_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NoDaemon(f"the daemon could not be started: {error}",
                           f"try: {program} doctor") from error
        if done.returncode != 0:
            told = done.stderr.decode("utf-8", "replace").strip()
            raise NoDaemon(f"the daemon could not be started: {told}", f"try: {program} doctor")

    def explain(self, error: OSError) -> NoDaemon:
        if error.errno in (errno.EACCES, errno.EPERM):
            return NoDaemon(f"the daemon at {self} is another user's",
                            "use a data directory of your own, or url and key")
        return NoDaemon(f"no daemon answers at {self}: {error}",
                        "start one there with: cella serve")
