"""The surfaces that run the tables of cases: REST, the repl tool and the command line.

All three speak to the same daemon about the same sessions. A surface runs a cell the way its
callers do and compares what it shows with what the case says; where a surface has no room for
something (the repl tool knows no `value`), it is compared in the form in which it is shown there.
"""

import json
import re
import signal
import threading

from . import host
from .cases import ANYTHING, Back, Gone, Late, Like, LongText, has
from .client import Answer, ApiError, Result
from .shell import Shell

BUDGET = 16_777_216
DROPPED = re.compile(r"\[(\d+) bytes dropped\]\n")  # from the beginning, by the repl tool
LOSS = re.compile(r"cella: (\d+) bytes of output were not shown: [^\n]*\n")
EXIT_STATUS = {"ok": 0, "error": 1, "died": 1, "timeout": 124, "interrupted": 130}

# The tool has no time limit for one cell, only the agent's: cells that should run out of it are
# run for an agent whose time is short.
CONFIG = f"""
default_profile: min
max_output_bytes: {BUDGET}
"""
AGENTS = f"""
agents:
  - id: patient
    repl: {{enabled: true, max_sessions: 1000, timeout_secs: 30, max_output_bytes: {BUDGET}}}
  - id: hasty
    repl: {{enabled: true, max_sessions: 1000, timeout_secs: 1, max_output_bytes: {BUDGET}}}
"""


def same(expected, seen, what):
    is_same = expected == seen
    short = repr(seen) if len(seen or "") < 4000 else f"{len(seen)} characters, {seen[:200]!r}..."
    assert is_same, f"{what}: {short}, not {expected!r:.4000}"


class Surface:
    """A session, and how to run the steps of a case in it."""

    has_ended = False  # by an exit, which elsewhere ends only the cell

    def __init__(self, daemon, runtime, case):
        self.daemon, self.client, self.case = daemon, daemon.client, case
        self.runtime = runtime
        options = {"cwd": case.cwd, "env": case.env}
        self.id = self.open(runtime, {k: v for k, v in options.items() if v is not None})
        self.path = f"/v1/sessions/{self.id}"
        self.exec_ids = []  # of the cells, in order

    def open(self, runtime, options):
        return self.client.call("POST", "/v1/sessions", {"runtime": runtime, **options}).session_id

    def close(self):
        self.client.request("DELETE", self.path)

    def step(self, step):
        if self.has_ended:
            return
        if isinstance(step, Late):
            self.check_late(step)
        elif isinstance(step, Gone) or isinstance(step, Back) and not self.goes_back():
            same(step.says, self.refusal(), "the refusal")
        elif isinstance(step, Back):
            self.go_back(step.cell)
        else:
            self.exec_ids.append(len(self.exec_ids) + 1)
            self.run(step)

    def goes_back(self):
        """After the last cell, instead of ending with its interpreter."""
        return True

    def go_back(self, cell):
        self.step(cell)

    def refusal(self):
        """What another cell is told when the session has ended."""
        reply = self.client.request("POST", f"{self.path}/exec", {"code": ""})
        assert reply.status == 410, reply
        return reply.json["error"]["message"] + " " + reply.json["error"]["advice"]

    def output(self, exec_id, stream):
        """All that is kept of what a cell wrote."""
        query = f"number={exec_id}&stream={stream}&limit={BUDGET}"
        return self.client.call("GET", f"{self.path}/output?{query}")["text"]

    def check_late(self, step):
        exec_id = self.exec_ids[step.cell]
        for stream, expected in (("stdout", step.out), ("stderr", step.err)):
            host.eventually(lambda: expected == self.output(exec_id, stream),
                            what=f"{stream} {expected!r}")

    def wait_to_interrupt(self, text):
        """Until the cell that runs has written this."""
        exec_id = self.exec_ids[-1]

        def has_come():
            try:
                return text in self.output(exec_id, "stdout")
            except ApiError:
                return False  # it has not begun

        host.eventually(has_come, what=f"the output {text!r}")

    def interrupt_when(self, cell):
        self.wait_to_interrupt(cell.interrupt_at)
        self.client.call("POST", f"{self.path}/interrupt", {})

    def with_interrupt(self, cell, work):
        """Calls work(), which runs the cell, and interrupts it meanwhile if it is to be."""
        if not cell.interrupt_at:
            return work()
        found = []
        thread = threading.Thread(target=lambda: found.append(work()))
        thread.start()
        try:
            self.interrupt_when(cell)
        finally:
            thread.join(host.PATIENCE)
        return found[0]


