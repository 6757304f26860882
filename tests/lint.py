#!/usr/bin/python3
"""Checks of the sources that no compiler makes. One line for each check, as in TAP; every finding
names the place. Exit status 1 if anything was found."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import shape

TOP = Path(__file__).resolve().parent.parent

# Includes may only point to a room with a smaller number. The command line tool stands above the
# server, because one of its verbs starts it.
LEVELS = {
    "base": 0,
    "wire": 1, "loop": 1, "blob": 1,
    "cell": 2, "jail": 2, "image": 2, "explore": 2,
    "runtime": 3, "store": 3, "drivers": 3, "toolbox": 3, "search": 3,
    "session": 4,
    "notebook": 5, "policy": 5,
    "ops": 6,
    "mcp": 7,
    "serve": 8,
    "cli": 9,
}

# The folders of jail/ by process and trust: what runs beside hostile code knows nothing of the
# processes that hold it, and only the daemon's side knows all. Headers that they share lie above.
JAIL_LEVELS = {"": 0, "inside": 1, "files": 2, "warden": 3, "client": 4}

BANNED = {
    r"\b(strcpy|strcat|sprintf|vsprintf|strtok|atoi|atol|atoll|gets|tmpnam|mktemp)\s*\(":
        "has hurt too many programs",
    r"\b(system|popen|alloca)\s*\(": "not in this program",
    r"\b(TODO|FIXME|XXX)\b": "finish it or open an issue",
    r"\btypedef\s+(struct|union)\s*(\w+\s*)?\{": "structs have no typedefs",
    r"\t": "indent with spaces",
    r"[ \t]+$": "space at the end of the line",
    r"-{20,}\n\s*\*/": "a section bar ends on its line",
    r"\bNULL: ": "write NULL if, or NULL for",
}

# A descriptor is close-on-exec from birth; a statement that makes one says so, or says why not.
DESCRIPTOR_MAKERS = re.compile(
    r"(?<![\w.>])(open|openat|socket|socketpair|pipe|pipe2|accept|accept4|dup|memfd_create|eventfd|"
    r"signalfd|timerfd_create|epoll_create1|inotify_init1|fanotify_init)\s*\([^;]*;")
CLOSED_ON_EXEC = re.compile(r"CLOEXEC|/\* inherited")


def files(pattern, *folders):
    for folder in folders:
        yield from sorted((TOP / folder).glob(pattern))


def place(path, line=None):
    name = str(path.relative_to(TOP))
    return name if line is None else f"{name}:{line}"


def without_comments(text):
    """The same text with comments and strings blanked, so that lines keep their numbers."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


def check_format():
    sources = [str(f) for f in files("**/*.[ch]", "src", "bench", "tests")]
    done = subprocess.run(["clang-format", "--dry-run", *sources], capture_output=True, text=True)
    found = {}
    for match in re.finditer(r"^(\S+?):(\d+):\d+: (?:warning|error)", done.stderr, re.M):
        found.setdefault(match.group(1), match.group(2))
    for name, line in found.items():
        yield f"{place(Path(name), line)}: not as clang-format writes it (make format)"
    if done.returncode != 0 and not found:
        yield done.stderr.strip()


def check_arrows():
    for path in files("**/*.[ch]", "src"):
        room = path.relative_to(TOP / "src").parts[0]
        if room not in LEVELS:
            yield f"{place(path)}: the room {room} has no place in the order (tests/lint.py)"
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
            if match is None:
                continue
            target = match.group(1).split("/")[0] if "/" in match.group(1) else room
            if target not in LEVELS:
                yield f"{place(path, number)}: {match.group(1)}: write \"room/file.h\""
            elif target != room and LEVELS[target] >= LEVELS[room]:
                yield f"{place(path, number)}: {room} may not include {target}"
            elif target == room == "jail":
                own, other = (jail_folder(name) for name in (place(path), f"src/{match.group(1)}"))
                if JAIL_LEVELS[other] > JAIL_LEVELS[own]:
                    yield f"{place(path, number)}: jail/{own} may not include jail/{other}"


def jail_folder(name):
    parts = name.split("/")  # src, jail, folder, file
    return parts[2] if len(parts) == 4 else ""


# Files of a room that all lead to each other (tests/shape.py) are one thing that nobody can read in
# parts. Three are the most.
KNOT_MAX = 3


def check_knots():
    code = {}
    for path in files("**/*.[ch]", "src"):
        code[path] = shape.without_comments(path.read_text())
    rooms = {}
    for path, text in code.items():
        if path.suffix == ".c":
            rooms.setdefault(shape.room_of(path, TOP / "src"), {})[path] = text
    for room, texts in rooms.items():
        knot = shape.largest_knot(texts)
        if len(knot) > KNOT_MAX:
            names = ", ".join(sorted(path.name for path in knot))
            yield f"src/{room}: {len(knot)} files lead to each other: {names}"
    for tag, paths in shape.double_tags(code).items():
        places = " and ".join(place(path) for path in paths)
        yield f"struct {tag} is defined twice: {places}"


