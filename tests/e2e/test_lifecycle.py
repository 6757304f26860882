"""The daemon's life: start, stop, sudden death, restart, and what is left behind: nothing."""

import json
import os
import signal
import socket
import subprocess
import threading
import time

import pytest

from harness import host
from harness.client import ApiError, Client
from harness.daemon import StartFailed, as_user, environment

pytestmark = pytest.mark.privilege

MIN = "default_profile: min\n"
BUSY = """
import os, signal, subprocess
for n in range(5): subprocess.Popen(['sleep', '1000'], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    if os.fork(): os._exit(0)
    for n in set(range(1, 65)) - {9, 19, 32, 33}: signal.signal(n, signal.SIG_IGN)
    while True: signal.pause()
"""


@pytest.mark.smoke
def test_sigterm_ends_everything_with_status_0(launch):
    daemon = launch(config=MIN)
    sessions = [daemon.client.spawn("min") for _ in range(5)]
    for session in sessions:
        session.exec(BUSY)
    daemon.stop()  # asserts that nothing is left


@pytest.mark.smoke
def test_sigint_does_the_same(launch):
    daemon = launch(config=MIN)
    daemon.client.spawn("min")
    tree = daemon.tree()
    daemon.process.send_signal(signal.SIGINT)
    assert daemon.process.wait(host.PATIENCE) == 0
    assert not host.alive(tree)  # at once: it waited for them


@pytest.mark.smoke
def test_sigterm_while_a_cell_runs_answers_its_caller(launch):
    daemon = launch(config=MIN)
    session = daemon.client.spawn("min")
    outcome = []

    def run():
        try:
            outcome.append(session.exec("import signal\nwhile True: signal.pause()"))
        except (ApiError, OSError) as error:
            outcome.append(error)

    cell = threading.Thread(target=run)
    cell.start()
    host.eventually(lambda: session.info().state == "busy")
    daemon.stop()
    cell.join(host.PATIENCE)
    (answer,) = outcome
    assert isinstance(answer, ApiError) or answer["status"] == "died", answer


@pytest.mark.smoke
def test_sigterm_with_idle_connections_does_not_wait(launch):
    daemon = launch(config=MIN)
    idle = [daemon.client.connect() for _ in range(20)]
    daemon.stop()
    for sock in idle:
        sock.close()


@pytest.mark.slow
def test_kill_9_of_the_daemon_leaves_nothing(launch):
    daemon = launch(config=MIN)
    for _ in range(5):
        daemon.client.spawn("min").exec(BUSY)
    tree = daemon.tree()
    groups = host.cgroups(tree)
    assert len(tree) > 30
    daemon.kill()
    daemon.await_end_of_all(tree, groups)


def test_kill_9_while_sessions_are_being_made_leaves_nothing(launch):
    daemon = launch(config=MIN + "pool: 0\n")
    seen, stop = set(), threading.Event()

    def spawn_forever():
        client = Client(daemon.address, daemon.key())
        while not stop.is_set():
            try:
                client.spawn("min")
            except (ApiError, OSError):
                return

    threads = [threading.Thread(target=spawn_forever) for _ in range(3)]
    for thread in threads:
        thread.start()
    host.eventually(lambda: len(daemon.tree()) > 40)
    seen = daemon.tree()
    groups = host.cgroups(seen)
    daemon.kill()
    stop.set()
    for thread in threads:
        thread.join()
    daemon.await_end_of_all(seen, groups)


def kill_warden(daemon):
    """Returns when all that it had is gone."""
    warden = daemon.find_warden()
    below = host.tree(warden)
    os.kill(warden, signal.SIGKILL)
    host.eventually(lambda: not host.alive(below), what="the end of the warden and its jails")


def can_spawn(daemon):
    try:
        return daemon.client.spawn("min").value("2") == "2"
    except ApiError as error:
        assert error.status == 503, error
        return False


def has_file(folder, name):
    """Of one from which folders vanish meanwhile."""
    return any(name in files for _, _, files in os.walk(folder))


