"""Sessions of several runtimes in one sandbox; where sessions begin and when they end."""

import pytest

from harness import host
from harness.client import ApiError

pytestmark = pytest.mark.privilege

RUNTIMES = ["python", "node", "bash"]
WRITE = {
    "python": "n = open('shared', 'w').write('from python')",
    "node": "require('fs').writeFileSync('shared', 'from node')",
    "bash": "printf 'from bash' > shared",
}
READ = {
    "python": "print(open('shared').read(), end='')",
    "node": "process.stdout.write(require('fs').readFileSync('shared', 'utf8')); undefined",
    "bash": "cat shared",
}


@pytest.mark.parametrize("guest", RUNTIMES)
@pytest.mark.parametrize("host_runtime", RUNTIMES)
@pytest.mark.sampled(3)
def test_a_session_joins_another_and_shares_its_files(spawn_runtime, host_runtime, guest):
    one = spawn_runtime(host_runtime)
    two = spawn_runtime(guest, join=one.id)
    assert two.info().joined == one.id
    assert one.exec(WRITE[host_runtime]).status == "ok"
    assert two.exec(READ[guest])["stdout"] == f"from {host_runtime}"


@pytest.mark.smoke
def test_those_who_share_a_sandbox_share_its_network(spawn_runtime):
    one = spawn_runtime("node")
    two = spawn_runtime("bash", join=one.id)
    port = one.value("const server = require('net').createServer(s => s.end('hello from node'))\n"
                     "await new Promise(r => server.listen(0, '127.0.0.1', r)); "
                     "server.address().port")
    assert two.out(f"cat < /dev/tcp/127.0.0.1/{port}") == "hello from node"


@pytest.mark.smoke
def test_a_sandbox_lasts_as_long_as_one_of_its_sessions(spawn_runtime):
    one = spawn_runtime("python")
    two = spawn_runtime("bash", join=one.id)
    one.exec(WRITE["python"])
    one.kill()
    assert two.exec(READ["bash"])["stdout"] == "from python"


@pytest.mark.smoke
@pytest.mark.needs_root("an ordinary user may not limit memory")
def test_what_ended_one_is_not_what_ends_the_other(spawn_runtime):
    one = spawn_runtime("python", limits={"memory_mb": 64})
    two = spawn_runtime("bash", join=one.id)
    assert one.exec("x = bytearray(200 << 20)").error.name == "OutOfMemory"
    assert two.exec("kill -9 $$").error.name == "Killed"


@pytest.mark.smoke
def test_an_interrupt_reaches_one_of_those_who_share_a_sandbox(spawn_runtime):
    one = spawn_runtime("bash")
    two = spawn_runtime("python", join=one.id)
    running = two.exec("import time; time.sleep(60)", yield_ms=50)
    assert one.interrupt() is False
    assert two.interrupt() is True
    path = f"{two.path}/exec/{running.number}/continue"
    assert two.client.call("POST", path, {}).status == "interrupted"


@pytest.mark.parametrize(
    "members, status",
    [
        ({"join": "00000000-0000-4000-8000-000000000000"}, 404),
        ({"cwd": "../outside"}, 400),
        ({"cwd": "/etc"}, 400),
        ({"env": {"1BAD": "x"}}, 400),
        ({"env": {"A=B": "x"}}, 400),
        ({"env": {"BIG": "x" * 70_000}}, 400),
        ({"env": "A=1"}, 400),
        ({"idle_timeout_secs": -1}, 400),
    ],
)
def test_a_beginning_that_cannot_be(client, members, status):
    with pytest.raises(ApiError) as caught:
        client.call("POST", "/v1/sessions", {"runtime": "bash", **members})
    assert caught.value.status == status and caught.value.message


def test_limits_belong_to_the_sandbox_not_to_those_who_join_it(spawn_runtime, client):
    one = spawn_runtime("bash")
    with pytest.raises(ApiError) as caught:
        spawn_runtime("bash", join=one.id, limits={"memory_mb": 64})
    assert caught.value.status == 400


def state_of(session):
    """Without a call to the session itself, which would be use."""
    (found,) = [s for s in session.client.sessions() if s.session_id == session.id]
    return found.state


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_session_that_nobody_uses_ends_by_itself(spawn_runtime, runtime):
    session = spawn_runtime(runtime, idle_timeout_secs=1, durable="off")
    host.eventually(lambda: state_of(session) == "dead")
    with pytest.raises(ApiError) as caught:
        session.exec("")
    assert caught.value.status == 410
    assert "idle" in caught.value.message + caught.value.advice


@pytest.mark.one_mode
def test_a_cell_that_runs_is_use(spawn_runtime):
    session = spawn_runtime("bash", idle_timeout_secs=3)  # in which the cell has begun
    assert session.exec("sleep 4; echo still here")["stdout"] == "still here\n"


@pytest.mark.one_mode
def test_a_session_ends_at_its_age(spawn_runtime):
    session = spawn_runtime("bash", max_age_secs=3)  # in which the cell has begun
    early = session.exec("sleep 60", yield_ms=1)
    host.eventually(lambda: session.info().state == "dead")
    path = f"{session.path}/exec/{early.number}/continue"
    last = session.client.call("POST", path, {})
    assert last.status == "died" and "age" in last["error"]["message"], last
