"""What a session could take from the host, or from others, past its limits."""

import os
import shutil
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from probes import PRELUDE

from harness import daemon as daemons
from harness import host

WRITE = """
import os, resource, signal, struct, time
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
def write(path, mb):
    # Lifts the soft limit again, as a hostile program would.
    fd, done = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), 0
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    while done < mb << 20:
        try: done += os.write(fd, bytes(1 << 20))
        except OSError: resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    return fd
"""


def run(session, code, timeout_ms=60_000):
    patient = session.patient(timeout_ms / 1000 + host.PATIENCE)
    return patient.exec(WRITE + textwrap.dedent(code), timeout_ms=timeout_ms)


def died_of_disk(result):
    return result.status == "died" and result["error"]["name"] == "DiskQuota"


@pytest.mark.needs_root("memory of sockets is limited by a cgroup only")
def test_socket_buffers_count_as_memory(spawn):
    """Version 1 of cgroups counts them apart."""
    session = spawn("min", limits={"memory_mb": 64})
    result = run(
        session,
        """
        import socket
        server, kept, total = socket.create_server(("127.0.0.1", 0)), [], 0
        for _ in range(60):
            client = socket.create_connection(server.getsockname())
            kept += [client, server.accept()[0]]
            client.setblocking(False)
            try:
                while True: total += client.send(bytes(1 << 20))
            except BlockingIOError: pass
        print(total >> 20)
        """,
    )
    assert result.status == "died" or int(result["stdout"]) < 64, result


def test_open_files_without_a_name_count_for_the_quota(spawn):
    session = spawn("min", limits={"disk_mb": 8})
    result = run(
        session,
        """
        kept = []
        for n in range(60):
            kept.append(write('f', 7)); os.unlink('f'); time.sleep(0.03)
        time.sleep(30)
        """,
    )
    assert died_of_disk(result), result


def test_mapped_files_without_a_name_count_for_the_quota(spawn):
    session = spawn("min", limits={"disk_mb": 8})
    result = run(
        session,
        """
        import ctypes  # because mmap.mmap() keeps the descriptor
        libc = ctypes.CDLL(None)
        libc.mmap.restype = ctypes.c_void_p
        for n in range(60):
            os.close(write('f', 7))
            fd = os.open('f', os.O_RDONLY)
            assert libc.mmap(None, ctypes.c_size_t(7 << 20), 1, 1, fd, ctypes.c_long(0)) % 4096 == 0
            os.close(fd); os.unlink('f'); time.sleep(0.03)
        time.sleep(30)
        """,
    )
    assert died_of_disk(result), result


def test_nothing_hides_behind_a_deep_directory(spawn):
    session = spawn("min", limits={"disk_mb": 8})
    result = run(
        session,
        """
        os.makedirs('a/' * 70)
        for n in range(40): os.mkdir(f'd{n}')
        for n in range(40): os.close(write(f'd{n}/f', 7)); time.sleep(0.03)
        time.sleep(30)
        """,
    )
    assert died_of_disk(result), result


def test_a_bottomless_directory_ends_its_session(spawn):
    session = spawn("min")
    result = run(
        session,
        """
        for n in range(600): os.mkdir('d'); os.chdir('d')
        time.sleep(20)
        """,
    )
    assert died_of_disk(result), result


@pytest.mark.slow
@pytest.mark.one_mode  # the keeper counts alike, whoever started it
def test_a_flood_of_empty_files_ends_its_session_with_a_large_quota_too(spawn):
    """Of names, which are quicker to make than files and count as much."""
    session = spawn("min")
    result = run(
        session,
        """
        for n in range(300):
            os.mkdir(f'd{n}')
            if n % 50 == 0: os.close(os.open(f'f{n}', os.O_CREAT | os.O_WRONLY))
            for i in range(1000): os.link(f'f{n - n % 50}', f'd{n}/{i}')
        time.sleep(120)
        """,
        timeout_ms=240_000,  # to make 300 000 names takes 5 s, or 50 on a busy machine
    )
    assert died_of_disk(result), result


@pytest.mark.one_mode  # the keeper counts alike, whoever started it
def test_the_quota_holds_while_the_workspace_of_another_is_removed(client, spawn):
    big, small = spawn("min"), spawn("min", limits={"disk_mb": 8})
    run(big, "for n in range(60): os.mkdir(f'd{n}')\n"
             "for n in range(60000): os.close(os.open(f'd{n % 60}/{n}', os.O_CREAT | os.O_WRONLY))")
    client.request("DELETE", big.path)
    result = run(small, "for n in range(40): os.close(write(f'f{n}', 7)); time.sleep(0.02)\n"
                        "time.sleep(30)")
    assert died_of_disk(result), result


