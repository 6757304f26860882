"""`cella notebook`: what sessions ran, shown, changed, run again, brought in and out."""

import json
import re
import signal

import nbformat
import pytest

from harness.host import PATIENCE
from harness.shell import Shell

PLOT = "import matplotlib.pyplot as plt; plt.plot([1]); plt.show()"


class Books(Shell):
    """`cella notebook` against a daemon, in a folder of its own."""

    def __init__(self, daemon, folder):
        super().__init__(daemon.binary, daemon.user, daemon.data)
        self.folder = folder

    def options(self):
        return {**super().options(), "cwd": self.folder}

    def do(self, *args, check=0, stdin=""):
        return super().__call__("notebook", *args, check=check, stdin=stdin).stdout

    def json(self, *args, check=0):
        return json.loads(self.do(*args, "--json", check=check))

    def sources(self, notebook):
        return [cell["code"] for cell in self.json("show", notebook)["cells"]]


@pytest.fixture
def books(daemon, folder):
    return Books(daemon, folder)


@pytest.fixture
def notebook(books):
    """Of a session that ran two cells."""
    made = books.json("new", "--title", "Trial", "--profile", "min")["notebook_id"]
    books("exec", "-s", made, "x = 41\nprint('hello')\nx + 1", check=0)
    books("exec", "-s", made, "1 / 0", check=1)
    yield made
    books("notebook", "delete", made)
    books("kill", made)


# showing


def ageless(table):
    """A second may pass between two looks."""
    return re.sub(r" +\d+[smhd]$", "", table, flags=re.M)


@pytest.mark.smoke
@pytest.mark.slow
def test_cells_are_drawn_as_people_know_them(books, notebook):
    text = books.do("show", notebook[:8])
    assert "In [1]: x = 41\n        print('hello')\n        x + 1\n    hello\nOut[1]: 42\n" in text
    assert re.search(r"^-- 1  \w+  error  [\d.]+ ms\nIn \[2\]: 1 / 0\n    Traceback", text, re.M)
    one = books.do("show", notebook, "-1")
    assert "ZeroDivisionError" in one and "hello" not in one
    assert books.json("show", notebook, "0")["code"].startswith("x = 41")
    (listed,) = [n for n in books.json("list")["notebooks"] if n["notebook_id"] == notebook]
    assert (listed["title"], listed["cell_count"], listed["runtime"]) == ("Trial", 2, "python")
    assert re.search(rf"^{notebook} +Trial +python +idle +2 +\S+$", books.do("list"), re.M)
    assert ageless(books.do()) == ageless(books.do("list")) != ""


@pytest.mark.smoke
def test_a_session_that_ran_nothing_has_one_too(books, session):
    assert f"{session.id} - python 0 cells" in books.do("show", session.id[:13])
    books.do("add", session.id[:13], "x = 1")
    assert books.sources(session.id[:13]) == ["x = 1"]


@pytest.mark.smoke
def test_those_of_one_agent_are_listed(books, notebook):
    listed = [[n["notebook_id"] for n in books.json("list", "--user", name)["notebooks"]]
              for name in ("default", "nobody")]
    assert notebook in listed[0] and listed[1] == []


@pytest.mark.smoke
def test_a_title_is_set(books, notebook):
    assert "Results \u2713" in books.do("title", notebook[:8], "Results \u2713")
    assert books.json("show", notebook)["title"] == "Results \u2713"
    assert books.json("title", notebook, "Other")["title"] == "Other"
    books("notebook", "title", notebook, check=64)
    books("notebook", "title", "nobody", "x", check=66)


def test_what_the_code_declared_and_what_would_be_lost(books, notebook):
    assert "would not survive" not in books.do("show", notebook)
    books("exec", "-s", notebook, "import wave\ndef twice(x):\n    return 2 * x\n"
          "class C: pass\nf = open('/dev/null')", check=0)
    text = books.do("declarations", notebook[:8])
    assert "imports, done again:\n  import wave\n" in text
    assert "made again from their source:\n  function twice\n  class C\n" in text
    assert re.search(r"^(would not survive|not saved):\n  f \(file handle\): .*reopen", text, re.M)
    told = books.json("declarations", notebook)
    assert [one["name"] for one in told["lost"]] == ["f"] and "busy" not in told
    last = books.do("show", notebook).splitlines()[-1]
    assert last == (f"would not survive: f (file handle); "
                    f"see: cella notebook declarations {notebook[:8]}")
    assert "would not survive" not in books.do("show", notebook, "0")


