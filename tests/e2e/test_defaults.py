"""What holds for cells that do not ask: of the session, the binding, the agent, the daemon."""

import json

import pytest

pytestmark = [pytest.mark.one_mode]

AGENTS = [{"id": "ana", "repl": {"enabled": True, "budget": 400, "images": "inline",
                                 "checkpoints": "off"}}]
BINDINGS = [{"plugin": "chat", "repl": {"enabled": True, "budget": 200}}]
CONFIG = (f"default_profile: min\npool: 1\nagents: {json.dumps(AGENTS)}\n"
          f"inbound_bindings: {json.dumps(BINDINGS)}\n")
LONG = "print('x' * 100_000)"
PICTURE = (
    "import struct, zlib\n"
    "number = lambda n: struct.pack('>I', n)\n"
    "chunk = lambda k, d: number(len(d)) + k + d + number(zlib.crc32(k + d))\n"
    "class P:\n"
    "    def _repr_png_(self): return b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack(\n"
    "        '>IIBBBBB', 1, 1, 8, 0, 0, 0, 0)) + chunk(b'IDAT', zlib.compress(b'\\0\\0')) + "
    "chunk(b'IEND', b'')\n"
    "P()"
)


def size(session, **members):
    return len(session.exec(LONG, **members)["stdout"])


@pytest.mark.smoke
def test_the_nearest_setting_holds(launch, tmp_path):
    daemon = launch(config=CONFIG)
    client = daemon.client
    plain, ana = client.spawn("min"), client.spawn("min", agent="ana")
    chat = client.spawn("min", agent="ana", binding="chat")
    own = client.spawn("min", agent="ana", budget=900, images="reference", checkpoints="every",
                       timeout_ms=20_000)
    assert 3000 < size(plain) < 3500 and 400 < size(ana) < 600 and 200 < size(chat) < 400
    assert 900 < size(own) < 1100 and 1500 < size(own, budget=1600) < 1800
    assert "data" not in plain.exec(PICTURE)["value"] and "data" in ana.exec(PICTURE)["value"]
    assert "data" in chat.exec(PICTURE)["value"]  # the binding leaves that to the agent
    assert "data" not in own.exec(PICTURE)["value"]
    assert "data" in own.exec(PICTURE, images="inline")["value"]
    modes = [s.info().checkpoints for s in (plain, ana, chat, own)]
    assert modes == ["auto", "off", "off", "every"]
    told = own.info()
    assert (told.budget, told.images, told.timeout_ms) == (900, "reference", 20_000)
    assert not {"budget", "images", "timeout_ms"} & set(plain.info())
    (listed,) = [a for a in client.call("GET", "/v1/agents")["agents"] if a["agent"] == "ana"]
    assert listed["repl"]["budget"] == 400 and listed["repl"]["checkpoints"] == "off"


@pytest.mark.slow
def test_the_time_limit_of_a_session_outlives_the_daemon(launch):
    daemon = launch(config="default_profile: min\npool: 1\n")
    session = daemon.client.spawn("min", timeout_ms=300, budget=700)
    session.exec("x = 1", durable=True, timeout_ms=30_000)
    daemon.stop()
    again = launch(daemon.data, config="default_profile: min\npool: 1\n")
    session.client = again.client
    assert session.value("x", timeout_ms=30_000) == "1"
    answer = session.exec("while True: pass")
    assert answer.status == "timeout" and "300 ms" in answer.error.message
    assert size(session, timeout_ms=30_000) < 900


def test_what_a_session_was_made_with_is_not_for_the_next_call_of_its_connection(client, spawn):
    assert size(spawn("min", budget=300)) < 500
    answer = client.call("POST", "/v1/exec", {"code": "print('x' * 5000)", "profile": "min"})
    assert len(answer.stdout) == 5001


@pytest.mark.parametrize("members", [{"budget": 0}, {"images": "none"}, {"timeout_ms": 0}])
def test_settings_are_checked(client, members):
    reply = client.request("POST", "/v1/sessions", members)
    assert reply.status == 400 and list(members)[0] in reply.json["error"]["message"]
