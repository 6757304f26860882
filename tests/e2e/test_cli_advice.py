"""The command line tool speaks of its flags and commands, whatever the daemon speaks of."""

import http.server
import json
import os
import pathlib
import re
import subprocess
import threading

import pytest

from harness import host

pytestmark = pytest.mark.one_mode

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "src"
PLACES = ["jail/*/*.c", "notebook/*port.c", "ops/*.c", "policy/*.c", "serve/*.c", "session/*.c"]
# Tools speak to models, /mcp to clients of MCP, and tokens are never the tool's.
ELSEWHERE = ("tool_", "mcp_", "oauth")
LITERAL = r'"(?:[^"\\\n]|\\.)*"'
TEXT = re.compile(rf"{LITERAL}(?:[\s\\]*{LITERAL})*")

# Methods, paths, members of requests and answers.
REST = re.compile(r'\b(?:GET|POST|PUT|DELETE|PATCH)\b|/v1\b|…/|"[a-z_]+"|\?[a-z_]+=|'
                  r"\b[a-z_]+_(?:ms|secs|mb|bytes)\b(?! in cella\.yaml)")

# Texts that no command of the tool can bring about, each with the reason.
UNREACHABLE = {
    'Leave out "durable"': "isolation and durable are no flags",
    "Write an import statement": "of the configuration file, which has these words",
    "Write JSON in quotes: ": "likewise",
    "Write llm: {http: ": "likewise",
    'Give "title" or "metadata"': "a title without words is refused before",
    '"metadata" has more than': "no command sends metadata",
    'either "text" or "eof"': "refused before",
    "Ask that one: GET /v1/notebooks": "no command asks for references",
    "The API is under /v1": "the tool knows the paths",
    "Live, sandboxed": "what the index and the description of the API say",
    "Three things to try": "the page for people at /",
    "work in a session; :undo": "on the same page",
    "Up to 7 letters of ASCII": "\"_\" is a character",
    'is not the "next" of a page': "the tool follows pages by itself",
    "raise repl_warmup_timeout_secs": "it is a setting, and in the log",
    '"isolation": "per_cell"': "isolation is no flag",
    '"cursor" is 7, and the code': "the tool counts it",
    'text messages are {"type"': "the tool writes them",
    '"structured": true is for': "no command makes structured cells",
    'Add "explore": true, and': "likewise",
    'Create the session with "explore": true, or': "likewise",
    'Use up to 7 letters, digits, "_", "."': "no command hands tools in",
    'needs either "result" or "error"': "likewise",
    "hand the tools in with a larger": "likewise",
    "Access-Control-Allow": "headers for browsers",
    "POST …/input]": "of answers as text, which the tool does not ask for",
    "/continue]": "likewise",
}


def texts():
    """What may become a message or an advice: literals with a blank, as the compiler joins them."""
    for place in PLACES:
        for path in sorted(SOURCES.glob(place)):
            if path.name.startswith(ELSEWHERE):
                continue
            source = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
            # Descriptions, which the table of operations has: no advice.
            source = re.sub(r"\.(?:doc|about|examples|example)\s*=\s*(?:" + TEXT.pattern + ")", "",
                            source)
            source = re.sub(r"op_(?:shape|event)s? .*?;", "", source, flags=re.S)
            for match in TEXT.finditer(re.sub(r"'(?:\\.|[^'\n])'", "0", source)):
                text = "".join(part[1:-1] for part in re.findall(LITERAL, match[0]))
                text = text.replace(r"\"", '"').replace(r"\n", "\n")
                is_data = re.match(r"\s*[\[{]|[A-Z]+ (?:FROM|INTO|TABLE)\b", text)
                if " " in text.strip() and not is_data:
                    text = text.replace("/v1/%ss/", "/v1/sessions/")
                    yield path.name, re.sub(r"%[-.0-9]*(?:ll|z|h)?[a-z]", "7", text)


class Fake(http.server.BaseHTTPRequestHandler):
    """A daemon that refuses everything with the same words."""
    words = ""

    def do_GET(self):
        body = json.dumps({"error": {"code": "conflict", "message": "no", "advice": self.words}})
        self.send_response(409)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args):
        pass


@pytest.fixture
def say():
    """What the tool prints of an advice of the daemon's."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Fake)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    binary = os.environ.get("CELLA", str(SOURCES.parent / "build/cella"))
    url = f"http://127.0.0.1:{server.server_address[1]}"

    def ask(words):
        Fake.words = words
        done = subprocess.run([binary, "ps", "--url", url, "--key", "k"], capture_output=True,
                              text=True, timeout=host.PATIENCE)
        assert done.stderr.startswith("cella: no\n"), done
        return done.stderr[len("cella: no\n"):].strip()

    yield ask
    server.shutdown()
    thread.join()
    server.server_close()


def test_no_advice_has_words_of_http(say):
    suspects = [(name, text) for name, text in texts() if REST.search(text)]
    assert len(suspects) > 30  # the walk finds them
    told = {text: say(text) for _, text in suspects if not any(u in text for u in UNREACHABLE)}
    assert not [t for t in told.values() if REST.search(t)]


@pytest.mark.parametrize("words, told", [
    ("Keep it with POST …/tries/7/commit or take it back with …/discard.",
     "Keep it with cella try SESSION --id 7 --commit, or take it back with --discard."),
    ("Split the work into shorter cells, or give the cell a larger timeout_ms.",
     "Split the work into shorter cells, or give the cell a larger --timeout."),
    ("create the session with a larger limits.memory_mb.",
     "create the session with a larger limits.memory_mb in cella.yaml."),
    ("Reading is possible. DELETE /v1/sessions/0b9c/plan leaves plan mode.",
     "Reading is possible. cella unplan 0b9c leaves plan mode."),
])
def test_advice_is_in_words_of_the_command_line(say, words, told):
    assert say(words) == told
