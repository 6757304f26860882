"""Files by the command line: ls, put, get, cp, mv, rm; scripts with arguments and files beside
them; what a notebook wrote."""

import filecmp
import io
import json
import os
import subprocess
import tarfile

import pytest

from harness.shell import Shell

pytestmark = pytest.mark.one_mode


class FolderShell(Shell):
    """One whose commands run in a folder of the daemon's user."""

    def __init__(self, daemon, folder):
        super().__init__(daemon.binary, daemon.user, daemon.data)
        self.folder = folder

    def options(self):
        return {**super().options(), "cwd": str(self.folder)}

    def bytes(self, *args, stdin=b""):
        done = subprocess.run([self.binary, *args], input=stdin, capture_output=True,
                              **self.options())
        assert done.returncode == 0, done
        return done.stdout


@pytest.fixture
def shell(daemon, folder):
    folder.chmod(0o777)
    return FolderShell(daemon, folder)


def make(folder, **files):
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


@pytest.mark.smoke
def test_files_and_folders_go_there_and_back(shell, session, folder):
    content = os.urandom(3 << 20) + bytes(range(256))
    make(folder, data_bin=content, dir__a=b"a", dir__sub__b_txt=b"bb")
    (folder / "dir/sub/b.txt").chmod(0o755)
    (folder / "dir/link").symlink_to("a")
    shell("put", "data.bin", f"{session.id}:", check=0)
    done = shell("put", "dir", f"{session.id[:13]}:up/", check=0)
    assert "1 links" in done.stderr
    shell("put", "dir/a", f"{session.id}:renamed", check=0)
    listed = shell("ls", "-R", session.id, check=0).stdout.split()
    assert listed == ["data.bin", "renamed", "up/", "up/dir/", "up/dir/a", "up/dir/sub/",
                      "up/dir/sub/b.txt"]
    assert session.value("import os; os.path.getsize('data.bin'), "
                         "oct(os.stat('up/dir/sub/b.txt').st_mode)"
                         ) == f"({len(content)}, '0o100755')"
    shell("get", f"{session.id}:data.bin", "back", check=0)
    assert (folder / "back").read_bytes() == content
    shell("get", f"{session.id}:up", check=0)
    same = filecmp.dircmp(folder / "dir", folder / "up/dir")
    assert (same.left_only, same.right_only, same.diff_files) == (["link"], [], [])
    assert os.access(folder / "up/dir/sub/b.txt", os.X_OK)
    assert shell.bytes("get", f"{session.id}:data.bin", "-") == content
    packed = shell.bytes("get", f"{session.id}:up/dir", "-")
    assert tarfile.open(fileobj=io.BytesIO(packed)).getnames() == ["a", "sub", "sub/b.txt"]
    shell.bytes("put", "-", f"{session.id}:piped", stdin=content)
    assert session.get("piped").body == content
    shell("cp", f"{session.id}:piped", f"{session.id}:up/", check=0)
    shell("mv", f"{session.id}:up/piped", f"{session.id}:moved", check=0)
    shell("mkdir", f"{session.id}:made/here", check=0)
    assert "recursive" in shell("rm", f"{session.id}:up").stderr
    shell("rm", "-r", f"{session.id}:up", f"{session.id}:piped", check=0)
    entries = json.loads(shell("ls", "--json", session.id, "--pattern", "m*").stdout)["entries"]
    assert [(e["path"], e["type"]) for e in entries] == [("made", "folder"), ("moved", "file")]


@pytest.mark.parametrize("words, status, message", [
    (["get", "{id}:nothing"], 66, "no file nothing"),
    (["put", "nothing", "{id}:"], 66, "No such file"),
    (["put", "-", "{id}:"], 64, "has no name"),
    (["put", "f"], 64, "where to"),
    (["cp", "f", "g"], 64, "names no file of a session"),
    (["get", "f", "g"], 64, "names no file of a session"),
    (["ls"], 64, "name one session"),
    (["rm", "f"], 64, "names no file of a session"),
    (["get", "{id}:../etc/passwd"], 64, "no path of a file"),
    (["ls", "ffffffff-none:"], 66, "session"),
])
def test_mistakes(shell, session, folder, words, status, message):
    make(folder, f=b"f")
    done = shell(*[w.replace("{id}", session.id) for w in words])
    assert done.returncode == status and message in done.stderr, done