@pytest.mark.one_mode  # the keeper's clock, whoever started it
@pytest.mark.slow
def test_a_head_that_pretends_to_rest_is_held_to_its_quota(daemon, spawn, client):
    """Also while somebody else leaves more room on the disk than it takes."""
    left = 1200 << 20
    with (daemon.data / "ballast").open("wb") as ballast:
        os.posix_fallocate(ballast.fileno(), 0, left)
        session = spawn("min", limits={"disk_mb": 8}, checkpoints="off", durable="off")
        result = run(
            session,
            """
            verdict = b'{"ev":"done","id":1,"status":"ok","value":null,"error":null}'
            os.write(3, struct.pack('<I', len(verdict)) + verdict)
            for n in range(16):
                time.sleep(1)
                os.close(write(f'f{n}', 7))
            time.sleep(60)
            """,
        )
        assert result.status == "ok"
        while client.call("GET", session.path)["state"] != "dead":
            assert left > 0, "it was not found in a minute"
            time.sleep(0.5)
            left -= 10 << 20
            ballast.truncate(left)


def test_half_a_frame_is_not_kept_for_a_head_that_rests(daemon, spawn, client):
    session = spawn("min", checkpoints="off", durable="off")
    before = daemon.heap_bytes()
    session.exec(PRELUDE + textwrap.dedent("""
        import threading, time
        def talk():
            while not os.path.exists('at-rest'): time.sleep(0.01)
            os.write(3, struct.pack('<I', 64 << 20))
            for _ in range(63): os.write(3, bytes(1 << 20))
        threading.Thread(target=talk).start()
        """))
    session.put("at-rest", b"")  # its answer may come after the end
    host.eventually(lambda: client.call("GET", session.path)["state"] == "dead", what="its end")
    assert daemon.heap_bytes() - before < 1_000_000


@pytest.mark.one_mode
@pytest.mark.slow
def test_the_memory_of_large_frames_is_given_back(daemon, spawn):
    session = spawn("min")
    before = daemon.heap_bytes()
    result = run(
        session,
        """
        import json
        output = {"type": "text", "text": chr(1) * (10 << 20)}
        frame = json.dumps({"ev": "display", "id": 1, "output": output}).encode()
        for _ in range(3):
            data = memoryview(struct.pack('<I', len(frame)) + frame)
            while data: data = data[os.write(3, data):]
            os.read(3, 100)
        """,
    )
    assert result.status == "ok", result
    assert daemon.heap_bytes() - before < 5_000_000


FLOOD = PRELUDE + """
import threading, time
begun = time.monotonic()
end, answers = begun + 2, []
def ask():
    while time.monotonic() < end:
        try: call(272, 0x10000000)
        except OSError as error: answers.append(error.errno)
threads = [threading.Thread(target=ask) for _ in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(answers), time.monotonic() - begun, set(answers) == {errno.EPERM})
"""


def test_denied_calls_without_end_slow_down_only_who_makes_them(daemon, session, witness):
    before = host.waits(daemon.pid)
    result = session.exec(FLOOD, timeout_ms=60_000)
    wake_ups = host.waits(daemon.pid) - before
    count, seconds, all_refused = result["stdout"].split()
    assert all_refused == "True"
    pace = 64 + 100 * (float(seconds) + 1)  # a hundred each second, after a few at once
    assert 64 <= int(count) <= pace
    assert result["denied"] == [{"call": "unshare", "count": int(count)}]
    assert wake_ups < int(count) + 200, "the daemon works for those that it answers"


def test_a_cell_that_waits_for_denied_calls_can_be_interrupted(session):
    result = session.exec(FLOOD.replace("begun + 2", "begun + 3600"), timeout_ms=1500)
    assert result.status in ("timeout", "died"), result


# Pictures lie in the data directory, outside of the sandbox and its quota.

PICTURES = """
import os
from IPython.display import Image, clear_output, display
def picture(mb=1):
    return Image(data=b"\\x89PNG\\r\\n\\x1a\\n" + os.urandom(mb << 20), format="png")
"""


@pytest.fixture
def painter(launch):
    """A session that may write 8 MB, and what its pictures take."""
    daemon = launch(config="default_profile: min\npool: 1\n")
    session = daemon.client.spawn(limits={"disk_mb": 8})
    session.exec(PICTURES)

    def taken():
        return sum(path.stat().st_size for path in daemon.data.glob("blobs/??/*")) >> 20

    return session, taken


def outputs(session, cell="-1"):
    return session.client.call("GET", f"/v1/notebooks/{session.id}/cells/{cell}").outputs


@pytest.mark.one_mode
def test_pictures_are_within_the_disk_that_a_session_has(painter):
    session, taken = painter
    for _ in range(3):
        session.exec("for _ in range(8): display(picture())")
    assert taken() <= 9
    kept = [o for cell in (1, 2, 3) for o in outputs(session, cell)]
    assert [o["type"] for o in kept] == ["image"] * 7 + ["text"] * 17
    assert "the notebook has as many bytes of images as it may, 8 MiB" in kept[-1]["text"]


