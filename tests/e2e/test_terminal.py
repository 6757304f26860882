"""Terminals in sessions: over a WebSocket, and at the terminal of whoever runs `cella attach`."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import termios
import time
from urllib.parse import urlencode

import pytest
from harness import host
from harness.host import PATIENCE
from harness.servers import WebSocket, frame

pytestmark = pytest.mark.one_mode


class Terminal:
    """A client that keeps what the terminal shows."""

    def __init__(self, session, **query):
        client = session.client
        path = f"{session.path}/terminal?{urlencode(query)}"
        self.ws = WebSocket(client.address, path, client.headers(), PATIENCE)
        self.shown, self.end, self.code = b"", None, None

    def type(self, text):
        self.ws.send(text.encode())

    def resize(self, rows, cols):
        self.ws.send(json.dumps({"type": "resize", "rows": rows, "cols": cols}).encode(), opcode=1)

    def step(self):
        """Takes one frame; False at the end."""
        got = self.ws.receive()
        if got is None:
            return False
        opcode, data = got
        if opcode == 2:
            self.shown += data
        elif opcode == 1:
            self.end = json.loads(data)
        elif opcode == 8:
            self.code = int.from_bytes(data[:2], "big")
        return True

    def until(self, pattern):
        """Reads until the pattern is shown; what is shown up to its end is taken."""
        while not (found := re.search(pattern.encode(), self.shown)):
            assert self.step(), (pattern, self.shown, self.end)
        taken, self.shown = self.shown[:found.end()], self.shown[found.end():]
        return taken.decode(errors="replace")

    def finish(self):
        while self.step():
            pass
        self.ws.close()
        return self.end


@pytest.fixture(scope="module")
def place(shared_daemon):
    """A session for tests that leave nothing behind in it."""
    client = shared_daemon.get().client
    session = client.spawn("min")
    yield session
    client.request("DELETE", session.path)


@pytest.mark.smoke
@pytest.mark.each_mode
def test_a_shell(session):
    session.exec("open('made.txt', 'w').write('by a cell')")
    terminal = Terminal(session)
    assert terminal.ws.status == 101
    terminal.type("cat made.txt; tty; id -u; echo $TERM\n")
    terminal.until("by a cell/dev/pts/\\d+\r\n1000\r\nxterm-256color\r\n")
    assert session.value("6 * 7") == "42"  # cells go on
    terminal.type("exit 7\n")
    assert terminal.finish() == {"type": "exit", "status": 7}
    assert terminal.code == 1000


def test_size_and_resize(place):
    terminal = Terminal(place, rows=31, cols=97, term="vt100")
    terminal.type("stty size; echo $TERM\n")
    terminal.until("31 97\r\nvt100\r\n")
    terminal.type("trap 'stty size' WINCH; echo rea''dy\n")
    terminal.until("ready")
    terminal.resize(50, 120)
    terminal.type("\n")
    terminal.until("50 120")
    terminal.ws.close()


def test_keys_that_send_signals(place):
    waits = ("import signal as s; s.pthread_sigmask(s.SIG_BLOCK, [s.SIGINT]); "
             "print('ready', flush=True); print('caught', int(s.sigwait([s.SIGINT])))")
    terminal = Terminal(place, command=f'python3 -c "{waits}"')
    terminal.until("ready")
    terminal.type("\x03")
    terminal.until("caught 2\r\n")
    assert terminal.finish()["status"] == 0


def test_a_command_its_status_and_signals(place):
    terminal = Terminal(place, command="echo one; exit 3")
    assert terminal.finish() == {"type": "exit", "status": 3} and terminal.shown == b"one\r\n"
    assert Terminal(place, command="kill -9 $$").finish() == {"type": "exit", "signal": 9}
    late = "exec 0<&- 1>&- 2>&-; for i in {1..20000}; do :; done; exit 4"  # it closed the terminal
    assert Terminal(place, command=late).finish() == {"type": "exit", "status": 4}
    group = "trap '' TERM; kill 0; exit 5"  # what stays at the terminal is of the program's group
    assert Terminal(place, command=group).finish() == {"type": "exit", "status": 5}
    missing = Terminal(place, command="no-such-program")
    assert missing.finish()["status"] == 127 and b"not found" in missing.shown


def test_interactive_programs(place):
    """What only works at a terminal: line editing, full screens, questions."""
    terminal = Terminal(place, command="python3 -q -i")
    terminal.until(">>> ")
    terminal.type("import sys; sys.stdin.isatty(), len(open('/dev/tty').name)\n")
    terminal.until(r"\(True, 8\)\s+>>> ")  # before, the key would be taken by no editor
    terminal.type("\x04")
    assert terminal.finish()["status"] == 0
    pager = Terminal(place, command="seq 1000 | less", rows=10)
    pager.until(":|\x1b\\[K")
    pager.type("G")
    pager.until("1000")
    pager.type("q")
    assert pager.finish()["status"] == 0


def test_a_flood_waits_for_a_reader_that_stops(place, daemon):
    with daemon.watch_heap() as heap:
        terminal = Terminal(place, command="yes")
        terminal.until("y\r\ny\r\n")
        for _ in range(20):  # it is not read meanwhile
            assert place.value("6 * 7") == "42"
    assert heap[1] - heap[0] < 16 << 20
    terminal.type("\x03")
    assert terminal.finish() in ({"type": "exit", "signal": 2}, {"type": "exit", "status": 130})


def test_a_thousand_frames_in_order(place):
    terminal = Terminal(place, command="stty -echo raw; echo go; head -c 4000; echo done")
    terminal.until("go")
    for i in range(1000):
        terminal.type(f"{i:03d},")
    shown = terminal.until("done")
    assert [int(n) for n in re.findall(r"(\d{3}),", shown)] == list(range(1000))
    terminal.finish()


def test_all_output_before_the_end_arrives(place):
    terminal = Terminal(place, command="seq 1 20000")
    terminal.finish()
    assert terminal.shown.split()[-1] == b"20000" and len(terminal.shown.split()) == 20000


def test_the_end_waits_for_no_program_in_the_background(place):
    terminal = Terminal(place, command="(trap '' HUP; exec sleep 12345) & yes & echo kept")
    assert terminal.finish() == {"type": "exit", "status": 0} and b"kept\r\n" in terminal.shown


def test_no_key_stops_a_program_that_nobody_continues(place):
    terminal = Terminal(place, command="stty -echo; echo ready; cat")
    terminal.until("ready")
    terminal.type("\x1agoes on\n")
    terminal.until("goes on\r\n")
    terminal.type("\x04")
    assert terminal.finish() == {"type": "exit", "status": 0}


def test_fragments_and_pings(place):
    terminal = Terminal(place, command="cat")
    terminal.ws.send(b"hel", is_last=False)
    terminal.ws.send(b"?", opcode=9)
    terminal.ws.send(b"lo\n", opcode=0)
    got = [terminal.ws.receive() for _ in range(2)]
    assert (10, b"?") in got
    terminal.shown += b"".join(data for opcode, data in got if opcode == 2)
    terminal.until("hello\r\nhello\r\n|hello\r\n")
    terminal.ws.send(b"\x03\xe8", opcode=8)
    assert terminal.finish() is None and terminal.code == 1000


@pytest.mark.parametrize("data, code", [
    (b"\x82\x01x", 1002),  # no mask
    (frame(b"{}", opcode=1), 1008),
    (frame(b'{"type": "resize", "rows": 0, "cols": 80}', opcode=1), 1008),
    (frame(b"\xff", opcode=1), 1007),
    (frame(b"x" * 70000), 1009),
])
def test_what_is_no_message_closes_the_terminal(place, data, code):
    terminal = Terminal(place)
    terminal.ws.sock.sendall(data)
    terminal.finish()
    assert terminal.code == code


def test_who_does_not_speak_websocket(place):
    reply = place.client.request("GET", f"{place.path}/terminal")
    assert reply.status == 400 and "cella attach" in reply.json["error"]["advice"]


def test_a_client_that_goes_hangs_up(place):
    """All programs at the terminal end: each holds a pipe open, which ends with the last."""
    terminal = Terminal(place, command="mkfifo held; exec 9<>held; sleep 12345 & echo ready; wait")
    terminal.until("ready")
    place.exec("import os; held = os.open('held', os.O_RDONLY)")
    terminal.ws.close()
    assert place.value("os.read(held, 1)") == "b''"


def test_several_at_once_and_not_too_many(spawn):
    session = spawn("min")
    terminals = [Terminal(session, command="cat") for _ in range(8)]
    assert {t.ws.status for t in terminals} == {101}
    assert Terminal(session).ws.status == 429
    for number, terminal in enumerate(terminals):
        terminal.type(f"number {number}\n")
    for number, terminal in enumerate(terminals):
        terminal.until(f"number {number}\r\n")
    session.kill()
    for terminal in terminals:
        assert "reason" in terminal.finish()


def test_an_undo_ends_what_was_opened_since(spawn):
    session = spawn(checkpoints="every")
    session.exec("x = 1")
    session.exec("y = 1")
    terminal = Terminal(session)
    terminal.until("\\$ ")
    session.exec("z = 1")
    session.client.call("POST", f"{session.path}/undo", {})  # to y = 1
    session.client.call("POST", f"{session.path}/undo", {})  # to x = 1
    assert "gone back" in terminal.finish()["reason"]
    assert session.value("x") == "1"


def test_another_agents_terminal_does_not_exist(launch):
    daemon = launch(config="""
