"""Time in sessions of bash and Node.js: undone, brought back after a crash and after a restart."""

import pytest

from harness import host
from harness.client import Result, Session

pytestmark = pytest.mark.release

MIN = "default_profile: min\n"
KILLED = {"bash": "kill -9 $BASHPID", "node": "process.kill(process.pid, 'SIGKILL')"}


def sleeps(session, number):
    """Waits until the checkpoint is known to everybody."""
    def is_asleep():
        listed = session.checkpoints()["checkpoints"]
        return any(one["id"] == number and one["restore"] == "process" for one in listed)

    host.eventually(is_asleep)


def undo(session, to):
    return session.client.call("POST", f"{session.path}/undo", {"to": to})


@pytest.mark.smoke
def test_bash_is_undone(spawn_runtime):
    session = spawn_runtime("bash", checkpoints="every")
    session.exec("x=1; f() { echo f; }; echo a >file; printf '1\\n2\\n' >lines; exec 5<lines")
    session.exec("sleep 1000 & trap 'echo usr' USR1")
    sleeps(session, 2)
    session.exec("read y <&5; x=2; unset -f f; echo b >>file; sleep 2000 & rm lines; cd /tmp")
    answer = undo(session, 2)
    assert (answer.restored_from, answer.ended_processes) == ("checkpoint", 1)
    assert [note["what"] for note in answer["not_undone"]] == ["process"]
    out = session.out("echo $x; f; cat file; pwd; read y <&5; echo $y")
    assert out == "1\nf\na\n/workspace\n1\n"
    assert session.out("jobs -r; kill -USR1 $$; kill %1; wait %1; echo $?").splitlines() == [
        "[1]+  Running                 sleep 1000 &", "usr", "127",
    ]  # fmt: skip


@pytest.mark.smoke
@pytest.mark.one_mode
def test_branches_of_bash_share_nothing(spawn_runtime, client):
    session = spawn_runtime("bash", checkpoints="every")
    session.exec("x=1; printf '1\\n2\\n' >in; exec 5<in 6>>out; echo a >&6; sleep 1000 & :")
    made = client.call("POST", f"{session.path}/branch", {"count": 2})["sessions"]
    branches = [Session(client, Result(one)) for one in made]
    for number, branch in enumerate(branches):
        code = f"x=$((x + {number + 1})); read y <&5; echo {number} >&6"
        out = branch.out(f"{code}; echo $x $y; cat out; jobs -r")
        assert out == f"{number + 2} 1\na\n{number}\n"
    assert session.out("echo $x; read y <&5; echo $y; cat out; jobs -r | wc -l") == "1\n1\na\n1\n"
    for branch in branches:
        branch.kill()


@pytest.mark.smoke
@pytest.mark.one_mode
def test_a_crash_of_bash_costs_its_cell(spawn_runtime):
    session = spawn_runtime("bash", checkpoints="every")
    session.exec("declare -A seen=([a]=1); n=1")
    answer = session.exec(f"n=2; {KILLED['bash']}")
    assert (answer.status, answer.rolled_back_to, answer.rolled_back_cells) == ("died", 1, [2])
    assert session.out("echo $n ${seen[a]}; (exit 3); echo $?") == "1 1\n3\n"


@pytest.mark.smoke
@pytest.mark.one_mode
def test_node_comes_back_from_its_saved_copy(spawn_runtime):
    session = spawn_runtime("node")
    session.exec("class Point { constructor(x) { this.x = x } twice() { return this.x * 2 } }")
    code = "const p = new Point(3), list = [p], later = Promise.resolve(1); let n = 1"
    answer = session.exec(code, durable=True)
    assert answer.saved_through == 2
    answer = session.exec(f"n = 2; {KILLED['node']}")
    assert (answer.status, answer.restored_from) == ("died", "durable")
    code = "[n, p.twice(), list[0] === p, typeof later]"
    assert session.value(code) == "[ 1, 6, true, 'undefined' ]"


@pytest.mark.one_mode
@pytest.mark.slow
def test_both_outlive_the_daemon(launch):
    daemon = launch(config=MIN)
    cells = {
        "bash": ("x=(1 2); f() { echo f$1; }", "f ${x[1]}", "f2\n"),
        "node": ("const m = new Map([[1, (x) => x + 1]])", "console.log(m.get(1)(1))", "2\n"),
    }
    sessions = {}
    for runtime, (code, _, _) in cells.items():
        spawned = daemon.client.call("POST", "/v1/sessions", {"runtime": runtime})
        session = Session(daemon.client, spawned)
        assert session.exec(code, durable=True).saved_through == 1
        sessions[runtime] = session.id
    daemon.kill()
    again = launch(data=daemon.data, config=MIN)
    for runtime, (_, check, out) in cells.items():
        path = f"/v1/sessions/{sessions[runtime]}/exec"
        answer = again.client.call("POST", path, {"code": check})
        assert (answer.status, answer.stdout) == ("ok", out), answer
