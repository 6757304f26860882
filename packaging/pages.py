#!/usr/bin/python3
"""Writes what is made from the tables of operations, verbs and errors: docs/API.md, docs/ERRORS.md,
a part of the manual, the completions of bash, zsh and fish, and most of the clients (clients.py).

    CELLA=build/cella python3 packaging/pages.py           writes all of it
    CELLA=build/cella python3 packaging/pages.py --check   says what is stale

The examples of docs/API.md are real: a daemon of its own answers them. When pages are checked, the
answers' values are not compared, as times and ids differ: only that they fit what is declared.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import clients

TOP = pathlib.Path(__file__).resolve().parent.parent
CELLA = os.environ.get("CELLA", TOP / "build" / "cella")
MANUAL = TOP / "docs/man/cella.1"
BEGIN, END = '.\\" Made by packaging/pages.py: begin\n', '.\\" Made by packaging/pages.py: end\n'
MADE = "Made by `packaging/pages.py` from the tables of the program"

# What flags of hand-written verbs take, where that is a choice; those of operations tell it.
WORDS = {
    "runtime": ["python", "node", "bash"],
    "profile": ["min", "data"],
    "kernel": ["python3", "javascript", "bash"],
    "on-disconnect": ["continue", "cancel"],
    "kind": ["code", "markdown", "raw"],
    "format": ["ipynb", "html", "markdown", "script", "cells-json"],
    "log-format": ["text", "json"],
    "log-level": ["debug", "info", "warn", "error"],
}


def dump(what):
    done = subprocess.run([CELLA, "--dump", what], check=True, capture_output=True)
    return json.loads(done.stdout)


class Tables:
    def __init__(self):
        told = dump("operations")
        self.operations, self.shapes = told["operations"], told["shapes"]
        self.by_name = {op["name"]: op for op in self.operations}
        self.errors = dump("errors")["errors"]
        told = dump("verbs")
        self.verbs = told["verbs"]
        self.client_flags, self.common_flags = told["client_flags"], told["common_flags"]

    def flags(self, verb):
        return verb["flags"] + (self.client_flags if verb["is_client"] else []) + self.common_flags

    def choices(self, verb, flag):
        """What a flag may be; empty: many things."""
        op = self.by_name.get(verb.get("operation"), {"params": []})
        for param in op["params"]:
            if re.sub(r"_(ms|secs)$", "", param["name"]).replace("_", "-") == flag["name"]:
                return param.get("choices", [])
        return WORDS.get(flag["name"], [])

    def kind(self, verb, flag):
        """How the value of a flag is completed: words, files, dirs, sessions or nothing."""
        value = flag.get("value") or ""
        if value in ("FILE", "PATH"):
            return "files"
        if value == "DIR":
            return "dirs"
        if value in ("ID", "SESSION") and verb["name"] != "notebook":
            return "sessions"
        return "words" if self.choices(verb, flag) else "nothing"

    def subject(self, verb):
        """What the words of a verb are: sessions, notebooks, files, operations or nothing."""
        usage = verb["usage"]
        if verb["name"] == "call":
            return "operations"
        if "SESSION" in usage:
            return "sessions"
        if "NOTEBOOK" in usage:
            return "notebooks"
        if verb["name"] in ("exec", "run", "convert", "config"):
            return "files"
        return "nothing"


# ---- pages --------------------------------------------------------------------------------------


def errors_page(tables):
    lines = [
        "# Errors", "",
        "A request that fails is answered with the HTTP status and a JSON object that says why and",
        "what to do; the command line prints the same two lines and exits with the status below.", "",
        "```sh", "cella info no-such-session; echo \"exit status $?\"",
        "curl -s http://127.0.0.1:7300/v1/sessions   # without a key", "```", "",
        "```json",
        '{"error": {"code": "unauthorized", "message": "this needs a key", "advice": "…"}}', "```",
        "",
        "`code` is stable; `message` and `advice` are for people and may change. Code that fails is",
        "no error of the request: it is a 200 whose `status` says `error`, with the error in",
        "`error`. The exit status of such a run is 1, or what the code left with.", "",
        "| code | HTTP | exit | when | what to do |", "|---|--:|--:|---|---|"]
    lines += [f"| `{e['code']}` | {e['http_status']} | {e['exit_status']} | {e['when']} |"
              f" {e['remedy']} |" for e in tables.errors]
    lines += ["", "Other exit statuses: 0 done, 1 the code failed, 75 it still runs or waits for",
              "input, 124 it was stopped by its time limit, 130 interrupted, 141 nobody read the",
              "output.", "", f"{MADE} (`src/base/err.c`).", ""]
    return "\n".join(lines)


TYPES = {"text": "text", "int": "number", "bool": "true or false", "choice": "text",
         "object": "object", "texts": "object of texts", "list": "list of objects",
         "free": "object", "file": "text or object", "number": "number", "time": "time",
         "size": "bytes", "int_list": "list of numbers", "text_list": "list of texts",
         "any": "anything"}


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def parameters_table(params):
    lines = ["| parameter | in | type | what it says |", "|---|---|---|---|"]
    for p in params:
        kind = " \\| ".join(f"`{c}`" for c in p["choices"]) if "choices" in p else TYPES[p["type"]]
        if p["type"] == "int" and p["max"] < 2**53:
            kind += f", {p['min']} to {p['max']}"
        name = f"**`{p['name']}`**" if p["required"] else f"`{p['name']}`"
        lines.append(f"| {name} | {p['in']} | {kind} | {cell(p['doc'])} |")
        for m in p.get("members", []):
            lines.append(f"| `{p['name']}.{m['name']}` | {p['in']} | {TYPES[m['type']]} |"
                         f" {cell(m['doc'])} |")
    return lines


def operation_lines(tables, op, example):
    lines = [f"### {op['name']}", "", op["doc"], "", f"`{op['method']} {op['path']}`"]
    notes = []
    if "verb" in op:
        notes.append(f"Command line: `cella {op['verb']['words']}`.")
    if "public" in op["flags"]:
        notes.append("Needs no key.")
    if "streams" in op["flags"] and "only_streams" not in op["flags"]:
        notes.append("With `Accept: text/event-stream` it answers with events.")
    if notes:
        lines += ["", " ".join(notes)]
    if op["params"]:
        lines += [""] + parameters_table(op["params"])
    if "takes_bytes" in op["flags"]:
        lines += ["", "The body of the request is the bytes."]
    if "sends" in op:
        lines += ["", f"Answers with {op['sends']}."]
    else:
        shapes = [op[m] for m in ("result", "other_result") if m in op]
        lines += ["", "Answers with " + " or ".join(f"[{s}](#{s})" for s in shapes) + "."]
    if "events" in op:
        lines += ["", "Events, before the last one, `result`:", ""]
        lines += [f"- `{e['name']}` ([{e['shape']}](#{e['shape']})): {e['doc']}"
                  for e in op["events"]]
    special = [e for e in op["errors"] if e in ("not_found", "conflict", "gone")]
    if special:
        lines += ["", "Fails with " + ", ".join(f"`{e}`" for e in special) +
                  " besides what every request can fail with: [ERRORS.md](ERRORS.md)."]
    return lines + [""] + example + [""]


def shape_lines(shape):
    lines = [f"### {shape['name']}", "", shape["doc"], "", "| member | type | what it says |",
             "|---|---|---|"]
    for m in shape["members"]:
        kind = TYPES[m["type"]]
        if "shape" in m:
            kind = (f"list of [{m['shape']}](#{m['shape']})" if m["type"] == "list" else
                    f"[{m['shape']}](#{m['shape']})")
        kind += " or null" if m.get("nullable") else ""
        name = f"**`{m['name']}`**" if m.get("always") else f"`{m['name']}`"
        lines.append(f"| {name} | {kind} | {cell(m['doc'])} |")
    return lines + [""]


API_HEAD = f"""\
# API reference

