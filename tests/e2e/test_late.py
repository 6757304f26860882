"""Output that comes after the answer of its cell; the names of a busy session."""

import concurrent.futures

import pytest

from harness import host

LATE = {
    "python": ("""
        import threading, time
        def late():
            while not done: time.sleep(0.01)
            print('from a thread')
        done = []
        threading.Thread(target=late).start()
        """, "done.append(1)"),
    "bash": ("(while ! test -e go; do sleep 0.01; done; echo from a thread) &", "touch go"),
    "node": ("var done = false; var t = setInterval(() => { if (done) { "
             "clearInterval(t); console.log('from a thread') } }, 5); 0", "done = true"),
}


@pytest.mark.smoke
@pytest.mark.parametrize("runtime", LATE)
def test_output_after_the_end_of_a_cell_is_told_once(spawn_runtime, runtime):
    start, go = LATE[runtime]
    session = spawn_runtime(runtime)
    assert "late" not in session.exec(start)
    session.exec(go)
    host.eventually(lambda: "from a thread" in str(session.output()))
    late = session.exec("1" if runtime != "bash" else "true")["late"]
    assert [(e["number"], e["stdout"]) for e in late] == [(1, "from a thread\n")]
    assert "late" not in session.exec("1" if runtime != "bash" else "true")


@pytest.mark.one_mode
def test_much_late_output_is_cut(spawn):
    session = spawn()
    session.exec("import subprocess; p = subprocess.Popen('while ! test -e go; do sleep 0.1; done; "
                 "seq 100000; touch end', shell=True)")
    session.exec("open('go', 'w')")
    host.eventually(lambda: session.get("end").status == 200)
    late = session.exec("p.wait()")["late"]
    assert late[0]["stdout"].endswith("99999\n100000\n") and len(late[0]["stdout"]) <= 2000
    assert late[0]["omitted_bytes"] > 500_000


@pytest.mark.one_mode
def test_the_names_of_a_busy_session(spawn):
    session = spawn()
    session.exec("x = 1; y = [1]")
    session.exec("del y; z = 2")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        busy = pool.submit(session.exec, "import signal\nwhile True: signal.pause()",
                           timeout_ms=3_600_000)
        host.eventually(lambda: session.info().state == "busy")
        names = session.client.call("GET", f"{session.path}/names")
        assert names["busy"] and names["as_of"] == 2
        assert {item["name"] for item in names["items"]} == {"x", "z"}, names
        host.eventually(session.interrupt)
        busy.result()
