#!/usr/bin/python3
"""What a large text costs a model: needles and sums in generated logs of some 50 000 and of 10
million tokens, once with all of the text in its context, and explored in a session of Cella. The
program plays a model that knows the functions: what it would send (the code of its cells) and read
(their answers as text) is counted in tokens of o200k (npm's gpt-tokenizer).

The same is done by the reference implementation of recursive language models (rlms of PyPI) in its
own REPL, with a model that is a script too (peer_rlm.py). It is installed below build/ once; where
that cannot be done, its columns are empty.

    python3 tests/bench/needle/needle.py             prints the table
    python3 tests/bench/needle/needle.py --update    ... and writes it into docs/EXPLORE.md

How long a model takes to its first token is not measured: there is no model here."""

import argparse
import io
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[2]
sys.path[:0] = [str(SOURCE / "tests"), str(SOURCE / "tests/mcp"), str(HERE.parent / "economy")]

import economy  # noqa: E402
from harness.daemon import Daemon, find_binary  # noqa: E402
from harness.pages import write_between  # noqa: E402

PEER = "rlms==0.1.3"
USERS = ["ana", "ben", "chloe", "dmitri", "eun-ji", "farid", "greta", "hiro"]
WORDS = "request cache worker index queue batch shard lease quota merge retry token".split()


def log_lines(n, seed):
    """Lines of a log, with one needle and some errors of each user."""
    chance = random.Random(seed)
    needle = n * 2 // 3
    for number in range(n):
        second = number // 7
        stamp = f"{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}"
        user, words = chance.choice(USERS), " ".join(chance.choices(WORDS, k=6))
        if number == needle:
            yield f"{stamp} {user} the vault's code was changed to 7391-KESTREL"
        elif chance.random() < 40 / n:
            yield f"{stamp} {user} ERROR {words} took {chance.randint(5, 90)} s"
        else:
            yield f"{stamp} {user} {words} took {chance.randint(1, 900)} ms"


class Reader:
    """A model at work in a session: what it sends and what it reads."""

    def __init__(self, client, session):
        self.client, self.session, self.texts, self.calls = client, session, [], 0

    def run(self, code):
        reply = self.client.request("POST", f"{self.session.path}/exec",
                                    {"code": code, "format": "text"})
        assert reply.status == 200, reply
        text = reply.body.decode()
        self.texts += [code, text]
        self.calls += 1
        return text

    def take(self):
        texts, calls = self.texts, self.calls
        self.texts, self.calls = [], 0
        return "\n".join(texts), calls


def find_needle(reader):
    assert "7391-KESTREL" in reader.run("peek(200)\ngrep('vault.*code', context_lines=0)")


def add_up(reader, expected):
    told = reader.run("import collections\n"
                      "errors = grep(' ERROR ', context_lines=0)\n"
                      "collections.Counter(line.split()[2] for line in errors[:-1] + "
                      "[l for l in errors[-1:] if l[0] != '[']).most_common()")
    assert str(expected) in told.replace("\n", " "), (expected, told)


def archives(reader):
    assert "7391-KESTREL" in reader.run("archive_open('logs.zip')")\
        + reader.run("archive_search('vault')")


def tables(reader):
    """The same list as TOON, as the session shows it, and as JSON."""
    shown = reader.run("list_dir('many')")
    as_json = reader.run("import json; print(json.dumps(dict(list_dir('many'))))")
    return shown, as_json


def install_peer(folder):
    """The Python that has it; None if there is no way to it, which is said."""
    program = folder / "bin/python"
    command = [program, "-m", "pip", "install", "-q", "--disable-pip-version-check", PEER]
    try:
        if not (folder / "installed").exists():
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
            subprocess.run(command, check=True)
            (folder / "installed").touch()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"{PEER} could not be installed and is not measured: {error}", file=sys.stderr)
        return None
    return program


def measure_peer(program, text, expected, folder):
    """In a process of its own: its calls, what its model was sent and said, its seconds."""
    path = folder / "text"
    path.write_text(text)
    told = subprocess.run([program, HERE / "peer_rlm.py", path, str(expected)], check=True,
                          stdout=subprocess.PIPE)
    return json.loads(told.stdout)