class Rest(Surface):
    """Everything that can be known is a member of the answer."""

    def run(self, cell):
        answer = self.with_interrupt(cell, lambda: self.exec(cell))
        check_answer(cell, answer)

    def exec(self, cell):
        body = {"code": cell.code, "budget": BUDGET}
        if cell.timeout_ms:
            body["timeout_ms"] = cell.timeout_ms
        if cell.yield_ms:
            body["yield_ms"] = cell.yield_ms
        answer = self.client.call("POST", f"{self.path}/exec", body)
        seen = {"stdout": answer["stdout"], "stderr": answer["stderr"]}
        for prompt, line in cell.answers:
            assert answer.status == "input_required", answer
            same(prompt, answer["input"]["prompt"], "the prompt")
            given = {"eof": True} if line is None else {"text": line}
            answer = self.go_on(seen, "input", given)
        if cell.yield_ms:
            assert answer.status == "running", answer
            answer = self.go_on(seen, f"exec/{answer.number}/continue", {})
        return Answer({**answer, **seen})

    def go_on(self, seen, what, body):
        """The next answer about the cell, which holds only what is new."""
        answer = self.client.call("POST", f"{self.path}/{what}", {"budget": BUDGET, **body})
        for stream in seen:
            seen[stream] += answer[stream]
        return answer


def check_answer(cell, answer):
    answer = Answer(answer)
    assert cell.status == answer["status"], answer
    same(cell.out, answer["stdout"], "stdout")
    same(cell.err, answer["stderr"], "stderr")
    value = answer["value"] and answer["value"].get("text")
    if cell.value is not ANYTHING:
        same(cell.value, value, "the value")
    if cell.error is not None and answer["error"] is not None or isinstance(cell.error, str):
        same(cell.error, answer["error"]["name"], "the error's name")
        same(cell.message, answer["error"]["message"], "the error's message")
        if cell.traceback is not ANYTHING:
            same(cell.traceback, answer["error"]["traceback"], "the traceback")
    elif cell.status == "ok":
        assert answer["error"] is None, answer
    if cell.last_status is not ANYTHING:
        assert answer["last_status"] == cell.last_status, answer
    assert cell.exit_code == answer["exit_code"], answer


def check_errors(cell, text):
    """Of a surface that shows errors on stderr, after what the cell itself wrote there."""
    if cell.error is None:
        if cell.status == "ok":
            same(cell.err, text, "stderr")
        return
    if isinstance(cell.err, str):
        assert text.startswith(cell.err), text
    for part in (cell.error, cell.message):
        assert part == text if isinstance(part, Like) else part in text, (part, text)
    if cell.traceback is not ANYTHING:
        assert cell.traceback == text or cell.traceback.strip() in text, (cell.traceback, text)


