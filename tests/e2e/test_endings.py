"""How sessions end: what is asked to end first, and what can be read of a dead one."""

import concurrent.futures
import os

import pytest

from harness import host
from harness.client import ApiError

MIN = "default_profile: min\n"
TRAPS = ("import subprocess; p = subprocess.Popen(\"trap 'echo bye > {0}; exit' TERM; touch ready; "
         "while :; do sleep 0.02; done\", shell=True)")


@pytest.mark.one_mode
def test_a_session_at_work_ends_when_its_processes_have(launch):
    daemon = launch(config=MIN + "kill_grace_ms: 60000\n")
    session = daemon.client.spawn("min")
    session.exec(TRAPS.format("said"))
    host.eventually(lambda: session.get("ready").status == 200)
    session.rest()
    session.kill()  # before the minute is over, or the client gives up
    daemon.stop()


@pytest.mark.one_mode
def test_who_does_not_end_is_killed(launch):
    daemon = launch(config=MIN + "kill_grace_ms: 100\n")
    session = daemon.client.spawn("min")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        busy = pool.submit(session.exec, "import signal\nsignal.signal(15, signal.SIG_IGN)\n"
                                         "while True: signal.pause()", timeout_ms=3_600_000)
        host.eventually(lambda: session.info().state == "busy")
        session.kill()
        assert busy.result()["error"]["name"] == "Killed"
    with pytest.raises(ApiError):
        session.info()
    daemon.stop()


def test_the_files_of_a_dead_session_can_be_read(spawn):
    session = spawn(max_age_secs=4, durable="off", checkpoints="off")
    session.exec("open('data.txt', 'w').write('precious')")
    host.eventually(lambda: session.info().state == "dead")
    assert session.get("data.txt").body == b"precious"
    assert session.put("data.txt", b"x").status == 410
    cells = session.client.call("GET", f"/v1/notebooks/{session.id}")
    assert "precious" in str(cells)
    session.kill()
    assert session.get("data.txt").status == 404


@pytest.mark.one_mode
def test_the_files_of_a_dead_session_go_after_an_hour(launch):
    daemon = launch(config=MIN, env={"CELLA_TEST_TIME_SCALE": "0.0003"})  # about a second
    session = daemon.client.spawn("min", max_age_secs=4, durable="off", checkpoints="off")
    session.exec("open('data.txt', 'w').write('precious')")
    host.eventually(lambda: session.get("data.txt").status == 404)
    with pytest.raises(ApiError) as gone:
        session.info()
    assert gone.value.status == 404
    host.eventually(lambda: not any("data.txt" in files for _, _, files in os.walk(daemon.data)))
    daemon.stop()
