"""What is typed and pasted at a terminal into `cella repl`."""

import pytest

from harness import host
from harness.shell import Shell
from test_cli import Terminal

pytestmark = pytest.mark.one_mode

CLASS = '''class A:
    def __init__(self, x):
        self.x = x

    def double(self):
        return self.x * 2
'''


@pytest.fixture
def shell(daemon):
    return Shell(daemon.binary, daemon.user, daemon.data)


@pytest.fixture
def start(shell):
    """Starts the program: start("--profile", "min") is at its first prompt."""
    terminals = []

    def begin(*options, prompt=r">>> $"):
        terminal = Terminal(shell, "repl", *options)
        terminals.append(terminal)
        terminal.expect(prompt)
        return terminal

    yield begin
    for terminal in terminals:
        terminal.close()


@pytest.fixture
def repl(start):
    return start("--profile", "min")


def paste(terminal, text):
    """As terminals send it that were asked to mark what is pasted."""
    assert "\x1b[?2004h" in terminal.raw
    data = "\x1b[200~" + text.replace("\n", "\r") + "\x1b[201~"
    for at in range(0, len(data), 1024):
        terminal.type(data[at:at + 1024])


# pasting


def test_a_paste_is_one_cell(repl):
    paste(repl, CLASS + "\n# more\nB = A(4)\n")
    repl.type("\r")
    repl.expect(r"\[2\] >>> $")
    repl.type("A(21).double(), B.x, 'double' in globals()\r")
    repl.expect(r"\n\(42, 4, False\)\n")


def test_a_paste_is_shown_and_waits_for_enter(repl):
    paste(repl, "if True:\n    print('first', 1)\n\nprint('sec' 'ond')\n")
    repl.expect(r">?>? ?if True:\n    print\('first', 1\)\n\nprint\('sec' 'ond'\)")
    repl.type("\r")
    repl.expect(r"\nfirst 1\nsecond\n")
    repl.expect(r"\[2\] >>> $")


def test_a_paste_within_a_line_and_within_a_block(repl):
    repl.type("x = [")
    paste(repl, "1,\n2,\n\n3]")
    repl.type(" + [4]\r")
    repl.expect(r"\[2\] >>> $")
    repl.type("for n in x:\r")
    repl.expect(r"\.\.\. $")
    paste(repl, "    m = n * 2\n\n    print('n', m)\n")
    repl.type("\r")
    repl.expect(r"\nn 2\nn 4\nn 6\nn 8\n")


def test_a_paste_comes_back_from_the_history_as_a_whole(repl):
    paste(repl, "for n in 'ab':\n\n    print(n * 3)\n")
    repl.type("\r")
    repl.expect(r"\naaa\nbbb\n")
    repl.expect(r"\[2\] >>> $")
    repl.type("\x1b[A\r")
    repl.expect(r"\naaa\nbbb\n")


def test_long_pastes(repl):
    """More lines than the terminal has, and more than a cell may have."""
    paste(repl, "n = 0\n" + "n += 1  # one more\n" * 2000)
    repl.type("\r")
    repl.expect(r"\[2\] >>> $")
    paste(repl, "print('never')\n" * 80_000)
    repl.expect(r"longer than a cell may be\n")
    repl.type("n * 2\r")
    repl.expect(r"\n4000\n")


@pytest.mark.parametrize("runtime, prompt, code, shown", [
    ("node", r"\] > $", "function two(x) {\n\n  return 2 * x\n}\nconsole.log(two(4))\n", r"\n8\n"),
    ("bash", r"\] \$ $", "f() {\n  echo f $1\n\n}\nf a\n\nf b\n", r"\nf a\nf b\n"),
])
def test_a_paste_of_another_language(start, runtime, prompt, code, shown):
    repl = start("--runtime", runtime, prompt=prompt)
    paste(repl, code)
    repl.type("\r")
    repl.expect(shown)
    repl.expect(r"\[2\]")


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_lines_that_come_at_once_are_not_torn_at_an_empty_one(shell, start, term):
    """From a terminal that does not mark what is pasted."""
    shell.env["TERM"] = term
    repl = start("--profile", "min")
    repl.type(CLASS.replace("\n", "\r") + "\rif 0:\r    pass\r\relse:\r    y = 5\r\r")
    repl.expect(r"\[3\] >>> $")
    repl.type("A(21).double(), y, 'double' in globals()\r")
    repl.expect(r"\n\(42, 5, False\)\n")


def test_a_long_text_through_a_pipe(shell):
    code = "cat <<EOF | wc -c\n" + ("x" * 99 + "\n") * 1000 + "EOF\necho done\n"
    assert shell("repl", "--runtime", "bash", stdin=code, check=0).stdout == "100000\ndone\n"


def test_an_indented_first_line_is_an_error(repl):
    repl.type("  x = 1\r")
    repl.expect(r'  File "<cell 1>", line 1\n +x = 1\nIndentationError: unexpected indent\n')
    repl.expect(r"\[1\] >>> $")
    paste(repl, "    def double(self):\n        return 2\n")
    repl.type("\r")
    repl.expect(r"IndentationError: unexpected indent\n")
    repl.expect(r"\[1\] >>> $")
    repl.type("   # nothing\r")
    repl.expect(r">>> $")
    repl.type("'x' in globals(), 'double' in globals()\r")
    repl.expect(r"\n\(False, False\)\n")


# ends


def test_the_conversation_goes_on_with_its_session(repl, client):
    own = max(client.sessions(), key=lambda s: s.spawned_at).session_id
    repl.type("import os; os._exit(3)\r")
    repl.expect(r"exit code 3")
    repl.expect(r"\[2\] >>> $")
    repl.type("6 * 7\r")
    repl.expect(r"\n42\n")
    assert own in [s.session_id for s in client.sessions() if s.state != "dead"]


def test_a_cell_that_leaves_is_told_and_the_conversation_goes_on(repl):
    repl.type("x = 5; import sys; sys.exit(3)\r")
    repl.expect(r"\ncella: it left with exit code 3; the session goes on\n")
    repl.expect(r"\[2\] >>> $")
    repl.type("x * 2\r")
    repl.expect(r"\n10\n")


@pytest.mark.parametrize("runtime, prompt, code", [
    ("python", r">>> $", "exit(3)"),
    ("node", r"\] > $", "process.exit(3)"),
    ("bash", r"\] \$ $", "exit 3"),
])
def test_who_wants_to_leave_leaves(start, runtime, prompt, code):
    repl = start("--runtime", runtime, prompt=prompt)
    repl.type(code + "\r")
    assert repl.process.wait(host.PATIENCE) == 3