class Tool(Surface):
    """The repl tool: value and traceback are in the streams, as interpreters show them."""

    def __init__(self, *args):
        self.seen = {"stdout": "", "stderr": ""}  # of the whole session
        super().__init__(*args)
        self.is_mixed = any(isinstance(step, Late) for step in self.case.steps) or self.is_hasty()

    def is_hasty(self):
        """True if a cell of the case is to run out of time: the tool leaves it running, and what
        it says when the next cell interrupts it comes with the next answer."""
        return any(getattr(step, "timeout_ms", 0) for step in self.case.steps)

    def call(self, action, **members):
        return self.client.call("POST", "/v1/repl", {"action": action, **members})

    def open(self, runtime, options):
        self.agent = "hasty" if self.is_hasty() else "patient"
        env = options.pop("env", None)
        if env is not None:  # the tool has no member for it; its sessions are those of REST
            members = {"runtime": runtime, "env": env, "agent": self.agent, **options}
            return self.client.call("POST", "/v1/sessions", members).session_id
        return self.call("spawn", runtime=runtime, agent=self.agent, **options)["session_id"]

    def take(self, answer):
        for stream in self.seen:
            self.seen[stream] += answer[stream]
        return answer

    def exec(self, code):
        return self.take(self.call("exec", session_id=self.id, code=code, agent=self.agent))

    def refusal(self):
        """At once, or when the cell that is overdue has had its grace."""
        members = {"action": "exec", "session_id": self.id, "code": "", "agent": self.agent}
        error = host.eventually(
            lambda: self.client.request("POST", "/v1/repl", members).json.get("error"))
        assert f"session {self.id} terminated (exit code" in error["message"], error
        return error["message"] + " " + error["advice"]

    def run(self, cell):
        answer = self.with_interrupt(cell, lambda: self.exec_with_answers(cell))
        if cell.status is not ANYTHING:
            assert answer["timed_out"] is (cell.status == "timeout"), answer
        self.has_ended = self.ends_by(cell)
        self.last_exit = answer["exit_code"]
        lives = str(cell.status) in ("ok", "error") and not self.has_ended
        exit_code = None if lives else cell.exit_code
        assert exit_code == answer["exit_code"] or answer["timed_out"], answer
        self.check_out(cell, answer["stdout"])
        if self.has_ended:
            same(has(f"exit code {exit_code}"), self.refusal(), "the refusal")
        elif not self.is_mixed:
            check_errors(cell, answer["stderr"])

    def goes_back(self):
        """It does when its interpreter was killed, and not when that left."""
        return self.last_exit is None or self.last_exit > 128

    def go_back(self, cell):
        """One who is hasty does not wait until the cell before has had its grace."""
        if not self.is_hasty():
            self.step(cell)
            return
        self.exec(cell.code)
        shown = cell.out + (f"{cell.value}\n" if cell.value is not None else "")

        def has_come():
            self.take(self.call("read", session_id=self.id, agent=self.agent))
            return self.seen["stdout"].endswith(shown)

        host.eventually(has_come, what=f"the output {shown!r}")

    def ends_by(self, cell):
        """As with the interpreter itself, which for Python has the option -i: an exit of Node.js or
        bash is the end of the session."""
        is_exit = isinstance(cell.exit_code, int) and cell.error in (None, "SystemExit")
        is_end = is_exit and cell.status in ("ok", "error") and cell.value is None
        return is_end and self.runtime != "python"

    def check_out(self, cell, text):
        echo = f"{cell.value}\n" if isinstance(cell.value, str) else ""
        if cell.out is ANYTHING or cell.value is ANYTHING:
            return
        dropped = DROPPED.match(text)
        if dropped and isinstance(cell.out, LongText):
            assert cell.out.is_end(text[dropped.end():], int(dropped[1])), text[:200]
            return
        if isinstance(cell.out, str) and isinstance(cell.value, (str, type(None))):
            if self.is_mixed:
                assert cell.out + echo in text, text
            else:
                same(cell.out + echo, text, "stdout")
        elif isinstance(cell.value, Like):
            assert isinstance(cell.out, str) and text.startswith(cell.out), text
            same(cell.value, text[len(cell.out):].removesuffix("\n"), "the value")
        else:
            assert text.endswith(echo), text
            same(cell.out, text.removesuffix(echo), "stdout")

    def exec_with_answers(self, cell):
        answer, out = self.exec(cell.code), ""
        err = answer["stderr"]
        for prompt, line in cell.answers:
            assert answer["stdout"].endswith(prompt), answer
            out += answer["stdout"].removesuffix(prompt)
            answer = self.exec(line) if line is not None else self.end_input()
            err += answer["stderr"]
        return Result({**answer, "stdout": out + answer["stdout"], "stderr": err})

    def end_input(self):
        """The tool has no word for the end of the input; REST has."""
        answer = self.client.call("POST", f"{self.path}/input", {"eof": True})
        text = self.take(self.call("read", session_id=self.id, agent=self.agent))
        return Result({**text, "timed_out": False, "exit_code": answer["exit_code"]})

    def check_late(self, step):
        """It does not say whose output it is, but all of it comes."""

        def has_come():
            self.take(self.call("read", session_id=self.id, agent=self.agent))
            return all(isinstance(e, Like) and e == self.seen[s] or e in self.seen[s]
                       for s, e in (("stdout", step.out), ("stderr", step.err)))

        host.eventually(has_come, what=f"the late output {step}")


