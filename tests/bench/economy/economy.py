#!/usr/bin/python3
"""What answers cost a model: the forty cells of cells.json, one after the other, given in one run
to

  json   Cella, answers of JSON
  text   Cella, answers as text ("format": "text", "files": true)
  posit  posit-mcp-repl over MCP, an agent's REPL with answers as text

and each answer weighed in bytes and in tokens of o200k (npm's gpt-tokenizer). Of posit's answers
only the text is counted, not the messages around it, and not its pictures: those would be dearer,
and Cella's answers name a picture in words. What posit is given to begin again after a crash is not
counted either: Cella has rolled back by itself.

    make economy              prints the table
    make economy UPDATE=1     ... and writes docs/ECONOMY.md and budget.json

posit-mcp-repl and the tokenizer are installed below build/, at the versions that are named here.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[2]
sys.path[:0] = [str(SOURCE / "tests"), str(SOURCE / "bench")]

from harness.daemon import Daemon, find_binary  # noqa: E402
from peer_posit import Server  # noqa: E402

TOKENIZER = "gpt-tokenizer@3.4.0"
COUNTER = """
const { countTokens } = require('gpt-tokenizer/encoding/o200k_base')
const texts = JSON.parse(require('fs').readFileSync(0))
console.log(JSON.stringify(texts.map((text) => countTokens(text))))
"""

# Members of a JSON answer whose values say something that its reader cannot know yet: what the cell
# showed, how it ended, what became of names, files and state, and where the rest is. All else
# (braces, keys, quotes, ids that only a program needs, times, what is empty) is not of use.
OF_USE = {"status", "stdout", "stderr", "text", "message", "name", "traceback", "advice", "url",
          "added", "changed", "removed", "lost", "files_lost", "exit_code", "rolled_back_to",
          "rolled_back_cells", "number", "width", "height", "rows", "columns"}
WAYS = ("json", "text", "posit")


def load():
    return json.loads((HERE / "cells.json").read_text())


# --- what is asked --------------------------------------------------------------------------------


def ask_cella(client, cells, **members):
    """The answers of one session. A model thinks for seconds between its cells; here none waits, so
    the session is told to make a checkpoint of each, as it would then."""
    session = client.spawn("data", checkpoints="every")
    answers = []
    for cell in cells:
        reply = client.request("POST", f"{session.path}/exec", {"code": cell["code"], **members})
        assert reply.status == 200, reply.body
        answers.append(reply.body.decode())
    session.kill()
    return answers


def ask_posit(program, folder, script):
    # Its sandbox cannot be made in a container; what it answers does not depend on it.
    server = Server(program, "danger-full-access", folder)
    answers = []
    try:
        for cell in script["cells"]:
            content = server.call(cell["code"])["content"]
            answers.append("".join(part.get("text", "") for part in content))
            if cell.get("crash"):
                server.call(script["recover"])
    finally:
        server.stop()
    return answers


# --- what is weighed ------------------------------------------------------------------------------


def install_posit(folder):
    subprocess.run([SOURCE / "packaging/bench_peers.sh", folder], check=True)
    program = folder / "bin/posit-mcp-repl"
    if not program.exists():
        sys.exit("economy: without posit-mcp-repl there is nothing to compare with")
    return program


def count_tokens(folder, texts):
    if shutil.which("npm") is None:
        sys.exit("economy: npm is needed, to install the tokenizer (Debian: apt-get install npm)")
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "node_modules/gpt-tokenizer").exists():
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", folder,
                        TOKENIZER], check=True)
    told = subprocess.run(["node", "-e", COUNTER], input=json.dumps(texts), text=True, check=True,
                          capture_output=True, cwd=folder)
    return json.loads(told.stdout)


def bytes_of(value):
    """As they stand in the answer, without the quotes around a text."""
    if isinstance(value, str):
        return len(json.dumps(value, ensure_ascii=False).encode()) - 2
    if isinstance(value, dict):
        return sum(map(bytes_of, value.values()))
    if isinstance(value, list):
        return sum(map(bytes_of, value))
    return len(json.dumps(value))


def bytes_of_use(value, is_of_use=False):
    if isinstance(value, dict):
        return sum(bytes_of_use(v, is_of_use or k in OF_USE) for k, v in value.items())
    if isinstance(value, list):
        return sum(bytes_of_use(v, is_of_use) for v in value)
    return bytes_of(value) if is_of_use else 0


def weigh(script, answers, count):
    """One row for each cell: name, and bytes and tokens of each way."""
    texts = [answers[way][i] for i in range(len(script["cells"])) for way in WAYS]
    tokens = iter(count(texts))
    rows = []
    for i, cell in enumerate(script["cells"]):
        row = {"name": cell["name"], "of_use": bytes_of_use(json.loads(answers["json"][i]))}
        for way in WAYS:
            row[way] = (len(answers[way][i].encode()), next(tokens))
        rows.append(row)
    return rows


# --- what is told ---------------------------------------------------------------------------------


def sum_of(rows, way, which):
    return sum(row[way][which] for row in rows)


def verdict(rows):
    n_lean = sum(row["text"][1] <= row["posit"][1] for row in rows)
    text, posit = sum_of(rows, "text", 1), sum_of(rows, "posit", 1)
    share = 100 * sum(row["of_use"] for row in rows) / sum_of(rows, "json", 0)
    return [
        ("tokens of all text answers beside posit-mcp-repl's", "no more", f"{text} : {posit}",
         text <= posit),
        ("cells whose text needs no more tokens than posit-mcp-repl's", "≥ 30",
         f"{n_lean} of {len(rows)}", n_lean >= 30),
        ("bytes of JSON that are of use", "≥ 70 %", f"{share:.0f} %", share >= 70),
    ]


def tell(rows):
    lines = ["| cell | JSON, bytes | of use | tokens | text, bytes | tokens | "
             "posit-mcp-repl, bytes | tokens |",
             "|---|--:|--:|--:|--:|--:|--:|--:|"]
    total = {"name": "**all**", "of_use": sum(row["of_use"] for row in rows),
             **{way: (sum_of(rows, way, 0), sum_of(rows, way, 1)) for way in WAYS}}
    for row in [*rows, total]:
        share = 100 * row["of_use"] / max(row["json"][0], 1)
        text = f"**{row['text'][1]}**" if row["text"][1] > row["posit"][1] else row["text"][1]
        lines.append(f"| {row['name']} | {row['json'][0]} | {share:.0f} % | {row['json'][1]} | "
                     f"{row['text'][0]} | {text} | {row['posit'][0]} | {row['posit'][1]} |")
    lines += ["", "| what is promised | target | measured | |", "|---|--:|--:|---|"]
    lines += [f"| {what} | {target} | {measured} | {'ok' if is_met else 'missed'} |"
              for what, target, measured, is_met in verdict(rows)]
    return "\n".join(lines)


def write_page(table):
    page = SOURCE / "docs/ECONOMY.md"
    head, mark, _ = page.read_text().partition("<!-- make economy UPDATE=1 -->\n")
    assert mark, f"{page} has no mark"
    page.write_text(head + mark + "\n" + table + "\n")


def write_budget(rows):
    budget = {row["name"]: row["text"][0] for row in rows}
    (HERE / "budget.json").write_text(json.dumps(budget, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true", help="write the page and the budget")
    parser.add_argument("--answers", type=pathlib.Path, help="write all answers there, as JSON")
    options = parser.parse_args()
    script, tools = load(), SOURCE / "build"
    program = install_posit(tools / "bench-peers")
    with tempfile.TemporaryDirectory(prefix="cella-economy-") as folder:
        daemon = Daemon(find_binary(), os.path.join(folder, "data"))
        try:
            answers = {
                "json": ask_cella(daemon.client, script["cells"], files=True),
                "text": ask_cella(daemon.client, script["cells"], format="text", files=True),
            }
        finally:
            daemon.stop()
        os.mkdir(os.path.join(folder, "empty"))
        answers["posit"] = ask_posit(program, os.path.join(folder, "empty"), script)
    if options.answers:
        options.answers.write_text(json.dumps(answers, indent=1))
    rows = weigh(script, answers, lambda texts: count_tokens(tools / "tokenizer", texts))
    table = tell(rows)
    print(table)
    if options.update:
        write_page(table)
        write_budget(rows)
    return 0 if all(is_met for *_, is_met in verdict(rows)) else 1


if __name__ == "__main__":
    sys.exit(main())
