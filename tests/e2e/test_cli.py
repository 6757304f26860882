"""The command line tool: exec, repl, ps, kill, stop, and their exit statuses."""

import json
import os
import pty
import re
import select
import subprocess
import time

import pytest

from harness import host
from harness.shell import Shell


@pytest.fixture
def shell(daemon):
    return Shell(daemon.binary, daemon.user, daemon.data)


# exec


@pytest.mark.smoke
def test_exec_prints_output_and_the_value(shell):
    done = shell("exec", "print('hello'); 6 * 7", check=0)
    assert done.stdout == "hello\n42\n"
    assert done.stderr == ""


@pytest.mark.smoke
def test_exec_runs_a_file(shell, launcher):
    path = launcher.directory / "code.py"
    path.write_text("print('from a file')\n")
    assert shell("exec", "-f", str(path), check=0).stdout == "from a file\n"
    assert shell("exec", "--file", str(path), check=0).stdout == "from a file\n"
    assert shell("exec", str(path), check=0).stdout == "from a file\n"


@pytest.mark.smoke
def test_exec_runs_standard_input(shell):
    assert shell("exec", stdin="print('from stdin')\n", check=0).stdout == "from stdin\n"
    assert shell("exec", "-", stdin="1 + 1", check=0).stdout == "2\n"


@pytest.mark.smoke
def test_exec_separates_the_streams(shell):
    done = shell("exec", "import sys; print('o'); print('e', file=sys.stderr)", check=0)
    assert (done.stdout, done.stderr) == ("o\n", "e\n")


def test_exec_without_a_session_leaves_none(shell, client):
    before = {s.session_id for s in client.sessions()}
    shell("exec", "1", check=0)
    assert {s.session_id for s in client.sessions() if s.state != "dead"} <= before


def test_exec_new_and_session_keep_the_state(shell, client):
    done = shell("exec", "--new", "--profile", "min", "x = 41", check=0)
    session_id = re.fullmatch(r"session (\S+)\n", done.stderr)[1]
    assert shell("exec", "--session", session_id, "x + 1", check=0).stdout == "42\n"
    assert shell("exec", "-s", session_id[:8], "x + 2", check=0).stdout == "43\n"
    shell("kill", session_id, check=0)


@pytest.mark.parametrize(
    "code, options, status",
    [
        ("pass", [], 0),
        ("1 / 0", [], 1),
        ("x = =", [], 1),
        ("import os; os.kill(os.getpid(), 9)", [], 137),
        ("while True: pass", ["--timeout", "100ms"], 124),
        ("1", ["--timeout", "soon"], 64),
        ("1", ["--timeout", "48h"], 64),
        ("1", ["--no-such-option"], 64),
        ("1", ["--session", "ffffffff"], 66),
        ("1", ["--session", "ffffffff", "--cwd", "x"], 64),
        ("1", ["--runtime", "ruby"], 64),
        ("1", ["--env", "=1"], 64),
        ("1", ["--env", "CELLA_NOT_SET"], 64),
        ("1", ["--on-disconnect", "cry"], 64),
        ("1", ["--profile", "no-such"], (64, 66)),
    ],
    ids=lambda v: str(v)[:30],
)
def test_exit_statuses(shell, code, options, status):
    done = shell("exec", *options, code)
    assert done.returncode in (status if isinstance(status, tuple) else (status,)), done
    assert done.returncode == 0 or done.stderr


def test_code_that_ends_its_interpreter_says_how_exec_ends(shell):
    done = shell("exec", "print('x', flush=True); import os; os._exit(3)", check=3)
    assert (done.stdout, done.stderr) == ("x\n", "")


@pytest.mark.one_mode
@pytest.mark.parametrize("leave, status, told", [
    ("sys.exit(3)", 3, ""),
    ("sys.exit('no such column')", 1, "no such column\n"),
    ("sys.exit()", 0, ""),
    ("sys.exit(0)", 0, ""),
    ("sys.exit(-1)", 255, ""),
    ("exit(4)", 4, ""),
])
@pytest.mark.sampled(2)
def test_code_that_leaves_with_a_status_gives_it(shell, session, launcher, leave, status, told):
    """As `python script.py` does, without a traceback; a session goes on."""
    script = launcher.directory / "leaves.py"
    script.write_text(f"import sys\nprint('x')\n{leave}\nprint('never')\n")
    script.chmod(0o644)
    for words in ([f"import sys; print('x'); {leave}"], [str(script)]):
        done = shell("exec", "-p", "min", *words, check=status)
        assert (done.stdout, done.stderr) == ("x\n", told)
    session.exec("kept = 1")
    done = shell("exec", "-s", session.id, f"import sys; print('x'); {leave}", check=status)
    assert (done.stdout, done.stderr) == ("x\n", told)
    assert session.value("kept") == "1"