def test_a_file_that_does_not_fit_leaves_nothing_here_or_there(shell, spawn, folder):
    session = spawn("min", limits={"disk_mb": 4})
    make(folder, big=bytes(30 << 20), dir__big=bytes(30 << 20))
    for name in ("big", "dir"):
        assert "disk limit" in shell("put", name, f"{session.id}:x").stderr
    assert shell("ls", session.id, check=0).stdout == ""
    make(folder, keep=b"old")
    assert shell("get", f"{session.id}:none", "keep").returncode == 66
    assert (folder / "keep").read_bytes() == b"old"
    assert sorted(p.name for p in folder.iterdir()) == ["big", "dir", "keep"]


def test_a_folder_of_a_session_makes_nothing_beside_its_place_here(shell, session, folder):
    make(folder, outside__keep=b"old")
    (folder / "place").mkdir()
    (folder / "place").chmod(0o777)
    (folder / "place/d").symlink_to(folder / "outside")
    session.put("d/keep", b"new")
    done = shell("get", f"{session.id}:", "place/")
    assert done.returncode == 0 or "d" in done.stderr
    done = shell("cp", f"{session.id}:d", "place/d/../d2", check=0)
    assert (folder / "outside/keep").read_bytes() == b"old"


# ---- scripts -------------------------------------------------------------------------------------


@pytest.mark.smoke
@pytest.mark.parametrize("name, code, printed, status", [
    ("s.py", "import sys; print(sys.argv, __file__, open('data').read()); sys.exit(3)",
     "['/workspace/s.py', 'a', \"b 'c\", '-d'] /workspace/s.py data\n", 3),
    ("s.js", "console.log(JSON.stringify(process.argv.slice(1)), __filename,"
             " require('fs').readFileSync('data', 'utf8')); process.exit(4)",
     "[\"/workspace/s.js\",\"a\",\"b 'c\",\"-d\"] /workspace/s.js data\n", 4),
    ("s.sh", "echo \"$0:$1:$2:$3:$#:$(cat data)\"; exit 5",
     "/workspace/s.sh:a:b 'c:-d:3:data\n", 5),
])
def test_a_script_has_arguments_a_file_and_an_exit_status(shell, folder, name, code, printed,
                                                         status):
    make(folder, **{name.replace(".", "_"): code.encode(), "data": b"data"})
    done = shell("exec", name, "a", "b 'c", "--with", "data", "--", "-d")
    assert (done.stdout, done.returncode) == (printed, status), done
    done = shell("exec", "-f", name, "a", "b 'c", "-w", "data", "--", "-d")
    assert (done.stdout, done.returncode) == (printed, status), done


def test_a_script_that_is_not_there_and_one_that_ends_well(shell, session, folder):
    make(folder, ok_py=b"import sys\nif __name__ == '__main__': x = len(sys.argv)")
    for name in ("nofile.py", "nofile.js", "nofile.sh"):
        done = shell("exec", name, "a")
        assert done.returncode == 66 and f"there is no file {name}" in done.stderr
    shell("exec", "--session", session.id, "ok.py", "a", "b", check=0)
    assert session.value("x") == "3"
    assert session.get("ok.py").status == 404  # what was there is not changed
    assert shell("exec", "1 + 1", "2").returncode == 64


# ---- what a notebook wrote -----------------------------------------------------------------------


@pytest.mark.smoke
def test_what_a_notebook_wrote_is_told_and_brought_back(shell, folder):
    make(folder, w_py=b"# %%\nopen('results.csv', 'w').write('1,2')\nopen('in.txt').read()\n"
                      b"import os; os.makedirs('p/__pycache__')\n"
                      b"open('p/a', 'wb').write(b'\\xff')\n"
                      b"open('p/__pycache__/x', 'w').close(); open('.hidden', 'w').close()\n",
         in_txt=b"in")
    done = shell("run", "w.py", "--with", "in.txt", "--profile", "min", check=0)
    assert "it wrote 2 files: p/a (1 bytes), results.csv (3 bytes)" in done.stderr
    assert "--out" in done.stderr
    done = shell("run", "w.py", "--with", "in.txt", "--profile", "min", "--out", "o/ut", check=0)
    assert "now in o/ut" in done.stderr
    assert (folder / "o/ut/p/a").read_bytes() == b"\xff"
    assert sorted(p.name for p in (folder / "o/ut").rglob("*")) == ["a", "p", "results.csv"]
    answer = json.loads(shell("run", "w.py", "--with", "in.txt", "--profile", "min", "--json",
                              "--out", "again", check=0).stdout)
    assert [f["path"] for f in answer["files"]] == ["p/a", "results.csv"]
    assert answer["out"] == "again"