class CommandLine(Surface):
    """`cella exec`: what a person at a terminal sees, and with --json what a script does."""

    def __init__(self, *args):
        super().__init__(*args)
        self.shell = Shell(self.daemon.binary, self.daemon.user, self.daemon.data)

    def refusal(self):
        done = self.shell("exec", "--session", self.id, "--", "")
        assert done.returncode not in EXIT_STATUS.values(), done
        return done.stderr

    def run(self, cell):
        is_json = cell.last_status is not ANYTHING or cell.exit_code is not None
        args = ["exec", "--session", self.id]
        args += ["--json", "--budget", str(BUDGET)] if is_json else []
        args += ["--timeout", f"{cell.timeout_ms}ms"] if cell.timeout_ms else []
        is_long = len(cell.code) > 100_000
        child = self.shell.start(*args, "-f", "-") if is_long else self.shell.start(
            *args, "--", cell.code)
        stdin = cell.code if is_long else "".join(
            f"{line}\n" for _, line in cell.answers if line is not None)
        if cell.interrupt_at:
            self.wait_to_interrupt(cell.interrupt_at)
            child.send_signal(signal.SIGINT)
        told = child.communicate(stdin.encode(), timeout=host.PATIENCE)
        out, err = (data.decode() for data in told)
        self.check_status(cell, child.returncode, out, err)
        if is_json:
            check_answer(cell, json.loads(out))
        else:
            self.check(cell, out, err)

    def check_status(self, cell, status, out, err):
        """It ends as the code did: as the last command of bash, as the interpreter that ended."""
        expected = EXIT_STATUS.get(str(cell.status), ANYTHING)
        if cell.exit_code is not None and cell.status != "timeout":
            expected = cell.exit_code
        elif self.runtime == "bash" and cell.status in ("ok", "error"):
            expected = cell.last_status
        assert expected == status, (status, out[-2000:], err[-2000:])

    def check(self, cell, out, err):
        for prompt, _ in cell.answers:
            out = out.replace(prompt, "", 1)  # is shown where a person would be asked
        self.check_out(cell, out, err)
        is_late = any(isinstance(step, Late) for step in self.case.steps)
        if is_late:  # what came before this cell's answer is told with it, and is checked later
            err = err.partition("cella: cell ")[0]
        if not cell.answers:
            check_errors(cell, LOSS.sub("", err))

    def check_out(self, cell, text, err):
        if isinstance(cell.value, str):
            assert text.endswith(f"{cell.value}\n"), text
            text = text.removesuffix(f"{cell.value}\n")
            if text and isinstance(cell.out, str) and not cell.out.endswith("\n"):
                text = text.removesuffix("\n")  # a value begins on a line of its own
        elif isinstance(cell.value, Like) and cell.value is not ANYTHING:
            assert isinstance(cell.out, str) and text.startswith(cell.out), text
            same(cell.value, text[len(cell.out):].strip("\n"), "the value")
            return
        lost = LOSS.search(err)
        if lost and isinstance(cell.out, LongText):
            assert cell.out.is_start(text, int(lost[1])), (len(text), err)
        elif cell.value is not ANYTHING:
            same(cell.out, text, "stdout")


SURFACES = {"rest": Rest, "tool": Tool, "cli": CommandLine}


def run(surface, daemon, runtime, case):
    """Runs a case in a session of its own."""
    running = SURFACES[surface](daemon, runtime, case)
    try:
        for step in case.steps:
            running.step(step)
    finally:
        running.close()