def check_banned():
    for path in files("**/*.[ch]", "src", "bench", "tests"):
        if path.name == "banned.h":
            continue
        text = path.read_text()
        code = without_comments(text)
        for pattern, why in BANNED.items():
            is_call = pattern.endswith(r"\(")
            for match in re.finditer(pattern, code if is_call else text, re.M):
                number = text.count("\n", 0, match.start()) + 1
                yield f"{place(path, number)}: {match.group(0).strip()!r}: {why}"


def check_descriptors():
    for path in files("**/*.c", "src", "bench"):
        text = path.read_text()
        code = without_comments(text)
        for match in DESCRIPTOR_MAKERS.finditer(code):
            if not CLOSED_ON_EXEC.search(text[match.start():match.end()]):
                line = text.count("\n", 0, match.start()) + 1
                yield (f"{place(path, line)}: {match.group(1)} without CLOEXEC "
                       "(or /* inherited: why */)")


def check_listed():
    """What meson does not know is never compiled, embedded or run."""
    lists = [("src/*/*.c", r"{0}"), ("src/jail/*/*.c", r"{2}/{0}"), ("bench/*.c", r"{0}"),
             ("src/drivers/python/*.py", r"{0}"),
             ("src/drivers/node/*.[cj]*", r"{0}"), ("src/drivers/bash/*.c", r"{0}"),
             ("src/drivers/bash/*.bash", r"{0}"),
             ("tests/unit/test_*.c", r"{1}"), ("tests/fuzz/fuzz_*.c", r"{1}")]
    root = (TOP / "meson.build").read_text()
    for pattern, entry in lists:
        for path in sorted(TOP.glob(pattern)):
            if f"'{place(path)}'" in root:  # a program of its own
                continue
            folder = path.parent.parent if "{2}" in entry else path.parent
            build = folder / "meson.build"
            short = path.stem.split("_", 1)[-1]
            wanted = "'" + entry.format(path.name, short, path.parent.name) + "'"
            if not build.exists() or wanted not in build.read_text():
                yield f"{place(path)}: not listed in {place(build)}"


def is_made(text):
    """By a program, which says so in the first lines."""
    return "Made by packaging/pages.py" in text[:400]


def check_python():
    sources = list(files("**/*.py", "src", "bench", "tests", "clients"))
    for path in sources:
        text = path.read_text()
        try:
            compile(text, str(path), "exec")
        except SyntaxError as error:
            yield f"{place(path, error.lineno)}: {error.msg}"
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > 100 and not is_made(text):
                yield f"{place(path, number)}: {len(line)} columns, 100 are allowed"
            if "\t" in line or line != line.rstrip():
                yield f"{place(path, number)}: a tab, or space at the end"
    if shutil.which("pyflakes3"):
        done = subprocess.run(["pyflakes3", *map(str, sources)], capture_output=True, text=True)
        yield from done.stdout.splitlines()


# Names the files that cannot be compiled; node --check takes one, and says where.
CHECK_MODULES = """
const vm = require("vm"), fs = require("fs"), wrap = require("module").wrap;
for (const path of process.argv.slice(1)) {
    const text = fs.readFileSync(path, "utf8");
    try {
        path.includes("/clients/") ? new vm.SourceTextModule(text) : new vm.Script(wrap(text));
    } catch {
        console.log(path);
    }
}
"""


def check_javascript():
    node = shutil.which("node")
    sources = list(files("**/*.js", "src", "clients"))
    for path in sources:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if len(line) > 100:
                yield f"{place(path, number)}: {len(line)} columns, 100 are allowed"
            if "\t" in line or line != line.rstrip():
                yield f"{place(path, number)}: a tab, or space at the end"
    if node:
        done = subprocess.run([node, "--no-warnings", "--experimental-vm-modules", "-e",
                               CHECK_MODULES, *map(str, sources)], capture_output=True, text=True)
        yield from done.stderr.splitlines()
        for path in done.stdout.splitlines():
            told = subprocess.run([node, "--check", path], capture_output=True, text=True)
            yield from told.stderr.splitlines()[:4] or [path]


def check_pages():
    """Pages that are written by a program."""
    done = subprocess.run([sys.executable, str(TOP / "tests/habitat/sandbox_page.py"), "--check"],
                          capture_output=True, text=True)
    yield from (done.stdout + done.stderr).splitlines()


PROCESS = re.compile(
    r"\b(daemon|command line tool|guardian|warden|keeper|archivist|zygote|launcher|box|boxes|jails?"
    r"|interpreter|shell's process|store's (writer )?thread|every process|cella-bench)\b", re.I)


def check_heads():
    """A .c begins with which process runs it, and what it owns or answers."""
    for path in files("**/*.c", "src", "bench"):
        head = re.match(r"/\*.*?\*/", path.read_text(), re.S)
        words = re.sub(r"\n \* *", " ", head[0]) if head else ""
        if not head:
            yield f"{place(path)}: begin with a comment: which process runs this, what it owns"
        elif not PROCESS.search(words):
            yield f"{place(path)}: its first comment does not say which process runs it"


