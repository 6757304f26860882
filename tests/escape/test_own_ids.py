"""An ordinary user to whom /etc/subuid and /etc/subgid give ids: sessions have host users of their
own, as those of root have. And what becomes of their files, over which the user has no rights."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess

import pytest

from harness import daemon as daemons
from harness import host
from harness.client import Result, Session

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give ids to a user"),
    pytest.mark.skipif(not shutil.which("newuidmap"), reason="needs the package uidmap"),
]

CONFIG = "default_profile: min\npool: 1\n"


@pytest.fixture(scope="module")
def owner(cella):
    """(struct passwd, path of the program) of a user with ranges of ids."""
    with daemons.ordinary_user(cella, has_subids=True) as found:
        yield found


@pytest.fixture
def start(owner):
    """Starts daemons of that user."""
    user, binary = owner
    launcher = daemons.Launcher(binary, user, pathlib.Path(user.pw_dir))

    def begin(data=None, config=CONFIG, **options):
        return launcher(data, config=config, **options)

    begin.new_data = launcher.new_data
    yield begin
    launcher.stop_all()


def cli(owner, *args, env=None):
    user, binary = owner
    return subprocess.run([binary, *args], capture_output=True, text=True, cwd="/",
                          env={**daemons.environment(user), **(env or {})}, timeout=host.PATIENCE,
                          **daemons.as_user(user))


def uid_of(pid):
    return int(host.read(f"/proc/{pid}/status").split("Uid:\t")[1].split()[0])


def owners(path):
    """The ids of all files below a directory."""
    return {p.lstat().st_uid for p in [path, *path.rglob("*")]}


def find(daemon, session):
    """The same session of a later daemon."""
    return Session(daemon.client, session.spawned)


def workspace(daemon, session):
    return daemon.data / "workspaces" / session.id


# Who they are.


def test_every_session_is_another_user(owner, start):
    daemon = start()
    uids = [uid_of(daemon.head(daemon.client.spawn())) for _ in range(3)]
    assert len(set(uids)) == 3
    assert set(uids) <= set(daemons.subids_of(owner[0]))
    assert {uid_of(daemon.pid), uid_of(daemon.warden())} == {owner[0].pw_uid}
    assert "session_ids" not in daemon.errors()


def test_a_session_cannot_touch_what_is_the_users(owner, start):
    daemon = start()
    session = daemon.client.spawn()
    assert session.out("""
        import os
        print(os.getuid(), os.geteuid(), os.getgid(), os.getgroups())
        for ids in ((0, 0, 0), (1001, 1001, 1001)):
            try: os.setresuid(*ids)
            except OSError as error: print(error.strerror)
    """) == "1000 1000 1000 []\nInvalid argument\nInvalid argument\n"
    head = daemon.head(session)
    kept = host.read(f"/proc/{head}/uid_map").split() + host.read(f"/proc/{head}/gid_map").split()
    assert kept[::3] == ["1000", "1000"] and kept[2::3] == ["1", "1"]
    assert "Groups:\t \n" in host.read(f"/proc/{head}/status")


def test_the_doctor_knows(owner):
    (check,) = [c for c in json.loads(cli(owner, "doctor", "--json").stdout)["checks"]
                if c["name"] == "own user ids"]
    assert check["ok"] and "of its own" in check["detail"]


# What the kernel counts for each user.

MANY_UNDER_WAY = """
import array, errno, os, socket
null, kept = os.open('/dev/null', os.O_RDONLY), []
rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [null] * 250))]
def send():
    pair = socket.socketpair()
    kept.append(pair)
    try: pair[0].sendmsg([b'x'], rights)
    except OSError as error: return error.errno == errno.ETOOMANYREFS
"""


def test_descriptors_under_way_are_counted_for_each_session(start):
    client = start().client
    hostile, other = client.spawn(), client.spawn()
    assert hostile.value(MANY_UNDER_WAY + "any(send() for _ in range(20))") == "True"
    assert other.value(MANY_UNDER_WAY + "bool(send())") == "False"
    assert client.spawn().value("6 * 7") == "42"


PIPES = """
import fcntl, os, time
def size():
    ends = os.pipe()
    kept.append(ends)
    return fcntl.fcntl(ends[0], 1032)  # F_GETPIPE_SZ
kept = []
"""
ALL_PIPES = PIPES + """
ready = os.pipe()
for _ in range(4):
    if os.fork() == 0:
        for _ in range(480): size()
        os.write(ready[1], b'x'); time.sleep(3600)
for _ in range(4): os.read(ready[0], 1)
size() < 65536
"""


def test_memory_of_pipes_is_counted_for_each_session(start):
    """Who has many of them gets small ones."""
    client = start().client
    hostile, other = client.spawn(), client.spawn()
    assert hostile.value(ALL_PIPES) == "True"
    assert other.value(PIPES + "size()") == "65536"


# Their cgroups.


@pytest.fixture
def groups(owner):
    """Groups of the user's own, one in each hierarchy, as an administrator would give them."""
    mounts, made = host.cgroup_mounts(), set()
    if "memory" not in mounts:
        pytest.skip("only for cgroups of version 1")
    for line in host.read("/proc/self/cgroup").splitlines():
        _, names, path = line.split(":", 2)
        if {"memory", "pids", "cpu"} & set(names.split(",")):
            where = mounts[names.split(",")[0]]
            made.add(pathlib.Path(f"{where}{path}/cella-test-{os.getpid()}"))
    for path in made:
        path.mkdir()
        for given in (path, path / "tasks", path / "cgroup.procs"):
            os.chown(given, owner[0].pw_uid, owner[0].pw_gid)
    yield made
    host.eventually(lambda: all(remove_group(path) for path in made))