def measure(client, n_lines, peer, folder):
    lines = list(log_lines(n_lines, 1))
    text = "\n".join(lines) + "\n"
    counts = {}
    for line in lines:
        if " ERROR " in line:
            user = line.split()[1]
            counts[user] = counts.get(user, 0) + 1
    expected = max(counts.items(), key=lambda pair: pair[1])
    session = client.spawn(explore=True)
    reader = Reader(client, session)
    began = time.monotonic()
    client.call("PUT", f"{session.path}/contexts/context", text.encode())
    find_needle(reader)
    add_up(reader, expected)
    seconds = time.monotonic() - began
    sample = "\n".join(lines[:2000]) + "\n"
    explored, calls = reader.take()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        step = max(1, len(lines) // 12)
        for part in range(0, min(len(lines), 12 * step), step):
            archive.writestr(f"part{part // step:02}.log", "\n".join(lines[part:part + step]))
    session.put("logs.zip", out.getvalue())
    archived = None
    if len(text) < 50 << 20:
        archives(reader)
        archived = reader.take()[0]
    reader.run("import os\nos.makedirs('many')\n"
               "for n in range(60): open(f'many/file{n:02}.csv', 'w').write('x' * n * 37)")
    reader.take()
    shown, as_json = tables(reader)
    client.request("DELETE", session.path)
    other = measure_peer(peer, text, expected, folder) if peer else None
    return {"peer": other, "text": len(text), "sample": sample,
            "explored": explored, "calls": calls,
            "seconds": seconds, "archived": archived, "toon": shown, "json": as_json}


def tokens_of(texts):
    return economy.count_tokens(SOURCE / "build/economy", texts)


def approaches(row, toon, as_json):
    """The smallest text, way by way."""
    sample, explored, archived = tokens_of([row["sample"], row["explored"], row["archived"]])
    whole = round(row["text"] / len(row["sample"]) * sample)
    ways = [("all of it in the model's context", whole), ("`peek` and `grep`", explored),
            ("archive functions", archived),
            (f"a table of 60 files as TOON ({as_json} as JSON, "
             f"{100 - 100 * toon / as_json:.0f} % fewer)", toon)]
    lines = ["| approach | tokens | factor |", "|---|--:|--:|"]
    lines += [f"| {way} | {tokens} | {whole / tokens:.0f}× |" for way, tokens in ways]
    return [*lines, ""]


def report(rows):
    toon, as_json = tokens_of([rows[0]["toon"], rows[0]["json"]])
    lines = approaches(rows[0], toon, as_json)
    lines += ["| text | all of it | explored | fewer | in an archive | fewer | cells | seconds |",
             "|---|--:|--:|--:|--:|--:|--:|--:|"]
    for row in rows:
        sample, explored = tokens_of([row["sample"], row["explored"]])
        whole = round(row["text"] / len(row["sample"]) * sample)
        archived = tokens_of([row["archived"]])[0] if row["archived"] else None
        lines.append(f"| {row['text'] / 1e6:.1f} MB | {whole} | {explored} | "
                     f"{whole / explored:.0f}× | {archived or '–'} | "
                     f"{f'{whole / archived:.0f}×' if archived else '–'} | {row['calls']} | "
                     f"{row['seconds']:.2f} |")
    lines += ["", f"The same beside `{PEER}`, which has the text as a variable of a Python process "
                  "without a sandbox. Loading the text is in the seconds; what each tells its "
                  "model before the first call is not in the tokens.", "",
              "| text | cells | calls of rlms | tokens | of rlms | seconds | of rlms |",
              "|---|--:|--:|--:|--:|--:|--:|"]
    for row in rows:
        if peer := row["peer"]:
            explored, of_peer, rules = tokens_of([row["explored"], peer["explored"], peer["rules"]])
            lines.append(f"| {row['text'] / 1e6:.1f} MB | {row['calls']} | {peer['calls']} | "
                         f"{explored} | {of_peer} (+ {rules} before) | {row['seconds']:.2f} | "
                         f"{peer['seconds']:.2f} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--update", action="store_true")
    args = parser.parse_args()
    peer = install_peer(SOURCE / "build/needle-rlms")
    with tempfile.TemporaryDirectory() as folder:
        daemon = Daemon(find_binary(), pathlib.Path(folder) / "data",
                        config="default_profile: min\n")
        try:
            rows = [measure(daemon.client, n, peer, pathlib.Path(folder)) for n in (2800, 560_000)]
        finally:
            daemon.stop()
    table = report(rows)
    print(table)
    if args.update:
        write_between("docs/EXPLORE.md", "needle.py", table)


if __name__ == "__main__":
    main()
