"""`cella run --with`: files beside a notebook, or elsewhere, taken along into its sandbox."""

import contextlib
import os
import pty
import subprocess

import pytest

from test_cli_run import Runner

READ = "print(open({!r}).read())"
LIST = "import os; print(sorted(os.path.join(d, f)[2:] for d, _, s in os.walk('.') for f in s))"


@pytest.fixture
def runner(daemon, folder):
    return Runner(daemon, folder)


def write(folder, **files):
    """Files of these names; __ in one is a slash, and _ a dot."""
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.parent.chmod(0o755)
        path.write_text(text)


def printed(notebook):
    return "".join(o.text for c in notebook.cells for o in c.outputs if o.output_type == "stream")


@pytest.mark.smoke
def test_a_file_beside_the_notebook_is_there_with_its_name(runner, folder):
    write(folder, data_csv="a,b\n1,2")
    out = runner.run([READ.format("data.csv")], "--profile", "min", "--with", "data.csv")
    assert printed(out) == "a,b\n1,2\n"


@pytest.mark.smoke
def test_a_cell_that_crashes_or_writes_leaves_the_file_for_the_next(runner, folder):
    write(folder, data_csv="as it was")
    out = runner.run(["import os; open('data.csv', 'w').write('half'); os._exit(1)",
                      READ.format("data.csv")],
                     "--profile", "min", "--with", "data.csv", "--allow-errors")
    assert printed(out) == "as it was\n"
    assert (folder / "data.csv").read_text() == "as it was"


@pytest.mark.smoke
def test_directories_go_with_what_is_in_them_but_for_hidden_names(runner, folder):
    write(folder, tables__a_csv="a", tables__deep__b_csv="b", tables___hidden="no", other_csv="o")
    (folder / "tables" / "link.csv").symlink_to("../other.csv")
    (folder / "tables" / "loop").symlink_to(".")
    os.mkfifo(folder / "tables" / "pipe")
    out = runner.run([LIST], "--profile", "min", "--with", "tables/", "--with", "./other.csv")
    assert printed(out) == ("['other.csv', 'tables/a.csv', 'tables/deep/b.csv', "
                            "'tables/link.csv']\n")


@pytest.mark.smoke
def test_what_lies_elsewhere_has_its_own_name(runner, folder):
    write(folder, books__sub__x="", far__set__a_csv="a", far__set__deep__b_csv="b", far__c_csv="c")
    runner.write([LIST], "books/in.ipynb")
    done = runner("run", "books/in.ipynb", "-o", "out.ipynb", "--profile", "min", "--with",
                  "far/set", "--with", str(folder / "far/c.csv"), "--with", "books/../books/sub/x")
    assert done.returncode == 0, done
    assert printed(runner.read()) == "['c.csv', 'set/a.csv', 'set/deep/b.csv', 'sub/x']\n"


def test_names_of_all_kinds(runner, folder):
    for name in ("with space.csv", "ünï.csv", "100%.csv", "a+b&c?.csv", "'quoted'.csv"):
        (folder / name).write_text(name)
    out = runner.run([LIST], "--profile", "min", "--with", ".")
    assert eval(printed(out)) == sorted(["with space.csv", "ünï.csv", "100%.csv", "a+b&c?.csv",
                                         "'quoted'.csv", "in.ipynb"])


@pytest.mark.parametrize("with_, words", [
    (["missing.csv"], "No such file"),
    (["one/a.csv", "two/a.csv"], "another file would have the same name"),
    (["/dev/null"], "neither a file nor a directory"),
    (["huge"], "more than 1 TiB"),
    (["many"], "more than 1000 files"),
])
def test_what_cannot_go_is_said_before_anything_runs(runner, folder, with_, words):
    write(folder, one__a_csv="1", two__a_csv="2", books__x="")
    with open(folder / "huge", "wb") as file:
        file.truncate((1 << 40) + 1)
    (folder / "many").mkdir(mode=0o755)
    for i in range(1001):
        (folder / "many" / str(i)).touch()
    runner.write(["print(1)"], "books/in.ipynb")
    options = [word for path in with_ for word in ("--with", path)]
    done = runner("run", "books/in.ipynb", "-o", "out.ipynb", *options)
    assert done.returncode == 64 and words in done.stderr, done
    assert not (folder / "out.ipynb").exists()


def test_a_notebook_that_is_not_there_is_what_is_missed(runner, folder):
    write(folder, data_csv="x")
    done = runner("run", "nowhere/in.ipynb", "-o", "out.ipynb", "--with", "data.csv")
    assert "nowhere/in.ipynb" in done.stderr and "No such file" in done.stderr, done


def test_a_session_that_is_too_small_for_it_says_so(runner, folder, daemon):
    with open(folder / "big", "wb") as file:
        file.write(os.urandom(1 << 20) * 9)
    session = daemon.client.spawn("min", limits={"disk_mb": 8})
    runner.write(["print(1)"])
    done = runner("run", "in.ipynb", "-o", "out.ipynb", "--join", session.id, "--with", "big")
    assert done.returncode == 64 and "disk limit" in done.stderr, done
    session.kill()


def test_large_files_are_shown_to_people_as_they_go(runner, folder):
    (folder / "small.csv").write_text("x")
    (folder / "large.bin").write_bytes(bytes(9_000_000))
    runner.write(["print(1)"])
    ours, theirs = pty.openpty()
    process = subprocess.Popen([runner.binary, "run", "in.ipynb", "--profile", "min", "--with",
                                "small.csv", "--with", "large.bin"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=theirs, **runner.options())
    os.close(theirs)
    seen = b""
    with open(ours, "rb", buffering=0) as terminal, contextlib.suppress(OSError):
        while piece := terminal.read(4096):
            seen += piece
    assert process.wait() == 0
    assert b"file 1 of 2, 0.0 MB: small.csv" in seen
    assert b"file 2 of 2, 9.0 MB: large.bin" in seen


# ---- what was forgotten --------------------------------------------------------------------------


def test_a_cell_that_misses_a_file_beside_the_notebook_is_told_of_the_flag(runner, folder):
    write(folder, data_csv="x", tables__a_csv="x")
    runner.run(["open('data.csv')"], "--profile", "min", check=1)
    assert ("data.csv is beside the notebook, but not in its sandbox. Take it along: "
            "--with data.csv\n") in runner.done.stderr
    runner.run(["open('./tables/a.csv')", "open('data.csv')", "open('gone')"], "--profile", "min",
               "--with", "data.csv", "--allow-errors", check=0)
    assert runner.done.stderr.count("--with") == 1 and "--with tables/a.csv\n" in runner.done.stderr


def test_the_flag_is_what_one_would_type(runner, folder):
    write(folder, books__x="")
    (folder / "books" / "my data.csv").write_text("x")
    runner.write(["open('my data.csv')"], "books/in.ipynb")
    done = runner("run", "books/in.ipynb", "-o", "out.ipynb", "--profile", "min")
    assert done.returncode == 1 and "--with 'books/my data.csv'\n" in done.stderr, done


def test_other_missing_files_are_only_an_error(runner, folder):
    write(folder, data_csv="x")
    for code in ("open('/data.csv')", "open('../data.csv')", "open('elsewhere.csv')",
                 "raise ValueError('data.csv')"):
        runner.run([code], "--profile", "min", check=1)
        assert "--with" not in runner.done.stderr, runner.done