@pytest.mark.one_mode
def test_a_name_of_a_file_that_is_not_there_is_no_code(shell):
    for name in ("nofile.py", "some/where/nofile.js", "./nofile.sh"):
        done = shell("exec", name, check=66)
        assert f"there is no file {name}" in done.stderr
        assert f"echo {name} | cella exec" in done.stderr
    assert "cella run analysis.ipynb" in shell("exec", "analysis.ipynb", check=64).stderr
    assert "NameError" in shell("exec", "-", stdin="nofile.py", check=1).stderr
    assert shell("exec", "class a: py = 5\na.py", check=0).stdout == "5\n"


def test_a_traceback_goes_to_stderr(shell):
    done = shell("exec", "def f():\n    return 1 / 0\nf()", check=1)
    assert "return 1 / 0" in done.stderr
    assert done.stdout == ""


def test_exec_json(shell):
    answer = json.loads(shell("exec", "--json", "print('x'); 5", check=0).stdout)
    assert (answer["status"], answer["stdout"], answer["value"]["text"]) == ("ok", "x\n", "5")
    assert json.loads(shell("exec", "--json", "1/0", check=1).stdout)["error"]["name"]


def test_exec_saves_images(shell, launcher):
    where = launcher.directory / f"images{os.getpid()}"
    where.mkdir()
    if shell.user:
        os.chown(where, shell.user.pw_uid, shell.user.pw_gid)
    shell("exec", "--profile", "min", "--save-images", str(where),
          "from PIL import Image; Image.new('RGB', (2, 2))", check=0)
    (image,) = where.iterdir()
    assert image.read_bytes().startswith(b"\x89PNG")
    image.unlink()
    where.rmdir()


@pytest.mark.one_mode
def test_exec_makes_the_directory_for_images(shell, folder):
    where = folder / "made"
    shell("exec", "-p", "min", "--save-images", str(where), "1", check=0)
    assert where.is_dir()
    assert shell("exec", "--save-images", str(folder / "no" / "way"), "1").returncode == 66


@pytest.mark.one_mode
def test_times_have_no_dust(shell):
    for _ in range(5):
        text = shell("exec", "-p", "min", "--json", "1", check=0).stdout
        assert re.search(r'"duration_ms":\d+\.\d{1,3}[,}]', text), text


def test_ten_megabytes_of_code_are_refused_before_they_are_sent(shell):
    done = shell("exec", "-", stdin="x = 1\n" * 1_700_000, check=64)
    assert "1 MiB" in done.stderr