default_profile: min
agents:
  - {id: one, repl: {enabled: true}}
  - {id: two, repl: {enabled: true}}
""")
    client = daemon.client
    made = client.request("POST", "/v1/sessions", {"profile": "min"}, {"Cella-Agent": "one"})
    path = f"/v1/sessions/{made.json['session_id']}/terminal"
    for agent, status in (("one", 101), ("two", 404)):
        ws = WebSocket(client.address, path, {**client.headers(), "Cella-Agent": agent}, PATIENCE)
        assert ws.status == status
        ws.close()
    ws = WebSocket(client.address, path, {}, PATIENCE)
    assert ws.status == 401
    ws.close()


# ---- cella attach --------------------------------------------------------------------------------


class Attached:
    """`cella attach` at a pseudo-terminal of ours."""

    def __init__(self, daemon, *words):
        self.master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (33, 99))
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.process = subprocess.Popen(
            [daemon.binary, "attach", "--data", daemon.data, *words], stdin=slave, stdout=slave,
            stderr=slave, start_new_session=True, env={**os.environ, "TERM": "xterm"},
            preexec_fn=lambda: __import__("fcntl").ioctl(0, termios.TIOCSCTTY, 0))
        self.shown = b""

    def type(self, text):
        os.write(self.master, text.encode())

    def until(self, pattern):
        end = time.monotonic() + PATIENCE
        while not (found := re.search(pattern.encode(), self.shown)):
            left = max(0, end - time.monotonic())
            assert select.select([self.master], [], [], left)[0], (pattern, self.shown)
            self.shown += os.read(self.master, 65536)
        self.shown = self.shown[found.end():]

    def wait(self):
        status = self.process.wait(PATIENCE)
        after = termios.tcgetattr(self.slave)
        os.close(self.slave)
        os.close(self.master)
        assert after == self.before  # as it was found
        return status


@pytest.mark.smoke
def test_attach(place, daemon):
    attached = Attached(daemon, place.id)
    attached.until("\\$ ")
    attached.type("stty size; echo $TERM\n")
    attached.until("33 99\r\nxterm\r\n")
    termios.tcsetwinsize(attached.slave, (20, 60))
    attached.type("until stty size | grep '20 60'; do sleep 0.1; done\n")
    attached.until("20 60\r\n")
    attached.type("sed -u s/at/is/\nat work\n")
    attached.until("is work\r\n")  # now: a shell that does not wait yet might miss the key
    attached.type("\x03")
    attached.until("\\$ ")
    attached.type("exit 5\n")
    assert attached.wait() == 5


def test_attach_leaves_by_its_escape_and_by_signals(place, daemon):
    attached = Attached(daemon, place.id, "echo ready; cat")
    attached.until("ready\r\n")  # from here on the keys are the session's
    attached.type("a ~. is not at the beginning\r~~ is a tilde\r")
    attached.until("a ~. is not at the beginning\r\n")
    attached.until("(?<!~)~ is a tilde\r\n")
    attached.type("~.")
    attached.until("left the terminal")
    assert attached.wait() == 0
    attached = Attached(daemon, place.id, "echo ready; cat")
    attached.until("ready\r\n")
    attached.process.send_signal(signal.SIGTERM)
    attached.until("left the terminal")
    assert attached.wait() == 0


def test_attach_without_a_terminal(place, daemon):
    done = subprocess.run([daemon.binary, "attach", "--data", daemon.data, place.id, "cat"],
                          input=b"through\n", capture_output=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout.count(b"through")) == (0, 2), done
    wrong = subprocess.run([daemon.binary, "attach", "--data", daemon.data, "nobody"],
                           capture_output=True, timeout=PATIENCE, text=True)
    assert wrong.returncode != 0 and "nobody" in wrong.stderr
    assert host.fd_count(daemon.pid) > 0