def test_the_end_of_the_warden_is_repaired(launch):
    """Cells end, with a certificate; the daemon lives, a new warden serves new sessions, and those
    that were saved come back."""
    daemon = launch(config=MIN)
    saved = daemon.client.spawn("min")
    saved.exec("x = 41; open('kept', 'w').write('!')", durable=True)
    session = daemon.client.spawn("min", checkpoints="off", durable="off")
    session.exec(BUSY)
    session.exec("open('left-behind', 'w').close()")
    answers = []
    endless = "import signal\nwhile True: signal.pause()"
    cell = threading.Thread(target=lambda: answers.append(session.exec(endless)))
    cell.start()
    host.eventually(lambda: session.info().state == "busy")
    kill_warden(daemon)
    cell.join(host.PATIENCE)
    (answer,) = answers
    assert (answer.status, answer.error.name) == ("died", "SandboxLost"), answer
    host.eventually(lambda: can_spawn(daemon), "a new warden")
    host.eventually(lambda: not has_file(daemon.data, "left-behind"), "the end of its files")
    assert saved.value("x, open('kept').read()") == "(41, '!')"
    daemon.stop()  # asserts that nothing is left


@pytest.mark.slow
def test_a_warden_that_ends_again_and_again_is_the_end_of_all(launch):
    """Without a warden the daemon can make no promise, so it ends, and loudly."""
    daemon = launch(config=MIN + "pool: 0\n")
    tree = set()
    for n in range(5):
        tree |= daemon.tree()
        kill_warden(daemon)
        if n < 4:
            host.eventually(lambda: host.find_by_name(daemon.tree(), "cella-keeper"))
    host.eventually(lambda: not daemon.is_running(), what="the end of the daemon")
    assert daemon.process.returncode != 0
    assert "warden" in daemon.errors()
    host.eventually(lambda: not host.alive(tree))


def test_the_end_of_a_zygote_is_repaired(launch):
    daemon = launch(config=MIN + "pool: 0\n")
    session = daemon.client.spawn("min")
    session.exec("x = 1")
    os.kill(zygote_of(daemon), signal.SIGKILL)
    assert session.value("x") == "1"

    host.eventually(lambda: can_spawn(daemon), "a new zygote")


def zygote_of(daemon):
    """The Python in the warden's pid namespace; those of sessions are one level deeper."""
    (pid,) = [
        pid for pid, _ in daemon.tree()
        if "zygote.py" in host.read(f"/proc/{pid}/cmdline") and host.pid_depth(pid) == 2
    ]
    return pid


@pytest.mark.slow
def test_a_restart_on_the_same_data_directory_works(launch):
    data = launch.new_data()
    first = launch(data=data, config=MIN)
    first.client.spawn("min").exec("open('/workspace/f', 'w').write('x')")
    first.stop()
    second = launch(data=data, config=MIN)
    assert second.client.spawn("min").value("1") == "1"


def test_a_restart_after_kill_9_works_and_cleans_up(launch):
    data = launch.new_data()
    first = launch(data=data, config=MIN)
    first.client.spawn("min").exec("open('/workspace/left-behind', 'w').write('x')")
    tree = first.tree()
    first.kill()
    host.eventually(lambda: not host.alive(tree))
    second = launch(data=data, config=MIN)
    assert second.client.spawn("min").value("1") == "1"
    host.eventually(lambda: not has_file(data, "left-behind"), "the end of its files")


def test_two_daemons_on_one_data_directory_are_refused(launch):
    first = launch(config=MIN)
    with pytest.raises(StartFailed) as caught:
        launch(data=first.data, config=MIN)
    assert caught.value.status not in (None, 0)
    assert str(first.data) in caught.value.stderr
    assert first.client.spawn("min").value("1") == "1"
    assert first.unix_client().spawn("min").value("1") == "1"


