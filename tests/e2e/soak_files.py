#!/usr/bin/python3
"""A file that is larger than memory should be needed for: up, down, in part, as an archive.

    tests/e2e/soak_files.py [--mb 5120] [--where /var/tmp]

Tells seconds and the most that the daemon had allocated, which must not grow with the file; all
that it makes is below --where and removed at the end."""

import argparse
import hashlib
import pathlib
import random
import sys
import tarfile
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from harness import daemon as daemons  # noqa: E402

PIECE = 1 << 20
HEAP_MAX = 8 << 20  # bytes more than at rest


class Source:
    """Bytes that do not repeat, made while they are read."""

    def __init__(self, mb):
        self.left, self.hash = mb, hashlib.blake2b()
        self.noise = random.Random(1).randbytes(PIECE)

    def __iter__(self):
        while self.left > 0:
            self.left -= 1
            piece = self.left.to_bytes(8, "little") + self.noise[8:]
            self.hash.update(piece)
            yield piece


class Soak:
    def __init__(self, daemon, mb):
        self.daemon, self.mb = daemon, mb
        self.session = daemon.client.spawn("min", limits={"disk_mb": 3 * mb + 64})

    def step(self, name, work):
        begun = time.monotonic()
        with self.daemon.watch_heap() as heap:
            work()
        took = time.monotonic() - begun
        print(f"{name:10} {took:7.1f} s  {self.mb / took:7.1f} MB/s  "
              f"heap {heap[0] / 1e6:.1f} MB, at most {heap[1] / 1e6:.1f} MB", flush=True)
        assert heap[1] - heap[0] < HEAP_MAX, heap

    def connection(self):
        connection = self.session.client.new_connection()
        connection.timeout = 3600
        return connection

    def up(self):
        source, connection = Source(self.mb), self.connection()
        connection.request("PUT", f"{self.session.path}/files/big", iter(source),
                           {**self.session.client.headers(),
                            "Content-Length": str(self.mb * PIECE)})
        reply = connection.getresponse()
        assert reply.status == 201, reply.read()
        reply.read()
        self.digest = source.hash.digest()
        connection.close()

    def response(self, path, **headers):
        connection = self.connection()
        connection.request("GET", f"{self.session.path}/{path}", None,
                           {**self.session.client.headers(), **headers})
        return connection.getresponse()

    def down(self):
        response, digest = self.response("files/big"), hashlib.blake2b()
        while piece := response.read(PIECE):
            digest.update(piece)
        assert digest.digest() == self.digest

    def parts(self):
        for at in range(0, self.mb * PIECE - 100, self.mb * PIECE // 100):
            response = self.response("files/big", Range=f"bytes={at}-{at + 99}")
            assert response.status == 206 and len(response.read()) == 100

    def archive(self):
        response, digest = self.response("archive"), hashlib.blake2b()
        with tarfile.open(fileobj=response, mode="r|") as tar:
            member = tar.next()
            file = tar.extractfile(member)
            while piece := file.read(PIECE):
                digest.update(piece)
        assert member.name == "big" and digest.digest() == self.digest

    def copy(self):
        connection = self.connection()
        connection.request("POST", f"{self.session.path}/copy", b'{"path": "big", "to": "copy"}',
                           self.session.client.headers())
        assert connection.getresponse().status == 200
        connection.close()

    def run(self):
        for name in ("up", "down", "parts", "archive", "copy"):
            self.step(name, getattr(self, name))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--mb", type=int, default=5120)
    parser.add_argument("--where", default="/var/tmp")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.where, prefix="cella-soak-") as folder:
        pathlib.Path(folder).chmod(0o755)
        launcher = daemons.Launcher(daemons.find_binary(), None, pathlib.Path(folder))
        daemon = launcher(config="default_profile: min\nmax_limits: {disk_mb: 100000}\n")
        try:
            Soak(daemon, options.mb).run()
        finally:
            launcher.stop_all()


if __name__ == "__main__":
    main()
