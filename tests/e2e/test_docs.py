"""The README and the pages of docs/ say nothing that is not so: every block of shell, Python and
JSON is run, or stands below with the reason why not. Blocks of a page share a shell."""

import json
import os
import re
import subprocess

import pytest

from harness.daemon import SOURCE
from harness.host import PATIENCE
from harness.pages import all_blocks, differs, last_object
from harness.shell import Shell

pytestmark = pytest.mark.one_mode

# (page, text of the block or "" for all of them): why it is not run here.
EXEMPT = {
    ("README.md", ""): "test_readme.py runs it, with a daemon that the commands start",
    ("CONTRIBUTING.md", ""): "builds and tests, as whoever runs this does",
    ("docs/TESTING.md", ""): "builds and tests, as whoever runs this does",
    ("docs/NOTEBOOKS.md", "cella run analysis"): "test_notebooks_page.py runs it",
    ("docs/NOTEBOOKS.md", "cella convert"): "test_notebooks_page.py runs it",
    ("docs/NOTEBOOKS.md", "cella notebook list"): "test_notebooks_page.py runs it",
    ("docs/TERMINAL.md", ""): "needs a terminal; test_terminal.py has one",
    ("docs/CLIENTS.md", ""): "tests/clients has every call, and installs what is built",
    ("docs/CONFORMANCE.md", "make test"): "this is that test",
    ("docs/CONNECT.md", ""): "of other programs; tests/clients/test_connect.py reads the entries",
    ("docs/QUICKSTART.md", "cella serve &"): "the daemon of the tests runs already",
}

# What a page takes for granted: shell commands before its first block. `id` is a session.
SET_OUT = {
    "docs/FILES.md": """
        mkdir -p src; echo 1 > src/a.py; printf 'a,b\\n1,2\\n' > data.csv
        echo 'import sys; print(sys.argv[1], open("data.csv").readline())' > report.py
        cella exec -s $id 'import os; os.mkdir("out"); [open(f, "w").write("1") for f in
            ("out/plot.png", "model.pkl")]; os.mkdir("backup")'
        cella exec -s $id '1' && cella notebook export $id -o analysis.ipynb
        """,
    "docs/EXPLORE.md": """python3 -c "import zipfile
zipfile.ZipFile('logs.zip', 'w').writestr('today.log', 'error')"
        cella put logs.zip $id: && cella exec -s $id 'import os; os.mkdir("logs")'
        cella exec -s $id 'open("logs/today.txt", "w").write("user 7")'""",
    "docs/NOTEBOOKS.md": "url=${url%/sessions}/notebooks",
    "docs/PYTHON.md": """cella exec -s $id 'path = "notes"; open("notes.txt", "w").write("1")'""",
    "docs/STATE.md": """cella exec -s $id 'class Model:
    def to_file(self, path): pass
    def from_file(path): pass'""",
}

# What the commands of a page must have written, besides ending well.
WRITTEN = {
    "docs/QUICKSTART.md": ["45\n", "21\n", "[ 1, 4, 9 ]\n", "42\n", "event: result", "ok 21\n"],
    "docs/SESSIONS.md": ["21\n", '"suspended"', '"resumed"', 'bit_length', '"found":true'],
    "docs/FILES.md": ['"created":true', "june a,b"],
    "docs/PORTS.md": ["<!DOCTYPE HTML"],
    "docs/NOTEBOOKS.md": ["Out[1]: 42", '"ran":2', '"text":"82"'],
    "docs/PYTHON.md": ["42\n", "CPU times"],
    "docs/EXPLORE.md": ['"chars":46', "2: 12:05 error: disk full"],
    "docs/TOOLBOX.md": ["1025\n", "[[3]]\n", '"result":42', "Observation:\n[a]: {'expression': "],
    "docs/STATE.md": ['"name":"f"', '"text":"True"'],
    "docs/ONESHOT.md": ['"stdout":"42\\n"'],
    "docs/AGENTS.md": ["REPL session started"],
    "docs/ARCHITECTURE.md": ["21\n", "took back cell 2"],
    "docs/LIMITS.md": ['"memory_mb":1024'],
    "docs/TOOLS.md": ["look(output=2, session=", "[undid cell"],
    "docs/MCP.md": ["42"],
    "docs/TROUBLESHOOTING.md": ["a,b\\n1,2\\n", '"status":"ok"'],
}

# Pages that undo cell by cell: their reader looks at each answer, so that no two cells share a
# checkpoint.
UNHURRIED = {"docs/QUICKSTART.md", "docs/ARCHITECTURE.md"}
REST = """
rest() {
    for n in {1..200}; do
        [[ $(command curl -s $url/$id/checkpoints -H "Authorization: Bearer $key") \\
            =~ \\"cells_since\\":[1-9] ]] || break
        sleep 0.05
    done
}
trap rest DEBUG
"""