def test_images_are_told_by_their_references(books, notebook):
    books.do("add", notebook, "--run", PLOT)
    assert re.search(rf"\[image png \d+x\d+, [\d.]+ KB: notebook://{notebook}/cell/\w+/image/0\]",
                     books.do("show", notebook, "-1"))


def test_what_a_cell_wrote_cannot_hurt_the_terminal(books, notebook):
    books.do("add", notebook, "--run", r"print('\x1b]0;title\x07\x1b[2J\u202e evil', end='')")
    shown = books.do("show", notebook, "-1")
    assert not set("\x1b\x07\u202e") & set(shown) and "evil" in shown


# changing


def test_cells_are_added_edited_moved_and_removed(books, notebook):
    assert re.fullmatch(r"cell 0  \w+\n",
                        books.do("add", notebook, "--at", "0", "--kind", "markdown", "# T"))
    books.do("add", notebook, stdin="from_stdin = 1\n")
    (books.folder / "code.py").write_text("from_file = 1")
    books.do("add", notebook, "-f", "code.py")
    assert books.sources(notebook)[3:] == ["from_stdin = 1\n", "from_file = 1"]
    assert "revision 2" in books.do("edit", notebook, "-1", "edited = 1")
    books.do("move", notebook, "-1", "1")
    assert books.sources(notebook)[:2] == ["# T", "edited = 1"]
    books.do("rm", notebook, "1", "4")
    assert [s[:6] for s in books.sources(notebook)] == ["# T", "x = 41", "1 / 0"]
    books.do("edit", notebook, "0", "--kind", "raw")
    assert books.json("show", notebook, "0")["kind"] == "raw"


def test_an_edit_of_what_somebody_else_changed_is_refused(books, notebook):
    books.do("edit", notebook, "0", "a")
    done = books("notebook", "edit", notebook, "0", "b", "--revision", "1")
    assert done.returncode != 0 and "revision" in done.stderr
    assert books.sources(notebook)[0] == "a"


def test_outputs_and_cells_are_cleared(books, notebook):
    books.do("clear", notebook, "0")
    assert ["outputs" in c for c in books.json("show", notebook)["cells"]] == [False, True]
    books.do("clear", notebook)
    assert not any("outputs" in c for c in books.json("show", notebook)["cells"])
    books.do("clear", notebook, "--cells")
    assert books.sources(notebook) == []


# running


def test_cells_run_again(books, notebook):
    books.do("edit", notebook, "0", "import sys\nprint('live')\nprint('e', file=sys.stderr)\n5")
    done = books("notebook", "run", notebook, "0", check=0)
    assert (done.stdout, done.stderr) == ("live\n5\n", "e\n")
    assert books("notebook", "run", notebook, "1", check=1).stderr.count("ZeroDivisionError") == 1
    answer = books.json("run", notebook, "0")
    assert answer["value"]["text"] == "5"
    assert answer["cell_id"] == books.json("show", notebook, "0")["cell_id"]
    assert books.do("add", notebook, "--run", "x + 1") == "42\n"


def test_a_range_of_cells_runs(books, notebook):
    books.do("add", notebook, "y = 1")
    done = books("notebook", "run", notebook, check=1)
    assert [line.split()[-1] for line in done.stdout.splitlines()] == ["ok", "error"]
    assert "notebook show" in done.stderr
    told = books.json("run", notebook, "--allow-errors", check=1)
    assert [c["status"] for c in told["cells"]] == ["ok", "error", "ok"]
    assert books.json("run", notebook, "--from", "2")["ran"] == 1
    assert books.json("run", notebook, "--to", "0")["ran"] == 1


def test_pictures_of_a_run_are_saved(books, notebook):
    cell = books.json("add", notebook, PLOT)["cell"]["cell_id"]
    assert books.do("run", notebook, cell, "--save-images", "no/where", check=66) == ""
    books.do("run", notebook, cell, "--save-images", ".")
    assert (books.folder / "image-1.png").read_bytes().startswith(b"\x89PNG")


def test_a_cell_has_its_time(books, notebook):
    books.do("add", notebook, "while True: pass")
    books.do("run", notebook, "-1", "--timeout", "300ms", check=124)


# in and out