@pytest.mark.one_mode
def test_what_is_deleted_gives_its_bytes_back(painter):
    session, _ = painter
    session.exec("for _ in range(9): display(picture())")
    assert outputs(session)[-1]["type"] == "text"
    session.client.call("POST", f"/v1/notebooks/{session.id}/cells/1/clear", {})

    def is_kept():
        session.exec("display(picture())")
        return outputs(session)[0]["type"] == "image"

    host.eventually(is_kept)  # a full notebook is not counted anew with every picture


@pytest.mark.one_mode
@pytest.mark.slow
def test_pictures_that_replace_each_other_go_on(painter):
    """What is cleared is removed from the disk some minutes later: twice the quota until then."""
    session, taken = painter
    session.exec("for _ in range(12): clear_output(wait=True); display(picture())")
    assert [o["type"] for o in outputs(session)] == ["image"]
    session.exec("for _ in range(40): clear_output(wait=True); display(picture())")
    assert [o["type"] for o in outputs(session)] == ["text"]
    assert taken() <= 17


@pytest.mark.one_mode
def test_the_configuration_may_allow_less(launch):
    daemon = launch(config="default_profile: min\npool: 1\nnotebook: {max_pictures_mb: 2}\n")
    session = daemon.client.spawn()
    session.exec(PICTURES)
    session.exec("for _ in range(4): display(picture())")
    assert [o["type"] for o in outputs(session)] == ["image", "text", "text", "text"]


@pytest.mark.one_mode
@pytest.mark.slow
def test_pictures_from_before_a_restart_count(launch):
    daemon = launch(config="default_profile: min\npool: 1\n")
    session = daemon.client.spawn(limits={"disk_mb": 4})
    session.exec(PICTURES)
    session.exec("for _ in range(3): display(picture())", durable=True)
    daemon.stop()
    again = launch(data=daemon.data, config="default_profile: min\npool: 1\n")
    session = type(session)(again.client, session.spawned)
    session.exec(PICTURES + "for _ in range(3): display(picture())")
    assert [o["type"] for o in outputs(session)] == ["text"] * 3


@pytest.mark.needs_user("sessions of root's daemon have users of their own")
def test_without_room_for_epoll_watches_the_daemon_goes_on(cella, launch, folder):
    """The kernel counts them for each user, so sessions of an ordinary user's daemon can use all of
    them up. The limit is the whole host's, so here the daemon is only told that it is reached."""
    if daemons.is_sanitized(cella):
        pytest.skip("the sanitizer wants to be loaded first")
    library = shutil.copy(cella.parent / "tests" / "escape" / "libno_watches.so", folder)
    flag = folder / "full"
    daemon = launch(config="default_profile: min\n",
                    env={"LD_PRELOAD": library, "CELLA_TEST_NO_WATCHES": str(flag)})
    session = daemon.client.spawn("min", checkpoints="every")
    assert session.exec("x = 1").status == "ok"
    flag.touch()
    assert session.value("x + 1") == "2"
    flood = session.exec("import time\nfor n in range(40): print('y' * 10_000); time.sleep(0.05)")
    assert flood.status == "ok" and len(flood["stdout"]) > 1000
    daemon.client.call("POST", f"{session.path}/undo", {"to": 1})
    assert session.value("x") == "1"
    assert daemon.client.spawn("min").value("6 * 7") == "42"
    with pytest.raises(OSError):  # a connection that cannot be watched is turned away
        type(daemon.client)(daemon.client.address, daemon.client.key).request("GET", "/health")
    flag.unlink()
    other = type(daemon.client)(daemon.client.address, daemon.client.key)
    assert other.request("GET", "/health").status == 200
    assert session.value("x") == "1"


HALF_A_FRAME = """
    import os, struct, time
    left = memoryview(struct.pack('<I', 60 << 20) + b'x' * (58 << 20))
    while left: left = left[os.write(3, left[:1 << 20]):]
    time.sleep(1000)
    """


@pytest.mark.one_mode
def test_frames_that_never_end_have_a_budget_for_all(daemon, spawn, witness):
    """It is the daemon's memory. The largest ends first."""
    sessions = [spawn("min", checkpoints="off", durable="off") for _ in range(6)]
    with ThreadPoolExecutor() as pool:
        limit_ms = int(host.PATIENCE * 1000)
        cells = [pool.submit(s.exec, HALF_A_FRAME, timeout_ms=limit_ms) for s in sessions]
        host.eventually(lambda: any(c.done() for c in cells))
        first = next(c for c in cells if c.done()).result()
        assert first.status == "died" and "memory" in first["error"]["message"], first
        assert witness.value("secret") == "'kept'"
        assert daemon.heap_bytes() < 300 << 20
        for session in sessions:
            session.kill()
