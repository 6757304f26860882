#!/usr/bin/python3
"""Random `kill -9` of the daemon, the warden, a zygote, heads and checkpoints, while sessions work.

    tests/e2e/soak_kill.py [--kills 500] [--sessions 3] [--seed 1]

Each session counts up, in a variable and in a file, and waits for every count to be durable. After
each kill whatever was acknowledged must be there, variable and file of the same cell."""

import argparse
import http.client
import os
import pathlib
import random
import signal
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from harness import daemon as daemons  # noqa: E402
from harness import host  # noqa: E402
from harness.client import ApiError, Client, Session  # noqa: E402

COUNT = "n = {0}; open('/workspace/n', 'w').write('{0}'); n"
LOOK = "n, int(open('/workspace/n').read())"
VICTIMS = ["daemon", "warden", "zygote", "inmate", "inmate", "inmate"]


class Counter:
    """One session, what it was told to be, and what was acknowledged."""

    def __init__(self, session):
        self.spawned = session.spawned
        self.tried = self.acknowledged = 0

    def connect(self, daemon):
        self.session = Session(Client(daemon.address, daemon.key()), self.spawned)

    def work(self, is_over):
        """Until something fails, or it is over."""
        try:
            while not is_over.is_set():
                self.tried += 1
                answer = self.session.exec(COUNT.format(self.tried), durable=True)
                if answer.status == "ok" and answer.saved_through >= answer.exec_id:
                    self.acknowledged = self.tried
        except (ApiError, OSError, http.client.HTTPException):
            return

    def look(self):
        answer = self.session.exec(LOOK)
        if answer.status == "error":  # the beginning, if nothing was acknowledged yet
            assert self.acknowledged == 0, f"{self.acknowledged} were safe: {answer}"
            return (0, 0)
        return eval(answer["value"]["text"]) if answer.status == "ok" else None

    def check(self, is_alive):
        """Its count, once it answers again."""
        deadline, seen = time.monotonic() + host.PATIENCE, None
        while seen is None:
            try:
                seen = self.look()
            except (ApiError, OSError, http.client.HTTPException) as error:
                if time.monotonic() > deadline or not is_alive():
                    raise AssertionError(f"{self.spawned.session_id} does not answer") from error
                time.sleep(0.05)
        variable, file = seen
        assert self.acknowledged <= variable <= self.tried, (seen, self.acknowledged, self.tried)
        assert file == variable, (seen, self.acknowledged, self.tried)
        self.tried = variable  # it is there, but nobody has said that it is safe


class Soak:
    def __init__(self, launch, sessions, seed):
        """`launch()` starts a daemon, always on the same directory."""
        self.launch, self.random = launch, random.Random(seed)
        self.daemon = launch()
        self.counters = [Counter(self.daemon.client.spawn("min")) for _ in range(sessions)]
        for counter in self.counters:  # a session of which nothing was saved ends with its warden
            counter.connect(self.daemon)
            assert "durable_error" not in counter.session.exec("1", durable=True)
        self.kills = dict.fromkeys(VICTIMS, 0)

    def n_kills(self):
        return sum(self.kills.values())

    def victim(self, kind):
        """A process of that kind, if there is one at this moment."""
        if kind == "daemon":
            return self.daemon.pid
        tree = [pid for pid, _ in self.daemon.tree()]
        depth = {"warden": 2, "zygote": 2, "inmate": 3}[kind]
        words = {"warden": "cella", "zygote": "zygote.py", "inmate": "zygote.py"}[kind]
        found = [pid for pid in tree if host.pid_depth(pid) == depth
                 and words in host.read(f"/proc/{pid}/cmdline")]
        if kind == "warden":
            found = [self.daemon.warden()] if self.daemon.is_running() else []
        return self.random.choice(found) if found else None

    def kill_one(self):
        kind = self.random.choice(VICTIMS)
        is_over = threading.Event()
        for counter in self.counters:
            counter.connect(self.daemon)
        workers = [threading.Thread(target=c.work, args=(is_over,)) for c in self.counters]
        for worker in workers:
            worker.start()
        time.sleep(self.random.uniform(0, 0.25))
        try:
            pid = self.victim(kind)
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
                self.kills[kind] += 1
        except (ProcessLookupError, ValueError):
            pass  # it went by itself
        time.sleep(self.random.uniform(0, 0.1))
        is_over.set()
        for worker in workers:
            worker.join()
        return kind

    def revive(self):
        """A daemon that runs: this one, or another if it was killed or lost too many wardens."""
        time.sleep(0.01)
        if self.daemon.is_running():
            return
        self.daemon.kill()
        self.daemon = self.launch()
        for counter in self.counters:
            counter.connect(self.daemon)

    def round(self):
        kind = self.kill_one()
        for attempt in range(2):
            self.revive()
            try:
                for counter in self.counters:
                    counter.check(self.daemon.is_running)
                return
            except AssertionError as error:
                # The daemon may have ended while it was asked.
                if self.daemon.is_running() or attempt > 0:
                    raise AssertionError(f"after the end of a {kind}: {error}\n"
                                         f"{self.daemon.errors()[-4000:]}") from error


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--sessions", type=int, default=3)
    parser.add_argument("--seed", default="1")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cella-soak-") as folder:
        data = pathlib.Path(folder) / "data"
        soak = Soak(lambda: daemons.Daemon(daemons.find_binary(), data,
                                           config="default_profile: min\n"),
                    options.sessions, options.seed)
        try:
            told, every = 0, max(options.kills // 10, 1)
            while soak.n_kills() < options.kills:
                soak.round()
                if soak.n_kills() >= told + every:
                    told = soak.n_kills()
                    print(told, soak.kills, [c.acknowledged for c in soak.counters], flush=True)
        except AssertionError:
            soak.daemon.kill()
            raise
        soak.daemon.stop()


if __name__ == "__main__":
    main()