def remove_group(path):
    with contextlib.suppress(OSError):
        path.rmdir()
    return not path.exists()


def test_limits_hold_in_a_group_of_the_users(owner, groups, start):
    def join():
        for path in groups:
            (path / "tasks").write_text("0")

    assert owner[0].pw_uid != owner[0].pw_gid
    daemon = start(preexec=join)
    session = daemon.client.spawn(limits={"memory_mb": 64, "checkpoint_mb": 64})
    assert session.exec("x = 42").status == "ok"
    made = daemon.client.call("POST", f"{session.path}/branch", {"count": 1})["sessions"]
    for one in (session, Session(daemon.client, Result(made[0]))):
        assert one.value("x") == "42"
        died = one.exec("b = bytearray(400 << 20)")
        assert died.status == "died" and died["error"]["name"] == "OutOfMemory", died
    daemon.process.terminate()  # stop() would miss the group that the daemon was started in
    assert daemon.process.wait(host.PATIENCE) == 0
    daemon.process.stdout.close()
    assert not [p for path in groups for p in path.iterdir() if p.is_dir()]


# Their files.


def test_files_come_and_go_through_the_daemon(start):
    daemon = start()
    session = daemon.client.spawn(checkpoints="every")
    session.put("given", b"by the caller")
    assert session.value("open('given').read()") == "'by the caller'"
    session.exec("import os; os.makedirs('d/e'); open('d/e/f', 'w').write('by the session'); "
                 "os.chmod('d/e/f', 0o600)")
    assert session.get("d/e/f").body == b"by the session"
    mine = owners(workspace(daemon, session))
    assert mine == {uid_of(daemon.head(session))}
    session.exec("os.remove('d/e/f')")
    daemon.client.call("POST", f"{session.path}/undo", {})
    assert session.value("open('d/e/f').read()") == "'by the session'"
    made = daemon.client.call("POST", f"{session.path}/branch", {"count": 1})["sessions"]
    branch = Session(daemon.client, Result(made[0]))
    assert branch.value("open('d/e/f').read()") == "'by the session'"
    branch.kill()
    session.kill()
    host.eventually(lambda: not workspace(daemon, branch).exists())
    host.eventually(lambda: not workspace(daemon, session).exists())


def saved_session(client):
    session = client.spawn()
    session.exec("import os; os.mkdir('d'); open('d/f', 'w').write('kept'); x = 42; "
                 "os.chmod('d/f', 0o600)", durable=True)
    return session


def test_a_killed_daemon_costs_no_file(owner, start):
    first = start()
    session = saved_session(first.client)
    unsaved = first.client.spawn(durable="off", checkpoints="off")
    unsaved.exec("import os; os.makedirs('d/e'); open('d/e/f', 'w'); os.chmod('d', 0)")
    lost = workspace(first, unsaved)
    processes, groups = first.tree(), host.cgroups(first.tree())
    first.kill()
    first.await_end_of_all(processes, groups)
    assert owners(lost) <= set(daemons.subids_of(owner[0]))
    second = start(first.data)
    again = find(second, session)
    assert again.value("x, open('d/f').read()") == "(42, 'kept')"
    assert uid_of(second.head(again)) in daemons.subids_of(owner[0])
    host.eventually(lambda: not lost.exists())


def kill_everything(daemon):
    """Nobody is left who could put anything in order."""
    processes, groups = daemon.tree(), host.cgroups(daemon.tree())
    for pid, _ in processes:
        os.kill(pid, signal.SIGSTOP)
    for pid, _ in processes:
        with contextlib.suppress(ProcessLookupError):  # the end of one is that of others
            os.kill(pid, signal.SIGKILL)
    daemon.kill()
    daemon.await_end_of_all(processes, groups)


def test_everything_that_is_left_can_be_erased(owner, start):
    daemon = start()
    session = saved_session(daemon.client)
    session.exec("import os; os.makedirs('a/b'); open('a/b/c', 'w'); os.chmod('a/b', 0); "
                 "os.chmod('a', 0)")
    kill_everything(daemon)
    assert owners(workspace(daemon, session)) & set(daemons.subids_of(owner[0]))
    done = cli(owner, "stop", "--data", str(daemon.data), "--erase")
    assert (done.returncode, done.stderr) == (0, ""), done
    assert not daemon.data.exists()