def test_export_and_import(books, notebook):
    assert re.fullmatch(r"out\.ipynb: ipynb, [\d.]+ K?B\n",
                        books.do("export", notebook, "-o", "out.ipynb"))
    made = nbformat.reads((books.folder / "out.ipynb").read_text(), 4)
    nbformat.validate(made)
    assert made.cells[0].outputs[0].text == "hello\n"
    told = books.json("export", notebook, "-o", "out.html")
    assert told["bytes"] == (books.folder / "out.html").stat().st_size
    assert "# %%\nx = 41" in books.do("export", notebook, "--format", "script")
    again = books.json("import", "out.ipynb", "--title", "Again")["notebook_id"]
    assert books.sources(again) == books.sources(notebook)
    assert "Out[1]: 42" in books.do("show", again)
    (books.folder / "code.sh").write_text("x=5\n# %%\necho $((x + 1))\n")
    script = books.do("import", "code.sh").split()[1]
    assert books("notebook", "run", script, "0", "1", check=0).stdout == "6\n"
    books.do("delete", again, script)
    assert books("notebook", "show", again).returncode == 66


def test_the_language_of_a_new_notebook_and_of_an_imported_script(books):
    made = books.json("new", "-r", "bash")["notebook_id"]
    assert books.do("add", made, "--run", "echo $((6 * 7))") == "42\n"
    books("kill", made, check=0)
    (books.folder / "code").write_text("echo one\n# %%\necho two\n")
    read = books.json("import", "code", "--format", "script", "--runtime", "bash")["notebook_id"]
    assert books.sources(read) == ["echo one", "echo two"]
    assert books("notebook", "run", read, "1", check=0).stdout == "two\n"
    books("kill", read, check=0)


def test_a_notebook_outlives_its_session_and_runs_again(books):
    made = books.json("new", "--profile", "min")["notebook_id"]
    books.do("add", made, "--run", "x = 6; x")
    books("exec", "-s", made, "import os; os._exit(0)")
    assert "Out[1]: 6" in books.do("show", made)
    assert books.do("run", made, "0") == "6\n"
    books.do("delete", made)
    books("kill", made)


def test_a_notebook_goes_with_its_session_unless_it_is_kept(books):
    kept, gone = [books.json("new", "--profile", "min")["notebook_id"] for _ in range(2)]
    for made in (kept, gone):
        books.do("add", made, "--run", "x = 6; x")
    books("kill", "--keep-notebook", kept, check=0)
    books("kill", gone, check=0)
    assert "Out[1]: 6" in books.do("show", kept)
    assert books("notebook", "show", gone).returncode == 66
    books.do("delete", kept)


def test_watching(books, notebook):
    process = books.start("notebook", "watch", notebook, "--json")
    assert json.loads(process.stdout.readline())["event"] == "watching"
    books.do("add", notebook, "--run", "print('seen')")
    seen = []
    while not seen or seen[-1].get("cell", {}).get("status") != "ok":
        seen.append(json.loads(process.stdout.readline()))
    assert seen[0]["event"] == "cell_added" and seen[0]["cell"]["code"] == "print('seen')"
    told = "".join(e["text"] for e in seen if e["event"] == "output")
    assert told == "seen\n"  # in one part or two: print writes the end of the line apart
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 0
    process = books.start("notebook", "watch", notebook)
    assert process.stdout.readline() == b"watching\n"
    books.do("rm", notebook, "-1")
    assert process.stdout.readline().startswith(b"cell_removed  ")
    books.do("delete", notebook)
    assert process.stdout.readline() == b"deleted\n" and process.wait(PATIENCE) == 0


@pytest.mark.parametrize("args, status, words", [
    (["shwo"], 64, "did you mean 'show'"),
    (["show"], 64, "takes: ID"),
    (["show", "ffffffff"], 66, "no notebook"),
    (["show", "../x"], 66, "no notebook"),
    (["show", "ID", "a/b"], 64, "no cell"),
    (["show", "ID", "99"], 66, "99"),
    (["move", "ID", "0", "up"], 64, "takes a number"),
    (["add", "ID", "--at", "first", "x"], 64, "takes a number"),
    (["add", "ID", "--kind", "music", "x"], 64, "kind"),
    (["export", "ID", "-o", "x.zip"], 64, "format"),
    (["export", "ID", "--json"], 64, "standard output"),
    (["import", "missing.ipynb"], 66, "missing.ipynb"),
    (["run", "ID", "0", "--from", "1"], 64, "not both"),
    (["clear", "ID", "0", "--cells"], 64, "rm"),
])
@pytest.mark.sampled(3)
def test_mistakes_are_told(books, notebook, args, status, words):
    args = [notebook if a == "ID" else a for a in args]
    done = books("notebook", *args)
    assert done.returncode == status and words in done.stderr + done.stdout, done
    told = json.loads(books("notebook", *args, "--json").stdout)
    assert told["error"]["message"]
