"""What is typed and pasted at a terminal into `cella repl`."""

import base64
import os
import shutil

import pytest

from harness import host
from harness.daemon import SOURCE
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


@pytest.mark.slow
def test_a_long_text_through_a_pipe(shell):
    code = "cat <<EOF | wc -c\n" + ("x" * 999 + "\n") * 100 + "EOF\necho done\n"
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


# what helps


def test_tab_completes(repl):
    repl.type("apples = apricots = 3\r")
    repl.expect(r"\[2\] >>> $")
    repl.type("app\t * 14\r")  # there is one
    repl.expect(r"\n42\n")
    repl.expect(r"\[3\] >>> $")
    repl.type("ap\t")  # both begin so
    repl.expect(r"\napples +apricots\n")
    repl.type("r\t + 1\r")
    repl.expect(r"\n4\n")
    repl.expect(r"\[4\] >>> $")
    repl.type("import math\r")
    repl.expect(r"\[5\] >>> $")
    repl.type("math.sqr\t(81)\r")
    repl.expect(r"\n9\.0\n")


def test_tab_knows_the_block_and_indents(repl):
    repl.type("class Shape:\r")
    repl.expect(r"\.\.\. $")
    repl.type("\tdef area(self): return 7\r")
    repl.expect(r"\.\.\. $")
    repl.type("\rShape().area()\r")
    repl.expect(r"\n7\n")
    repl.expect(r"\[3\] >>> $")
    repl.type("shape = Shape()\r")
    repl.expect(r"\[4\] >>> $")
    repl.type("[shape.ar\t()\r")
    repl.expect(r"\.\.\. $")
    repl.type(", shape.ar\t()]\r")
    repl.expect(r"\n\[7, 7\]\n")


def test_a_question_mark_explains(repl):
    repl.type("def grow(apple, april=2): 'Grows.'\r")
    repl.expect(r"\.\.\. $|>>> $")
    repl.type("\r")
    repl.expect(r"\[2\] >>> $")
    repl.type("grow?\r")
    repl.expect(r"\nSignature: grow\(apple, april=2\)\nType: function\n(.*\n)*Doc: Grows\.\n")
    repl.expect(r"\[2\] >>> $")  # no cell was run
    repl.type("?? grow\r".replace(" ", ""))
    repl.expect(r"\nSource: def grow\(apple, april=2\): 'Grows\.'\n")
    repl.type("nothing_there?\r")
    repl.expect(r"\nnothing_there is not there\n")


@pytest.mark.parametrize("runtime, prompt, code, typed, shown", [
    ("node", r"\] > $", "let apples = 3", "app\t * 14\r", r"\n42\n"),
    ("bash", r"\] \$ $", "apples=42", "echo $app\t\r", r"\n42\n"),
])
def test_tab_and_history_of_other_languages(start, shell, tmp_path, runtime, prompt, code, typed,
                                            shown):
    shell.env["XDG_STATE_HOME"] = str(tmp_path)
    repl = start("--runtime", runtime, prompt=prompt)
    repl.type(code + "\r")
    repl.expect(prompt)
    repl.type(typed)
    repl.expect(shown)
    repl.expect(prompt)
    repl.type("\x04")
    repl.process.wait(host.PATIENCE)
    assert [path.name for path in tmp_path.iterdir()] == [f"cella_history_{runtime}"]
    assert code.split("=")[0].strip() in (tmp_path / f"cella_history_{runtime}").read_text() \
        .replace("\\040", " ")


def test_the_help_and_the_manual_name_them(shell):
    pages = [shell("repl", "--help", check=0).stdout, (SOURCE / "docs/man/cella.1").read_text()]
    for word in ("Tab completes", "name?", "name??", ":undo", ":redo", ":tree", ":names", ":files",
                 ":branch", ":help"):
        assert all(word in page for page in pages), word


def test_commands_begin_with_a_colon(start, spawn):
    repl = start("--session", spawn("min", checkpoints="every").id)
    repl.type("x = 1\r")
    repl.expect(r"\[2\] >>> $")
    repl.type("x = 2; open('made', 'w').close()\r")
    repl.expect(r"\[3\] >>> $")
    repl.type(":names\r")
    repl.expect(r"\nx +int +\S+ +2\n")
    repl.type(":files\r")
    repl.expect(r"\n +0 B  made\n")
    repl.type(":tree\r")
    repl.expect(r"\n.*2.*\n")
    repl.expect(r"\[3\] >>> $")
    repl.type(":undo\r")
    repl.expect(r"took back cell 2")
    repl.expect(r">>> $")
    repl.type("x\r")
    repl.expect(r"\n1\n")
    repl.expect(r">>> $")
    repl.type(":branch\r")
    repl.expect(r"[0-9a-f]{8}-")
    repl.expect(r">>> $")
    repl.type(":nonsense\r")
    repl.expect(r"there is no command :nonsense\n:undo ")
    repl.expect(r">>> $")


def test_colours_are_for_terminals_that_have_them(shell, start):
    assert "\x1b[32m" in start("--profile", "min").raw
    shell.env["NO_COLOR"] = "1"
    assert "\x1b[32m" not in start("--profile", "min").raw


# pictures

PNG = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5"
       "ErkJggg==")
SHOW = f"import base64; from IPython.display import Image; Image(base64.b64decode('{PNG}'))\r"


@pytest.mark.parametrize("name, value, shown", [
    ("KITTY_WINDOW_ID", "1", f"\x1b_Ga=T,f=100,q=2,m=0;{PNG}\x1b\\"),
    ("TERM_PROGRAM", "iTerm.app", f"\x1b]1337;File=inline=1;size=70:{PNG}\x07"),
])
def test_pictures_are_shown_where_the_terminal_can(shell, start, name, value, shown):
    shell.env[name] = value
    repl = start("--profile", "min")
    repl.type(SHOW)
    repl.expect(r"\[2\] >>> $")
    assert shown in repl.raw


def test_pictures_are_sixels_where_the_terminal_says_so(start):
    repl = start("--profile", "min")
    repl.type("import zlib, struct; from IPython.display import Image\r")
    repl.expect(r"\[2\] >>> $")
    repl.type("def part(kind, data): return (struct.pack('>I', len(data)) + kind + data + "
              "struct.pack('>I', zlib.crc32(kind + data)))\r\r")
    repl.expect(r"\[3\] >>> $")
    repl.type("Image(b'\\x89PNG\\r\\n\\x1a\\n' + part(b'IHDR', struct.pack('>IIBBBBB', "
              "9, 7, 8, 2, 0, 0, 0)) + part(b'IDAT', zlib.compress(7 * (b'\\0' + "
              "9 * b'\\xff\\0\\0'))) + part(b'IEND', b''))\r")
    repl.expect_raw("\x1b[c")
    repl.type("\x1b[?64;1;4;22c")
    repl.expect(r"\[4\] >>> $")
    shown = repl.raw[repl.raw.index("\x1bP"):]
    assert shown.startswith('\x1bP0;1q"1;1;9;7#0;2;0;0;0#1;')
    assert "#215;2;100;100;100#180!9~$-#180!9@$-\x1b\\" in shown


def test_else_they_are_saved_and_their_path_is_told(shell, start, tmp_path):
    shell.env["TMPDIR"] = "/tmp"
    repl = start("--profile", "min")
    repl.type(SHOW)
    path = repl.expect(r"\n\[image png 1x1, 70 B\] (/tmp/cella-images-\w+/image-1\.png)\n").group(1)
    with open(path, "rb") as file:
        assert base64.b64encode(file.read()).decode() == PNG
    shutil.rmtree(os.path.dirname(path))