def test_a_busy_port_is_refused(launch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = "127.0.0.1:%d" % taken.getsockname()[1]
        with pytest.raises(StartFailed) as caught:
            launch(config=MIN, listen=address)
    assert caught.value.status not in (None, 0)
    assert address in caught.value.stderr


@pytest.mark.one_mode
@pytest.mark.parametrize("listen", ["", "nonsense", "127.0.0.1", "127.0.0.1:99999", "127.0.0.1:x"])
def test_an_address_that_is_none_is_refused(launch, listen):
    with pytest.raises(StartFailed) as caught:
        launch(config=MIN, listen=listen or ":")
    assert caught.value.status not in (None, 0)
    assert caught.value.stderr.strip()


@pytest.mark.one_mode
def test_a_data_directory_that_cannot_be_is_refused(launch):
    for bad in ("/proc/nowhere", "/dev/null/data"):
        with pytest.raises(StartFailed) as caught:
            launch(args=["--data", bad], config=MIN)
        assert bad.split("/")[1] in caught.value.stderr


def test_the_daemon_of_root_keeps_no_privilege(daemon):
    status = host.read(f"/proc/{daemon.pid}/status")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert int(fields["CapEff"], 16) == 0
    assert int(fields["CapPrm"], 16) == 0
    assert "0" not in fields["Uid"].split()


def test_no_python_of_ours_is_root_on_the_host(daemon, session):
    session.exec("1")
    for pid, _ in daemon.tree():
        status = host.read(f"/proc/{pid}/status")
        if "Name:\tpython" in status:
            uids = status.split("Uid:\t")[1].split("\n")[0].split()
            assert "0" not in uids, status


def test_an_idle_daemon_sleeps(launch):
    """No timers: the switches of the daemon do not grow while nobody asks for anything."""
    daemon = launch(config=MIN)
    daemon.client.spawn("min").exec("1")
    daemon.client.close()

    def switches():
        return sum(
            int(line.split()[1])
            for pid, _ in daemon.tree()
            for line in host.read(f"/proc/{pid}/status").splitlines()
            if line.startswith("voluntary_ctxt_switches")
        )

    def is_asleep():
        before = switches()
        time.sleep(1.0)  # what must not happen takes time to see
        return switches() == before

    host.eventually(is_asleep, "a second without a wake-up")


@pytest.mark.slow
def test_a_thousand_requests_leave_no_descriptor(launch):
    """Of a daemon without a pool, which would fill meanwhile, and without checkpoints, which have
    a socket each."""
    daemon = launch(config=MIN + "pool: 0\n")
    session = daemon.client.spawn("min", checkpoints="off", durable="off")
    session.exec("1")
    before = host.at_rest(lambda: host.fd_count(daemon.pid))
    for _ in range(1000):
        client = Client(daemon.address, daemon.key())
        client.request("GET", "/health")
        client.close()
    host.eventually(lambda: host.fd_count(daemon.pid) < before + 100)


# doctor


def run_doctor(launcher, *args, **env):
    return subprocess.run(
        [launcher.binary, "doctor", *args], capture_output=True, text=True, cwd="/",
        env={**environment(launcher.user), **env}, timeout=host.PATIENCE,
        **(as_user(launcher.user) if launcher.user else {}),
    )


def test_doctor_explains_every_mechanism(launcher):
    done = run_doctor(launcher)
    assert done.returncode == 0
    for word in ("user namespaces", "seccomp", "Landlock", "memory"):
        assert word.lower() in done.stdout.lower(), word
    assert done.stdout.count("why:") >= 6


def test_doctor_json(launcher):
    report = json.loads(run_doctor(launcher, "--json").stdout)
    assert report["can_run_code"] is True
    for check in report["checks"]:
        assert set(check) == {"name", "ok", "required", "detail", "why", "fix"}
        assert check["why"]
        assert check["ok"] or check["fix"]


@pytest.mark.needs_user("root has all of them")
def test_doctor_says_which_limits_an_ordinary_user_lacks(launcher):
    report = json.loads(run_doctor(launcher, "--json").stdout)
    missing = [c for c in report["checks"] if not c["ok"]]
    assert any("memory" in c["name"] or "cgroup" in c["name"] for c in missing)


@pytest.mark.one_mode
def test_doctor_leaves_nothing(launcher, folder):
    groups, mounts = cgroup_directories(), host.read("/proc/self/mountinfo")
    assert run_doctor(launcher, TMPDIR=str(folder)).returncode == 0
    assert list(folder.iterdir()) == []
    assert not [g for g in cgroup_directories() - groups if "doctor" in g]
    assert host.read("/proc/self/mountinfo") == mounts


def cgroup_directories():
    return {e.path for m in host.cgroup_mounts().values() for e in os.scandir(m) if e.is_dir()}