# Python of these pages is a program of the reader's; of others it is cells of a session.
PROGRAMS = {"docs/QUICKSTART.md"}
# Made by packaging/pages.py from what the program answers, and not from these commands.
MADE = {"docs/API.md", "docs/ERRORS.md"}
SHOWS_FAILURES = {"docs/ERRORS.md"}

MARK = "=== the next block ==="


def is_exempt(page, text):
    return any(page == where and part in text for where, part in EXEMPT)


def pages():
    found = [SOURCE / "README.md", SOURCE / "CONTRIBUTING.md", *sorted(SOURCE.glob("docs/*.md"))]
    return [str(path.relative_to(SOURCE)) for path in found]


def runnable(page):
    return [(kind, text) for kind, text in all_blocks(page)
            if kind in ("sh", "python") and not is_exempt(page, text)]


class Reader(Shell):
    """Somebody who pastes the blocks of a page into one shell, in a folder and home of their
    own."""

    def __init__(self, daemon, folder):
        super().__init__(daemon.binary, daemon.user, daemon.data)
        self.folder, self.port = folder, daemon.address[1]
        (folder / "bin").mkdir()
        (folder / "bin" / "cella").symlink_to(self.binary)
        (folder / ".local/state").mkdir(parents=True)
        (folder / ".local/state/cella").symlink_to(daemon.data)
        self.env.update(HOME=str(folder), PATH=f"{folder}/bin:{self.env['PATH']}",
                        ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")

    def paste(self, page, session):
        """What each block wrote."""
        script = [
            "set -euo pipefail",
            "key=$(cat ~/.local/state/cella/key) url=http://127.0.0.1:7300/v1/sessions",
            f"id={session.id}",
            "" if page in SHOWS_FAILURES else 'curl() { command curl --fail-with-body "$@"; }',
            "" if page not in SHOWS_FAILURES else "set +e",
            SET_OUT.get(page, ""),
            REST if page in UNHURRIED else "",
        ]
        for kind, text in runnable(page):
            script.append(f"printf '\\n%s\\n' '{MARK}'")
            script.append(text if kind == "sh" else self.python(page, text))
        text = "\n".join(script).replace("127.0.0.1:7300", f"127.0.0.1:{self.port}")
        done = subprocess.run(["bash", "-c", text.replace("0b9c", session.id[:13])],
                              capture_output=True, text=True, timeout=PATIENCE,
                              **{**self.options(), "cwd": self.folder})
        assert done.returncode == 0, (done.stdout[-3000:], done.stderr[-3000:])
        return done.stdout.split(f"\n{MARK}\n")[1:]

    @staticmethod
    def python(page, text):
        command = "python3 -" if page in PROGRAMS else "cella exec --session $id --file -"
        return f"{command} <<'THE END'\n{text}THE END"


@pytest.fixture
def reader(daemon, client, folder):
    before = {s["session_id"] for s in client.sessions()}
    yield Reader(daemon, folder)
    for session in client.sessions():
        if session["session_id"] not in before:
            client.request("DELETE", f"/v1/sessions/{session['session_id']}")


@pytest.mark.parametrize("page", [page for page in pages() if runnable(page)])
def test_the_blocks(reader, client, page):
    told = reader.paste(page, client.spawn())
    for text in WRITTEN.get(page, []):
        assert text in "".join(told), (text, told)
    for kind, text in all_blocks(page):
        if kind in ("sh", "python") and not is_exempt(page, text):
            before = told.pop(0)
        elif kind == "answer" and page not in MADE:
            assert not differs(last_object(before), json.loads(text)), (text, before)


@pytest.mark.parametrize("page", pages())
def test_the_json(page):
    for kind, text in all_blocks(page):
        is_cut = page in MADE and text.endswith("\n…\n")
        if kind in ("json", "answer") and not is_cut:
            json.loads(text)


def test_what_is_exempt_is_there():
    for (page, part) in EXEMPT:
        if (SOURCE / page).exists():
            assert any(part in text for kind, text in all_blocks(page) if kind == "sh"), page
    for page in (*SET_OUT, *WRITTEN, *PROGRAMS):
        assert runnable(page), page


@pytest.mark.smoke
def test_pages_begin_with_something_to_paste_and_lead_to_what_exists():
    for page in pages():
        text = (SOURCE / page).read_text()
        assert "```" in text.split("\n## ")[0] or page in ("README.md", "docs/BENCHMARKS.md"), page
        prose = re.sub(r"`[^`\n]+`", "", text)  # where patterns are no links
        for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", prose):
            assert (SOURCE / page).parent.joinpath(link).exists(), (page, link)
