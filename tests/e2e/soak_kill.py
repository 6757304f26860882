#!/usr/bin/python3
"""Random `kill -9` of the daemon, the warden, a zygote, heads and checkpoints, while sessions work.

    tests/e2e/soak_kill.py [--kills 500] [--sessions 3] [--seed 1]

Each session counts up, in a variable and in a file, and waits for every count to be durable. After
each kill whatever was acknowledged must be there, variable and file of the same cell; now and then
the session is taken back and forth before it goes on. Beside them one session gets files and never
runs a cell, and in another a process in the background writes: what of that is not there any more
must have been told."""

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

TROUBLE = (ApiError, OSError, http.client.HTTPException)
# It counts on from what is there, with a lock: one of before may still be at work.
WRITE = """
import subprocess
p = subprocess.Popen(["sh", "-c", "while :; do flock l sh -c 'echo $(($(cat bg || echo 0) + 1))"
                      " > t; mv t bg' 2>/dev/null; sleep 0.03; done"])
"""
COUNT = "n = {0}; open('/workspace/n', 'w').write('{0}'); n"
LOOK = "n, int(open('/workspace/n').read())"
VICTIMS = ["daemon", "warden", "zygote", "inmate", "inmate", "inmate"]


class Worker:
    """One session, how far it was told to come, and what was acknowledged."""

    def __init__(self, session):
        self.spawned = session.spawned
        self.tried = self.acknowledged = 0

    def connect(self, daemon):
        self.session = Session(Client(daemon.address, daemon.key()), self.spawned)

    def work(self, is_over):
        """Until something fails, or it is over."""
        try:
            self.begin()
            while not is_over.is_set():
                self.step()
        except TROUBLE:
            return

    def begin(self):
        pass


def is_safe(answer):
    return answer.status == "ok" and answer.saved_through >= answer.number


class Counter(Worker):
    def step(self):
        self.tried += 1
        if is_safe(self.session.exec(COUNT.format(self.tried), durable=True)):
            self.acknowledged = self.tried

    def look(self):
        answer = self.session.exec(LOOK)
        if answer.status == "error":  # the beginning, if nothing was acknowledged yet
            assert self.acknowledged == 0, f"{self.acknowledged} were safe: {answer}"
            return (0, 0)
        return eval(answer["value"]["text"]) if answer.status == "ok" else None

    def go_back_and_forth(self):
        """Undone are looks, which change nothing, or counts: never all of them."""
        path = self.session.path
        before = self.look()
        undone = self.session.client.call("POST", f"{path}/undo", {})
        behind = self.look()
        assert behind[0] == behind[1] <= before[0], (undone, before, behind)
        assert behind[0] > 0 or self.acknowledged < 2, (undone, before, behind)
        self.session.client.call("POST", f"{path}/undo", {"to": undone["from"]})
        assert self.look() == before, (undone, before, behind)

    def check(self, is_alive, goes_back=False):
        """Its count, once it answers again."""
        variable, file = seen = patiently(self.look, is_alive, self.spawned.session_id)
        if goes_back and self.acknowledged > 1:
            try:
                self.go_back_and_forth()
            except ApiError as error:  # a checkpoint was killed, or is being made
                assert error.status == 409, error
        assert self.acknowledged <= variable <= self.tried, (seen, self.acknowledged, self.tried)
        assert file == variable, (seen, self.acknowledged, self.tried)
        self.tried = variable  # it is there, but nobody has said that it is safe


def patiently(look, is_alive, name):
    """What it says, once it says something."""
    deadline, seen = time.monotonic() + host.PATIENCE, None
    while seen is None:
        try:
            seen = look()
        except TROUBLE as error:
            if time.monotonic() > deadline or not is_alive():
                raise AssertionError(f"{name} does not answer: {error}") from error
            time.sleep(0.05)
    return seen


class Uploader(Worker):
    """A session that only gets files."""

    def step(self):
        self.tried += 1
        is_put = self.session.put("u", str(self.tried).encode()).status < 300
        if is_put and self.session.info()["all_saved"]:
            self.acknowledged = self.tried
        time.sleep(0.02)

    def look(self):
        reply = self.session.get("u")
        if reply.status == 404 and self.acknowledged == 0:
            return 0
        return int(reply.body) if reply.status == 200 else None

    def check(self, is_alive, goes_back=False):
        seen = patiently(self.look, is_alive, self.spawned.session_id)
        assert self.acknowledged <= seen <= self.tried, (seen, self.acknowledged, self.tried)
        self.tried = seen
        if goes_back and is_alive():
            host.eventually(lambda: self.session.info()["all_saved"], "the save of a file")
            self.acknowledged = seen


class Writer(Worker):
    """A session in whose background somebody writes; a durable cell acknowledges what is there,
    unless its answer tells that files were lost: then it ran behind what had been read."""

    def __init__(self, session):
        super().__init__(session)
        self.told = ""  # by all answers since the last check

    def read(self):
        reply = self.session.get("bg")
        return int(reply.body or 0) if reply.status == 200 else 0

    def begin(self):
        self.told += str(self.session.exec(WRITE))

    def step(self):
        found = self.read()
        self.tried = max(self.tried, found)
        answer = self.session.exec("1", durable=True)
        self.told += str(answer)
        if is_safe(answer) and "files_lost" not in str(answer):
            self.acknowledged = max(self.acknowledged, found)

    def look(self):
        answer = self.session.exec("p = p.kill() if globals().get('p') else None")
        self.told += str(answer)
        return self.read() if answer.status == "ok" else None

    def check(self, is_alive, goes_back=False):
        found = patiently(self.look, is_alive, self.spawned.session_id)
        seen = (found, self.acknowledged, self.tried, self.told[-2000:])
        assert found >= self.acknowledged, seen
        assert found >= self.tried or "files_lost" in self.told, seen
        self.tried, self.told = found, ""


class Soak:
    def __init__(self, launch, sessions, seed):
        """`launch()` starts a daemon, always on the same directory."""
        self.launch, self.random = launch, random.Random(seed)
        self.daemon = launch()
        self.counters = [Counter(self.daemon.client.spawn("min")) for _ in range(sessions)]
        for counter in self.counters:  # a session of which nothing was saved ends with its warden
            counter.connect(self.daemon)
            assert "durable_error" not in counter.session.exec("1", durable=True)
        self.counters += [Uploader(self.daemon.client.spawn("min")),
                          Writer(self.daemon.client.spawn("min"))]
        self.counters[-2].connect(self.daemon)
        self.counters[-2].session.put("u", b"0")
        host.eventually(lambda: self.counters[-2].session.info()["all_saved"])
        self.counters[-1].connect(self.daemon)
        assert "durable_error" not in self.counters[-1].session.exec("1", durable=True)
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
                    counter.check(self.daemon.is_running, self.random.random() < 0.3)
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