{MADE}. The same for programs is at
`GET /openapi.json` (OpenAPI 3.1) and, with the shapes of all answers, at `GET /v1/operations`.

```sh
key=$(cat ~/.local/state/cella/key)   # root: /var/lib/cella/key
curl -s http://127.0.0.1:7300/v1 -H "Authorization: Bearer $key"
cella call session.create profile=min # any operation from the command line
```

Requests and answers are JSON. Every request but the public ones needs the key; the UNIX socket in the
data directory asks for none. `Cella-Agent: NAME` says which agent of the configuration a request speaks
for. What fails is answered as [ERRORS.md](ERRORS.md) says. Where a session is named, its id or its name
will do. Bold parameters are required, bold members are always there.

"""


def api_page(tables, answers):
    subjects = []
    for op in tables.operations:
        if op["subject"] not in subjects:
            subjects.append(op["subject"])
    text = [API_HEAD]
    for subject in subjects:
        text.append(f"## {subject.capitalize()}\n")
        for op in tables.operations:
            if op["subject"] == subject:
                text.append("\n".join(operation_lines(tables, op, answers[op["name"]])))
    text.append("## Shapes\n\nThe objects that answers are made of.\n")
    text += ["\n".join(shape_lines(shape)) for shape in tables.shapes]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(text)).rstrip("\n") + "\n"


# ---- examples -----------------------------------------------------------------------------------

ANSWER = "<!-- answer -->"
SHOWN_LINES = 40


def examples(tables):
    """Each example as lines of the page, answered by a daemon."""
    sys.path.insert(0, str(TOP / "tests"))
    from harness.daemon import Daemon
    from harness.stage import Stage, request
    told = {}
    with tempfile.TemporaryDirectory(prefix="cella-pages-") as directory:
        daemon = Daemon(pathlib.Path(CELLA).absolute(), pathlib.Path(directory) / "data",
                        config="default_profile: min\n")
        try:
            stage = Stage(daemon.client)
            for op in tables.operations:
                args = stage.fill(op["example"])
                told[op["name"]] = example_lines(op, daemon.client, *request(op, args))
        finally:
            daemon.stop()
    return told


def example_lines(op, client, method, path, body):
    asked = f"{method} {steady(path)}"
    if isinstance(body, dict) and body:
        asked += "\n\n" + steady(json.dumps(body, ensure_ascii=False, indent=2))
    elif isinstance(body, bytes):
        asked += f"\n\n({len(body)} bytes)"
    lines = ["```http", *asked.rstrip("\n").splitlines(), "```", "", ANSWER]
    if "only_streams" in op["flags"]:
        stream = client.events(path, method=method)
        name, event = next(stream)
        stream.close()
        return lines + ["```", f"event: {name}", f"data: {steady(json.dumps(event))}", "```"]
    reply = client.request(method, path, body)
    if "sends" in op:
        text = f"{reply.status}, {len(reply.body)} bytes of {reply.headers['Content-Type']}"
        return lines + ["```", text, "```"]
    shown = steady(json.dumps(lean(reply.json), ensure_ascii=False, indent=2)).splitlines()
    if len(shown) > SHOWN_LINES:
        shown = shown[:SHOWN_LINES] + ["…"]
    return lines + ["```json", *shown, "```"]


def lean(value):
    """Lists that say the same many times are cut."""
    if isinstance(value, dict):
        return {name: lean(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [lean(entry) for entry in value[:2]]
    return value


def steady(text):
    """Ids and times as they would be on a good day."""
    ids = {}
    def replace(found):
        return ids.setdefault(found[0], f"0b9c4e1a-7d52-4c38-9f06-{len(ids) + 1:012d}")
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", replace, text)
    text = re.sub(r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "2026-03-01T12:00:00.000Z", text)
    text = re.sub(r'("(?:duration_ms|execution_time_ms)": )[0-9.]+', r"\g<1>1.25", text)
    text = re.sub(r'("(?:memory_bytes|heap_bytes|database_bytes|journal_bytes)": )\d+',
                  r"\g<1>1048576", text)
    return re.sub(r"/v1/files/[^/\"]+/", "/v1/files/TOKEN/", text)


EXAMPLE = re.compile(r"```http\n.*?\n```\n\n" + re.escape(ANSWER) + r"\n```.*?\n```\n", re.S)


def form(example):
    """What is the same of it each time: members, not ids and values."""
    return re.sub(r'(?<=": )(?:"(?:[^"\\]|\\.)*"|[-0-9.e]+|true|false|null)|\b[0-9a-f]{8}\b', "_",
                  example)


def with_known_answers(page, old):
    """Examples stay as they were, so that a change shows what it has changed."""
    known = {form(example): example for example in EXAMPLE.findall(old)}
    return EXAMPLE.sub(lambda found: known.get(form(found[0]), found[0]), page)


def without_answers(page):
    return re.sub(re.escape(ANSWER) + r"\n```.*?\n```\n", ANSWER + "\n", page, flags=re.S)


# ---- the manual ---------------------------------------------------------------------------------


def roff(text):
    """Text as mdoc takes it: lines that begin with a dot or a quote would be requests."""
    text = text.replace("\\", "\\e").replace("…", "...")
    return "\n".join("\\&" + line if line[:1] in ".'" else line for line in text.split("\n"))


def sentences(text):
    return roff(re.sub(r"([.;:]) (?=[A-Z])", r"\1\n", text.replace("`", "")))


def manual_part(tables):
    lines = []
    for verb in tables.verbs:
        if not verb.get("operation"):
            continue
        takes = verb["usage"].replace("[OPTION...]", "").replace("|", "").split()
        shown = " ".join(f"Ar {word.strip('[]').replace('...', '').lower()}" if word != "--all" else
                         "No | Fl -all" for word in takes)
        lines.append(f".It Cm {verb['name']} {shown}".rstrip())
        lines += sentences(verb["about"]).split("\n")
        if verb["flags"]:
            lines.append(".Bl -tag -width Ds")
            for flag in verb["flags"]:
                letter = f"Fl {flag.get('letter', '')} , " if flag.get("letter") else "Fl "
                name = f"{letter}-{flag['name']}"
                value = f" Ar {flag.get('value', '').lower()}" if flag.get("value") else ""
                lines.append(f".It {name}{value}")
                choices = tables.choices(verb, flag)
                lines += sentences(flag["doc"]).split("\n")
                if choices:
                    lines.append("One of: " + ", ".join(choices) + ".")
            lines.append(".El")
    return "\n".join(lines) + "\n"


def manual(tables, page):
    before, rest = page.split(BEGIN)
    return before + BEGIN + manual_part(tables) + END + rest.split(END)[1]


# ---- completions --------------------------------------------------------------------------------

SOURCES = {  # how each kind of name is listed, in any shell
    "sessions": "cella ps --json 2>/dev/null | grep -o '\"session_id\":\"[0-9a-f-]*\"' |"
                " cut -d'\"' -f4",
    "notebooks": "cella notebook list --json 2>/dev/null |"
                 " grep -o '\"notebook_id\":\"[0-9a-f-]*\"' | cut -d'\"' -f4",
    "operations": "cella call 2>/dev/null | cut -d' ' -f1",
}


def groups(tables):
    """First words of verbs of two, with the second ones."""
    found = {}
    for verb in tables.verbs:
        first, _, second = verb["name"].partition(" ")
        if second:
            found.setdefault(first, []).append(second)
    found["notebook"] += ["show", "add", "run", "edit", "clear", "export", "import", "watch"]
    return found


def first_words(tables):
    words = []
    for verb in tables.verbs:
        word = verb["name"].split()[0]
        if word not in words:
            words.append(word)
    return words + ["help"]


def spelled(flag):
    return ([f"-{flag.get('letter', '')}"] if flag.get("letter") else []) + [f"--{flag['name']}"]


def bash_completion(tables):
    out = ["# bash completion for cella", f"# {MADE}: do not edit.", ""]
    for kind, command in SOURCES.items():
        out += [f"_cella_{kind}() {{", f"    {command}", "}", ""]
    out += ["_cella() {",
            "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}",
            "    local verb=${COMP_WORDS[1]} words= kind=nothing", "    COMPREPLY=()",
            "    if ((COMP_CWORD == 1)); then",
            f"        words=\"{' '.join(first_words(tables))} --help --version\"",
            "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")",
            "        return", "    fi"]
    out += ["    case $verb in"]
    for first, seconds in groups(tables).items():
        out += [f"    {first})",
                "        if ((COMP_CWORD == 2)) && [[ $current != -* ]]; then",
                f"            mapfile -t COMPREPLY < <(compgen -W \"{' '.join(seconds)}\""
                " -- \"$current\")", "            return", "        fi",
                "        ((COMP_CWORD > 2)) && verb=\"$verb ${COMP_WORDS[2]}\"", "        ;;"]
    out += ["    esac", "    case $verb in"]
    for verb in tables.verbs:
        name = verb["name"]
        pattern = f'"{name}"' if " " in name else name
        if name == "notebook":
            pattern = "notebook | notebook\\ *"
        kind = tables.subject(verb) if name != "notebook" else "notebooks"
        words = " ".join(f"--{f['name']}" for f in tables.flags(verb))
        out += [f"    {pattern})", f"        words=\"{words}\" kind={kind}",
                "        case $previous in"]
        for flag in tables.flags(verb):
            if flag.get("value"):
                out.append(f"        {' | '.join(spelled(flag))})"
                           f" kind={tables.kind(verb, flag)} words=\""
                           f"{' '.join(tables.choices(verb, flag))}\" current_is=value ;;")
        out += ["        esac", "        ;;"]
    # Of two words before "notebook *", which fits them too: bash takes the first that fits.
    out += ["    help)", f"        words=\"{' '.join(first_words(tables))}\" kind=words", "        ;;",
            "    esac", "    _cella_reply \"$kind\" \"$words\" \"$current\" \"$previous\"", "}", "",
            "# Flags when one is begun; else files, ids or words.", "_cella_reply() {",
            "    local kind=$1 words=$2 current=$3",
            "    if [[ $current == -* ]]; then",
            "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")",
            "        return", "    fi", "    case $kind in",
            "    files) mapfile -t COMPREPLY < <(compgen -f -- \"$current\") ;;",
            "    dirs) mapfile -t COMPREPLY < <(compgen -d -- \"$current\") ;;",
            "    sessions | notebooks | operations)",
            "        mapfile -t COMPREPLY < <(compgen -W \"$(_cella_$kind)\" -- \"$current\") ;;",
            "    words) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\") ;;",
            "    esac", "}", "", "complete -F _cella cella"]
    text = "\n".join(out) + "\n"
    return text.replace(" current_is=value", "")


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def zsh_completion(tables):
    def described(name, doc):
        return quoted(f"{name}:{doc.split('. ')[0].replace(':', ' -')}")

    def argument(verb, flag):
        kinds = {"files": ":file:_files", "dirs": ":directory:_files -/",
                 "sessions": ":session:_cella_sessions", "nothing": ":value: ",
                 "words": f":value:({' '.join(tables.choices(verb, flag))})"}
        doc = re.sub(r"[\[\]]", "", flag["doc"].split(". ")[0]).replace(":", "\\:")
        value = kinds[tables.kind(verb, flag)] if flag.get("value") else ""
        return [quoted(f"{word}[{doc}]{value}") for word in spelled(flag)]

    out = ["#compdef cella", f"# {MADE}: do not edit.", ""]
    for kind, command in SOURCES.items():
        out += [f"_cella_{kind}() {{", "    local -a found", f"    found=(${{(f)\"$({command})\"}})",
                "    compadd -a found", "}", ""]
    out += ["_cella() {", "    local verb=$words[2]", "    if ((CURRENT == 2)); then",
            "        local -a verbs", "        verbs=("]
    seen = set()
    for verb in tables.verbs:
        word = verb["name"].split()[0]
        if word not in seen:
            out.append("            " + described(word, verb["summary"]))
        seen.add(word)
    out += ["            'help:show the help of a command'", "        )",
            "        _describe command verbs", "        return", "    fi", "    case $verb in"]
    for first, seconds in groups(tables).items():
        out += [f"    {first})", "        if ((CURRENT == 3)) && [[ $PREFIX != -* ]]; then",
                f"            compadd {' '.join(seconds)}", "            return", "        fi",
                "        ((CURRENT > 3)) && verb=\"$verb $words[3]\"", "        ;;"]
    # The verb becomes the command, so that it is not taken for an argument.
    out += ["    esac", "    local -a taken=(${=verb})", "    shift $#taken words",
            "    ((CURRENT -= $#taken))", "    case $verb in"]
    subjects = {"sessions": "'*:session:_cella_sessions'", "notebooks": "'*:notebook:_cella_notebooks'",
                "operations": "'*:operation:_cella_operations'", "files": "'*:file:_files'",
                "nothing": ""}
    ordered = sorted(tables.verbs, key=lambda verb: verb["name"] == "notebook")
    for verb in ordered:
        pattern = verb["name"].replace(" ", "\\ ")
        if verb["name"] == "notebook":
            pattern = "notebook*"
        out += [f"    {pattern})", "        _arguments \\"]
        for flag in tables.flags(verb):
            out += [f"            {words} \\" for words in argument(verb, flag)]
        subject = tables.subject(verb) if verb["name"] != "notebook" else "notebooks"
        out += [f"            {subjects[subject]}".rstrip(), "        ;;"]
    return "\n".join(out + ["    esac", "}", "", "_cella \"$@\""]) + "\n"


def fish_completion(tables):
    out = ["# fish completion for cella", f"# {MADE}: do not edit.", "", "complete -c cella -f", ""]
    for kind, command in SOURCES.items():
        out += [f"function __cella_{kind}", f"    {command}", "end", ""]
    out += ["function __cella_verb --description 'The verb that is typed: one or two words'",
            "    set -l words (commandline -opc)", "    echo \"$words[2..-1]\"", "end", "",
            "function __cella_is",
            "    string match -qr \"^$argv[1]( |\\$)\" -- (__cella_verb)", "end", ""]
    seen = set()
    for verb in tables.verbs:
        word = verb["name"].split()[0]
        if word not in seen:
            out.append("complete -c cella -n __fish_use_subcommand"
                       f" -a {word} -d {quoted(verb['summary'])}")
        seen.add(word)
    out.append("complete -c cella -n __fish_use_subcommand -a help -d 'show the help of a command'")
    for first, seconds in groups(tables).items():
        out.append(f"complete -c cella -n 'test (__cella_verb) = {first}'"
                   f" -a {quoted(' '.join(seconds))}")
    out.append("")
    subjects = {"sessions": "'(__cella_sessions)'", "notebooks": "'(__cella_notebooks)'",
                "operations": "'(__cella_operations)'"}
    for verb in tables.verbs:
        condition = f"-n '__cella_is {quoted(verb['name'])[1:-1] if ' ' not in verb['name'] else chr(34) + verb['name'] + chr(34)}'"
        subject = tables.subject(verb) if verb["name"] != "notebook" else "notebooks"
        if subject == "files":
            out.append(f"complete -c cella {condition} -F")
        elif subject in subjects:
            out.append(f"complete -c cella {condition} -a {subjects[subject]}")
        for flag in tables.flags(verb):
            letter = f" -s {flag.get('letter', '')}" if flag.get("letter") else ""
            kind = tables.kind(verb, flag) if flag.get("value") else None
            value = {None: "", "files": " -r -F", "dirs": " -x -a '(__fish_complete_directories)'",
                     "sessions": " -x -a '(__cella_sessions)'", "nothing": " -x",
                     "words": f" -x -a {quoted(' '.join(tables.choices(verb, flag)))}"}[kind]
            out.append(f"complete -c cella {condition}{letter} -l {flag['name']}{value}"
                       f" -d {quoted(flag['doc'].split('. ')[0])}")
    return "\n".join(out) + "\n"


# ---- all of it ----------------------------------------------------------------------------------


def pages(tables, answers):
    completions = TOP / "packaging/completions"
    return {
        TOP / "docs/API.md": api_page(tables, answers),
        TOP / "docs/ERRORS.md": errors_page(tables),
        MANUAL: manual(tables, MANUAL.read_text()),
        completions / "cella.bash": bash_completion(tables),
        completions / "cella.zsh": zsh_completion(tables),
        completions / "cella.fish": fish_completion(tables),
        **clients.pages(tables.operations, tables.shapes),
    }


def stale(tables):
    """The files that are not what would be written."""
    blank = {op["name"]: [] for op in tables.operations}
    found = []
    for path, text in pages(tables, blank).items():
        there = path.read_text() if path.exists() else ""
        if path.name == "API.md":
            there = re.sub(r"```http\n.*?\n```\n\n" + re.escape(ANSWER) + r"\n```.*?\n```\n+", "",
                           there, flags=re.S)
            there, text = (re.sub(r"\n{2,}", "\n", page) for page in (there, text))
        if there != text:
            found.append(path)
    return found


def main():
    tables = Tables()
    if "--check" in sys.argv:
        found = stale(tables)
        for path in found:
            print(f"{path.relative_to(TOP)} is stale: run packaging/pages.py")
        return 1 if found else 0
    for path, text in pages(tables, examples(tables)).items():
        if path.name == "API.md":
            text = with_known_answers(text, path.read_text())
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