def test_a_running_daemon_is_stopped_before_it_is_erased(owner, start):
    daemon = start()
    saved_session(daemon.client)
    done = cli(owner, "stop", "--json", "--data", str(daemon.data), "--erase")
    assert json.loads(done.stdout) == {"stopped": True, "pid": daemon.pid,
                                       "erased": str(daemon.data)}
    assert daemon.process.wait(host.PATIENCE) == 0
    assert not daemon.data.exists()
    assert cli(owner, "stop", "--data", str(daemon.data), "--erase").returncode != 0


def test_only_a_data_directory_can_be_erased(owner):
    home = pathlib.Path(owner[0].pw_dir)
    done = cli(owner, "stop", "--data", str(home), "--erase")
    assert done.returncode != 0 and "not a data directory" in done.stderr
    assert (home / "program" / "cella").exists()


@pytest.mark.slow
def test_the_demonstration_leaves_nothing(owner, folder_of):
    done = cli(owner, "demo", env={"TMPDIR": str(folder_of)})
    assert done.returncode == 0, done.stderr
    assert list(folder_of.iterdir()) == []


@pytest.fixture
def folder_of(owner, start):
    """An empty directory of that user."""
    path = start.new_data()
    path.mkdir()
    os.chown(path, owner[0].pw_uid, owner[0].pw_gid)
    return path


def test_the_next_warden_has_the_same_ids(owner, start):
    daemon = start()
    session = saved_session(daemon.client)
    warden = daemon.warden()
    os.kill(warden, signal.SIGKILL)
    host.eventually(lambda: find_warden(daemon) not in (None, warden))
    host.eventually(lambda: session.client.request("POST", f"{session.path}/exec",
                                                   {"code": "1"}).status == 200)
    assert session.value("x, open('d/f').read()") == "(42, 'kept')"
    assert uid_of(daemon.head(session)) in daemons.subids_of(owner[0])


def find_warden(daemon):
    with contextlib.suppress(ValueError):
        return daemon.find_warden()


# Without.


def tools_that(folder, script):
    """An environment whose newuidmap does this."""
    for name in ("newuidmap", "newgidmap"):
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:{daemons.environment(None)['PATH']}"}


def assert_one_user(owner, daemon, *words):
    session = daemon.client.spawn()
    assert session.value("open('f', 'w').write('x')") == "1"
    assert uid_of(daemon.head(session)) == owner[0].pw_uid
    assert owners(workspace(daemon, session)) == {owner[0].pw_uid}
    for word in ("session_ids", *words):
        assert word in daemon.errors()


@pytest.mark.parametrize("script, words", [
    ("echo range refused >&2; exit 1", "newuidmap failed (range refused)"),
    ("exec sleep 1000", "newuidmap did not end"),
    ("exit 0", "cannot become root of the user namespace"),  # it says yes and does nothing
], ids=["refuses", "hangs", "lies"])
def test_without_the_tools_there_is_one_user(owner, start, folder_of, script, words):
    env = {**tools_that(folder_of, script), "CELLA_TEST_TIME_SCALE": "0.2"}
    assert_one_user(owner, start(env=env), words)
    if script != "exit 0":
        checks = json.loads(cli(owner, "doctor", "--json", env=env).stdout)["checks"]
        (check,) = [c for c in checks if c["name"] == "own user ids"]
        assert not check["ok"] and "usermod" in check["fix"]


def test_an_interpreter_that_others_may_not_read_leaves_one_user(owner, start, folder_of):
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", folder_of / "venv"],
                   check=True, **daemons.as_user(owner[0]))
    (folder_of / "venv").chmod(0o700)
    config = CONFIG + f"python: {folder_of}/venv/bin/python3\n"
    assert_one_user(owner, start(config=config), "may not be read by other users")


def test_files_from_before_there_was_a_range_are_handed_over(owner, start, folder_of):
    first = start(env=tools_that(folder_of, "exit 1"))
    session = saved_session(first.client)
    assert owners(workspace(first, session)) == {owner[0].pw_uid}
    first.stop()
    second = start(first.data)
    again = find(second, session)
    assert again.value("x, open('d/f').read()") == "(42, 'kept')"
    assert owners(workspace(second, session)) == {uid_of(second.head(again))}
    assert owner[0].pw_uid not in owners(workspace(second, session))


@pytest.mark.slow
def test_a_range_that_is_gone_costs_what_was_not_saved(owner, start, folder_of):
    first = start()
    session = saved_session(first.client)
    processes, groups = first.tree(), host.cgroups(first.tree())
    first.kill()
    first.await_end_of_all(processes, groups)
    env = tools_that(folder_of, "exit 1")
    second = start(first.data, env=env)
    again = find(second, session)
    assert again.value("x, open('d/f').read()") == "(42, 'kept')"
    assert uid_of(second.head(again)) == owner[0].pw_uid
    assert " workspaces belong to ids that this user had once" in second.errors()
    again.exec("open('d/g', 'w').write('more')", durable=True)
    second.stop()
    done = cli(owner, "stop", "--data", str(first.data), "--erase", env=env)
    assert done.returncode != 0 and "sudo rm -r" in done.stderr
    third = start(first.data)
    again = find(third, session)
    assert again.value("x, open('d/f').read(), open('d/g').read()") == "(42, 'kept', 'more')"
    host.eventually(lambda: not list((first.data / "workspaces").glob(".[of]*")))
