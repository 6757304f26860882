"""Walking into a jail that others live in: they see whoever comes before its walls stand, and must
not get hold of it."""

import re
import threading

import pytest
from probes import PRELUDE
from test_refusals import ENOSYS, failing

from harness.client import Result, Session
from harness.host import PATIENCE

LANDLOCK_CREATE_RULESET = 444
FILTERS = 2  # that every session has
JOINS = {"python": 12, "bash": 8, "node": 3}

# Everything within reach of a newcomer, over and over; thread ids tell which pids are new. Where
# Landlock keeps neighbours apart nothing may succeed at all. Where it does not, a neighbour whose
# walls all stand is no prey any more, but a fellow: its status counts all filters.
ATTACK = PRELUDE + r"""
import re, threading, time
breaches, reached, stop = [], 0, '/tmp/stop-the-attack'
IS_ALONE = %(is_alone)r
def newest():
    thread = threading.Thread(target=int); thread.start(); thread.join()
    return thread.native_id
def walls(pid):
    return int(re.search(r'Seccomp_filters:\s+(\d+)', open(f'/proc/{pid}/status').read())[1])
def judge(pid, what):
    global reached
    reached += 1
    try: standing = walls(pid)
    except (OSError, TypeError): standing = -1
    if IS_ALONE or 0 <= standing < %(filters)d:
        breaches.append((pid, what, standing))
def attack(pid):
    attempts = [(n, lambda n=n: os.close(os.open(f'/proc/{pid}/{n}', f)))
                for n, f in (('mem', os.O_RDWR), ('mem', os.O_RDONLY), ('environ', os.O_RDONLY),
                             ('maps', os.O_RDONLY), ('fd/3', os.O_RDWR), ('fd/5', os.O_RDWR))]
    attempts += [(n, lambda n=n: os.readlink(f'/proc/{pid}/{n}'))
                 for n in ('cwd', 'root', 'ns/user')]
    attempts += [('fd', lambda: os.listdir(f'/proc/{pid}/fd')),
                 ('limits', lambda: call(302, pid, 7, struct.pack('QQ', 5, 5), 0))]
    for what, attempt in attempts:
        try: attempt()
        except OSError: continue
        judge(pid, what)
def attack_by_name(pid):
    buf = ctypes.create_string_buffer(16)
    vec = struct.pack('QQ', ctypes.addressof(buf), 16)
    for what, args in (('ptrace', (101, 0x4206, pid, 0, 0)), ('getfd', (438, pid, 3, 0)),
                       ('read', (310, pid, vec, 1, vec, 1, 0))):
        try: call(*args)
        except OSError: continue
        judge(pid, what)
def trouble_files():
    n = 0
    while not os.path.exists(stop):
        n += 1
        for act in (lambda: os.symlink('/proc/1/root', '/workspace/place'),
                    lambda: os.unlink('/workspace/place'), lambda: os.mkdir('/workspace/place'),
                    lambda: os.rmdir('/workspace/place'), lambda: os.chmod('/workspace', 0),
                    lambda: os.chmod('/workspace', 0o700)):
            try: act()
            except OSError: pass
        time.sleep(0.0005)
threading.Thread(target=trouble_files).start()
mine, turns = {os.getpid()}, 0
while not os.path.exists(stop):
    turns += 1
    last = newest()
    mine = {os.getpid(), *map(int, os.listdir('/proc/self/task'))}
    for pid in range(last - 6, last + 10):
        if pid in mine or pid <= 1: continue
        attack(pid)
        if turns %% 32 == 0 and pid == last + 1: attack_by_name(pid)
os.chmod('/workspace', 0o700)
print('turns', turns > 20, 'reached', reached > 0, 'breaches', breaches[:20])
"""

MARKS = {
    "python": "print(open('/proc/self/status').read())",
    "bash": "while read -r line; do echo \"$line\"; done < /proc/self/status",
    "node": "console.log(require('fs').readFileSync('/proc/self/status', 'latin1'))",
}
STANDING = {"CapEff": "0000000000000000", "CapBnd": "0000000000000000", "NoNewPrivs": "1",
            "Seccomp": "2", "Uid": "1000"}


class Attack:
    """An inhabitant that attacks from now on; `report` is what it found."""

    def __init__(self, session, is_alone, filters):
        self.session, self.report = session.patient(120 + PATIENCE), None
        code = ATTACK % {"is_alone": is_alone, "filters": filters}
        self.thread = threading.Thread(target=self.run, args=(code,))
        self.thread.start()

    def run(self, code):
        self.report = self.session.exec(code, timeout_ms=120_000)

    def end(self, other):
        other.exec("open('/tmp/stop-the-attack', 'w').close()")
        self.thread.join()
        assert self.report.status == "ok", self.report
        return self.report["stdout"]


def join(client, inhabitant, runtime, **members):
    """A session in the jail of another; None if it could not be."""
    profile = {"profile": "min"} if runtime == "python" else {}
    body = {"runtime": runtime, "join": inhabitant.id, **profile, **members}
    reply = client.request("POST", "/v1/sessions", body)
    assert reply.status in (201, 400, 503), reply
    return Session(client, Result(reply.json)) if reply.status == 201 else None


def join_in_a_loop(client, inhabitant, filters):
    standing = {**STANDING, "Seccomp_filters": filters}
    for runtime, count in JOINS.items():
        for i in range(count):
            if i % 3 == 2:  # this directory may be anything at the moment
                join(client, inhabitant, runtime, cwd="place")
            joined = join(client, inhabitant, runtime)
            assert joined, runtime
            status = joined.out(MARKS[runtime])
            for name, value in standing.items():
                assert re.search(rf"^{name}:\s+{value}\b", status, re.M), (runtime, name, status)
            joined.kill()


def try_to_catch_newcomers(client, spawn, is_alone, filters=FILTERS):
    attacker = spawn("min")
    helper = join(client, attacker, "python")
    attack = Attack(attacker, is_alone, filters)
    try:
        join_in_a_loop(client, attacker, filters)
    finally:
        report = attack.end(helper)
    assert "turns True" in report, report
    assert "breaches []" in report, report
    return report


def test_newcomers_are_out_of_reach(client, spawn, witness):
    try_to_catch_newcomers(client, spawn, is_alone=True)


@pytest.mark.slow
def test_newcomers_are_out_of_reach_without_landlock_too(launch):
    """Then neighbours can look at each other, as soon as all their walls stand and not before."""
    client = launch(preexec=failing(LANDLOCK_CREATE_RULESET, ENOSYS)).client
    filters = FILTERS + 1  # ours, which hides Landlock
    report = try_to_catch_newcomers(client, client.spawn, False, filters)
    assert "reached True" in report, "the attack proves nothing if it never succeeds"


@pytest.mark.parametrize("runtime", JOINS)
def test_who_is_killed_on_the_way_in_is_missed_by_nobody(client, spawn, witness, runtime):
    """Where all is one user a neighbour may signal whoever comes. It gains nothing by it."""
    attacker, other = spawn("min"), spawn("min")
    attacker.exec(
        """
        import os, threading
        def shoot():
            while True:
                thread = threading.Thread(target=int); thread.start(); thread.join()
                for pid in range(thread.native_id + 1, thread.native_id + 4):
                    try: os.kill(pid, 9)
                    except OSError: pass
        threading.Thread(target=shoot, daemon=True).start()
        """
    )
    for _ in range(4):
        join(client, attacker, runtime)
    assert attacker.value("6 * 7") == "42"
    assert other.value("6 * 7") == "42"