def test_ctrl_c_interrupts_the_code(shell, client):
    process = subprocess.Popen(
        [shell.binary, "exec", "import os; os.write(1, b'started\\n')\nwhile True: pass"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **shell.options(),
    )
    assert process.stdout.readline() == b"started\n"
    process.send_signal(2)
    process.communicate(timeout=host.PATIENCE)
    assert process.returncode == 130


def test_a_closed_pipe_ends_the_command(shell):
    done = subprocess.run(
        f"'{shell.binary}' exec 'for n in range(10**6): print(n)' | head -n 1",
        shell=True, capture_output=True, timeout=host.PATIENCE, **shell.options(),
    )
    assert done.stdout == b"0\n"


# ps, kill


def test_ps_lists_sessions(shell, session):
    table = shell("ps", check=0).stdout
    assert session.id[:8] in table and "idle" in table
    listed = json.loads(shell("ps", "--json", check=0).stdout)
    assert listed["count"] == len(listed["sessions"])
    assert session.id in [s["session_id"] for s in listed["sessions"]]


@pytest.mark.one_mode
def test_the_columns_of_ps_are_aligned(shell, spawn):
    """Whatever is in them: the heads stand above their columns."""
    sleeper = spawn(idle_timeout_secs=2)
    sleeper.exec("1")
    spawn()
    host.eventually(lambda: "suspended" in shell("ps", check=0).stdout)
    head, *rows = shell("ps", check=0).stdout.splitlines()
    for row in rows:
        assert row[head.index("STATE") - 1] == row[head.index("RUNTIME") - 1] == " "
        assert row[head.index("RUNTIME"):].split()[0] in ("python", "node", "bash")
        assert row[head.index("CWD"):].startswith("/")


@pytest.mark.one_mode
def test_kill_says_what_becomes_of_the_notebook(shell, spawn):
    fresh, used, kept = spawn(), spawn(), spawn()
    used.exec("1")
    kept.exec("1")
    assert shell("kill", fresh.id, check=0).stdout == f"killed {fresh.id}\n"
    done = shell("kill", used.id, check=0)
    assert done.stdout == (
        f"killed {used.id}; its notebook is deleted, too (--keep-notebook keeps it)\n")
    done = shell("kill", "--keep-notebook", kept.id, check=0)
    assert done.stdout == (
        f"killed {kept.id}; its notebook stays: cella notebook show {kept.id[:8]}\n")
    shell("notebook", "delete", kept.id, check=0)


def test_kill_ends_a_session_by_the_beginning_of_its_id(shell, session):
    assert session.id in shell("kill", session.id[:8], check=0).stdout
    assert not session.is_alive()


def test_kill_of_nothing_known_kills_nothing(shell, session):
    done = shell("kill", session.id, "ffffffff-not-there")
    assert done.returncode == 66
    assert session.is_alive()


def test_kill_json(shell, session):
    told = json.loads(shell("kill", "--json", session.id, check=0).stdout)
    assert (told["session_id"], told["killed"]) == (session.id, True)


# help and mistakes


@pytest.mark.one_mode
def test_help_and_version(shell):
    text = shell("--help", check=0).stdout
    for verb in ("serve", "exec", "repl", "ps", "kill", "doctor"):
        assert re.search(rf"^\s+{verb}\b", text, re.M), verb
        assert shell(verb, "--help", check=0).stdout
    assert re.search(r"\d+\.\d+", shell("--version", check=0).stdout)


@pytest.mark.one_mode
def test_a_mistyped_verb_is_guessed(shell):
    done = shell("exce", "1", check=64)
    assert "exec" in done.stderr


@pytest.mark.one_mode
def test_no_verb_shows_the_help(shell):
    done = shell()
    assert done.returncode in (0, 64)
    assert "exec" in done.stdout + done.stderr


@pytest.mark.one_mode
def test_a_remote_daemon_by_url_and_key(daemon, shell):
    env = {"CELLA_URL": daemon.url, "CELLA_KEY": daemon.key(), "CELLA_DATA": "/nonexistent"}
    shell.env.update(env)
    assert shell("exec", "-p", "min", "1 + 1", check=0).stdout == "2\n"
    shell.env["CELLA_KEY"] = "wrong"
    assert shell("exec", "-p", "min", "1 + 1").returncode == 77


# The daemon that starts by itself, and the one that is started.


@pytest.mark.one_mode
def test_a_daemon_on_all_addresses_says_so(launcher):
    data = launcher.new_data()
    process = subprocess.Popen(
        [launcher.binary, "serve", "--listen", "0.0.0.0:0", "--data", str(data)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        **Shell(launcher.binary, launcher.user, data).without_libraries(launcher).options(),
    )
    line = process.stdout.readline().decode()
    process.terminate()
    process.communicate(timeout=host.PATIENCE)
    assert re.fullmatch(r"cella ready http://127\.0\.0\.1:\d+ "
                        r"\(and on every address of this machine\)\n", line)


@pytest.fixture
def lonely_shell(launcher):
    """A shell for which no daemon runs. One that it started ends with the test."""
    shell = Shell(launcher.binary, launcher.user, launcher.new_data()).without_libraries(launcher)
    yield shell
    shell("stop")


def test_exec_starts_a_daemon_and_stop_ends_it(lonely_shell):
    shell, data = lonely_shell, lonely_shell.data
    assert shell("ps").returncode != 0
    assert shell("exec", "-p", "min", "1 + 1", check=0).stdout == "2\n"
    (daemon,) = [p for p in host.pids() if is_daemon_of(p, data)]
    tree = host.tree(daemon)
    groups = host.cgroups(tree)
    assert shell("exec", "-p", "min", "2 + 2", check=0).stdout == "4\n"
    assert [p for p in host.pids() if is_daemon_of(p, data)] == [daemon]
    shell("stop", check=0)
    host.eventually(lambda: not host.alive(tree))
    assert not [g for g in groups if os.path.exists(g)]


def is_daemon_of(pid, data):
    """The process itself, which its parent has left, and not its warden, which looks the same."""
    words = host.read(f"/proc/{pid}/cmdline").split("\0")
    if "serve" not in words or str(data) not in words:
        return False
    fields = host.stat_fields(pid)
    return fields is not None and fields[1] == "1"  # a fork of the warden may have ended meanwhile


def test_many_commands_at_once_start_one_daemon(lonely_shell):
    shell = lonely_shell
    running = [
        subprocess.Popen([shell.binary, "exec", "-p", "min", f"{n} * 2"], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, **shell.options())
        for n in range(6)
    ]
    outputs = [p.communicate(timeout=host.PATIENCE) for p in running]
    assert [o for o, _ in outputs] == [f"{n * 2}\n" for n in range(6)], outputs


# repl


class Terminal:
    """A program at a terminal: type and expect."""

    def __init__(self, shell, *args):
        self.main, other = pty.openpty()
        self.process = subprocess.Popen(
            [shell.binary, *args], stdin=other, stdout=other, stderr=other,
            start_new_session=True, preexec_fn=make_controlling, **shell.options(),
        )
        os.close(other)
        self.seen = ""
        self.raw = ""  # all of it, with what is for the terminal

    def type(self, text):
        os.write(self.main, text.encode())

    def expect(self, pattern):
        """Waits for a regular expression in what came since the last one."""
        deadline = time.monotonic() + host.PATIENCE
        while not (match := re.search(pattern, clean(self.seen))):
            self.read_more(pattern, deadline)
        self.seen = clean(self.seen)[match.end():]
        return match

    def expect_raw(self, text):
        """Waits for what is for the terminal and not for its user; from the beginning on."""
        deadline = time.monotonic() + host.PATIENCE
        while text not in self.raw:
            self.read_more(text, deadline)

    def read_more(self, wanted, deadline):
        ready, _, _ = select.select([self.main], [], [], max(0, deadline - time.monotonic()))
        assert ready, f"{wanted!r} did not come; seen: {clean(self.seen)!r}"
        try:
            more = os.read(self.main, 65536)
        except OSError:
            more = b""
        assert more, f"the end came before {wanted!r}; seen: {clean(self.seen)!r}"
        self.seen += more.decode(errors="replace")
        self.raw += more.decode(errors="replace")

    def close(self):
        os.close(self.main)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def make_controlling():
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def clean(text):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]", "", text).replace("\r", "")


@pytest.fixture
def repl(shell):
    terminal = Terminal(shell, "repl", "--profile", "min")
    terminal.expect(r">>> $")
    yield terminal
    terminal.close()


def test_repl_shows_values_and_keeps_state(repl):
    repl.type("x = 41\r")
    repl.expect(r">>> $")
    repl.type("x + 1\r")
    repl.expect(r"\n42\n")
    repl.expect(r">>> $")


def test_repl_takes_blocks(repl):
    repl.type("for n in range(3):\r")
    repl.expect(r"\.\.\. ")
    repl.type("    print('n is', n)\r\r")
    repl.expect(r"n is 0\nn is 1\nn is 2\n")


def test_repl_ctrl_c_interrupts_the_cell_and_keeps_the_session(repl):
    repl.type("x = 5\r")
    repl.expect(r">>> $")
    repl.type("print('go' * 2)\rwhile __import__('os').write(1, b'be' b'gun\\n'):\r")
    repl.expect(r"\ngogo\n")
    repl.expect(r"\.\.\. $")
    repl.type("    while True: pass\r\r")
    repl.expect(r"\nbegun\n")
    repl.type("\x03")
    repl.expect(r"KeyboardInterrupt|interrupted")
    repl.expect(r">>> $")
    repl.type("x\r")
    repl.expect(r"\n5\n")


def test_repl_shows_errors(repl):
    repl.type("1/0\r")
    repl.expect("ZeroDivisionError: division by zero")
    repl.expect(r">>> $")


def test_repl_remembers_history(repl):
    repl.type("'one' + 'two'\r")
    repl.expect(r"'onetwo'")
    repl.expect(r">>> $")
    repl.type("\x1b[A\r")
    repl.expect(r"'onetwo'")


def test_repl_ends_at_ctrl_d_and_its_session_too(repl, client):
    own = max(client.sessions(), key=lambda s: s.spawned_at).session_id
    host.eventually(lambda: repl.process.poll() is not None or repl.type("\x04"))
    assert repl.process.returncode == 0
    host.eventually(lambda: own not in [s.session_id for s in client.sessions()])