def check_names():
    """Functions that pages for programmers name exist."""
    known = set()
    for path in files("**/*.[ch]", "src", "bench"):
        known.update(re.findall(r"\w+", path.read_text()))
    prefixes = "timeline|prison|snapshot|conn|head|call|saving|" + "|".join(
        path.name for path in (TOP / "src").iterdir() if path.is_dir())
    for path in [TOP / "CONTRIBUTING.md", TOP / "docs/ARCHITECTURE.md", *files("**/*.md", "src")]:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for name in re.findall(rf"`((?:{prefixes})_\w+)(?:\(\))?`", line):
                if name not in known:
                    yield f"{place(path, number)}: there is no {name}"


# Names that someone outside of the sources looks up: the kernel, bash, Python's ctypes.
LOOKED_UP = re.compile(r"_start|cella_\w+")


def check_externs():
    """What only its own file names is static; the unit tests count as users."""
    codes = {path: shape.without_comments(path.read_text())
             for path in files("**/*.[ch]", "src", "bench", "tests")}
    users = {}
    for path, code in codes.items():
        # A header that only declares a name does not use it; macros and inline functions do.
        is_used = path.suffix == ".c" or path.is_relative_to(TOP / "tests")
        uses = code if is_used else "\n".join(
            re.findall(r"^ *# *define(?:.*\\\n)*.*|^static inline(?:.*\n)*?\}", code, re.M))
        for word in set(re.findall(r"\b[a-z_]\w*", uses)):
            users.setdefault(word, set()).add(path)
    for path, code in codes.items():
        if path.suffix != ".c" or path.is_relative_to(TOP / "tests"):
            continue
        for name in sorted(shape.defined_names(code)):
            if not LOOKED_UP.fullmatch(name) and users[name] == {path}:
                yield f"{place(path)}: {name} is static, or dead: no other file names it"


REQUEST = re.compile(r"\b(GET|POST|PUT|DELETE|PATCH) (…|/v1)|…/\w")
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
LITERAL = re.compile(rf"{STRING.pattern}(?:\s*(?:PRI\w+\s*)?{STRING.pattern})*")
# Texts with requests that no model reads, by file, and why.
FOR_REQUESTS = {
    "ops/api_index.c": "a page for whoever begins with requests",
    "ops/openapi.c": "a document for whoever has requests",
    "ops/exec_text.c": "whoever has tools is told of wait()",
    "ops/gate.c": "a refusal of plan mode reaches tools as five members, without advice",
    "ops/notebook_reference.c": "tools ask for pictures of the notebook that they are in",
    "policy/policy.c": "no tool enters plan mode",
    "session/answer.c": "whoever has tools is told of look()",
    "cell/transcript.c": "whoever has tools is told of look()",
    "session/suspend.c": "no tool suspends",
}


def check_advice():
    """Advice that names a request is put into words of tools (ops/tool_call.c), and every such
    translation is of some text."""
    source = TOP / "src/ops/tool_call.c"
    table = re.search(r"tool_words\[\] = \{(.*?)\n\};", source.read_text(), re.DOTALL)[1]
    rows = re.findall(rf"\{{({LITERAL.pattern}),", table)
    words = ["".join(STRING.findall(row[0])) for row in rows]
    ways = [re.compile(re.escape(w).replace("%", r"(?:%[a-z]*|\d+)")) for w in words]
    used = set()
    rooms = [room for room in sorted((TOP / "src").iterdir()) if room.name not in (
        "cli", "serve", "drivers")]
    for path in sorted(path for room in rooms for path in room.glob("**/*.c")):
        text = path.read_text()
        for found in LITERAL.finditer(text) if path != source else ():
            told = "".join(STRING.findall(found[0]))
            is_doc = re.search(r"\.(doc|tool_doc|summary|examples?|about) =\s*$|#include $",
                               text[:found.start()])
            for number, way in enumerate(ways):
                told, n = way.subn("", told)
                used |= {number} if n else set()
            is_exempt = is_doc or str(path.relative_to(TOP / "src")) in FOR_REQUESTS
            if REQUEST.search(told) and not is_exempt:
                line = text.count("\n", 0, found.start()) + 1
                yield f"{place(path, line)}: tool_words does not translate {told!r}"
    yield from (f"{place(source)}: no text has {word!r}" for number, word in enumerate(words)
                if number not in used)


CHECKS = [check_format, check_arrows, check_knots, check_banned, check_descriptors, check_listed,
          check_python, check_javascript, check_pages, check_heads, check_names, check_externs,
          check_advice]


def main():
    failed = False
    for number, check in enumerate(CHECKS, 1):
        findings = list(check())
        name = check.__name__.removeprefix("check_")
        print(f"{'not ok' if findings else 'ok'} {number} - {name}")
        for finding in findings:
            print(f"# {finding}")
        failed |= bool(findings)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
