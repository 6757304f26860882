"""Where exploring ends: settings of the block `explore`, sizes, deadlines, questions at a time, and
what has to be looked at before an answer counts."""

import os
import signal
import threading

import pytest

from harness import host
from harness.client import Session

pytestmark = pytest.mark.one_mode

CONFIG = "default_profile: min\nexplore:\n"


@pytest.fixture
def explorer(launch):
    """Starts a session of a daemon with these settings."""

    def start(settings="", agents="", agent=None, env=None, **members):
        lines = "".join(f"  {line}\n" for line in settings.splitlines())
        config = (CONFIG if lines else "default_profile: min\n") + lines + agents
        client = launch(config=config, env=env).client
        return client.spawn(explore=True, **({"agent": agent} if agent else {}), **members)

    return start


def load(session, text, name="context"):
    return session.client.request("PUT", f"{session.path}/contexts/{name}", text)


def ask(session, what, **args):
    return session.client.request("POST", f"{session.path}/explore/{what}", args)


def worker_of(session, daemon):
    """The process that looks into texts; there is one after the first question."""

    def pids():
        session.exec("peek(1)")  # may be too late where the time is scaled
        return [pid for pid, _ in daemon.tree()
                if host.read(f"/proc/{pid}/cmdline").startswith("cella\0explore-box")]

    (pid,) = host.eventually(pids, what="the process that looks into texts")
    return pid


def test_a_text_may_be_as_large_as_the_configuration_says(explorer):
    session = explorer("max_context_mb: 1")
    assert load(session, b"x" * (1 << 20)).status == 201
    for refused in (load(session, b"x" * ((1 << 20) + 1), "more"),
                    session.client.request("POST", f"{session.path}/contexts",
                                           {"text": "é" * (600 << 10), "name": "more"})):
        assert refused.status == 413 and "more than 1 MiB" in refused.json["error"]["message"]
    assert session.value("context_len()") == str(1 << 20)
    path = session.exec("print('x ' * (1 << 20))").spill.path  # is no context
    assert session.value(f"peek(1, {path!r})") == "'x'"


def test_a_hole_of_more_than_8_gib_is_not_read(explorer):
    session = explorer(limits={"disk_mb": 20480}, checkpoints="off", durable="off")
    session.exec("open('hole', 'wb').truncate((8 << 30) + 1)")
    refused = session.client.request("POST", f"{session.path}/contexts", {"path": "hole"})
    assert refused.status == 413 and "more than 8192 MiB" in refused.json["error"]["message"]
    assert "more than 8192 MiB" in session.value("peek(file_path='hole')")
    assert "more than 8192 MiB" in session.value("grep('x', 'hole')")


def test_sixteen_questions_are_answered_at_a_time(launch):
    daemon = launch(config="default_profile: min\n")
    session = daemon.client.spawn(explore=True)
    load(session, b"text")
    worker = worker_of(session, daemon)
    os.kill(worker, signal.SIGSTOP)
    answers, lock = [], threading.Lock()

    def peek():
        answer = ask(session, "peek", n=2)
        with lock:
            answers.append(answer)

    threads = [threading.Thread(target=peek) for _ in range(20)]
    for thread in threads:
        thread.start()
    host.eventually(lambda: len(answers) == 4, what="the answers to four too many")
    assert {answer.status for answer in answers} == {429}
    assert "16 questions" in answers[0].json["error"]["message"]
    os.kill(worker, signal.SIGCONT)
    for thread in threads:
        thread.join(host.PATIENCE)
    assert [answer.json["text"] for answer in answers if answer.status == 200] == ["te"] * 16


def test_counting_a_text_has_a_deadline(launch):
    daemon = launch(config="default_profile: min\n", env={"CELLA_TEST_TIME_SCALE": "0.005"})
    session = daemon.client.spawn(explore=True)
    load(session, b"text")
    os.kill(worker_of(session, daemon), signal.SIGSTOP)
    late = load(session, b"another", "other")
    assert late.status == 408 and "took longer than 600 ms" in late.json["error"]["message"]
    # Of another process, which begins within a time that is as short for this daemon.
    host.eventually(lambda: session.value("peek(2)") == "'te'")
    assert load(session, b"another", "other").json["chars"] == 7


def test_the_context_is_looked_at_before_an_answer_counts(explorer):
    session = explorer("require_exploration_before_final: true\nmin_exploration_calls: 2")
    load(session, b"text")
    early = "Premature FINAL: Must call at least 2 exploration function(s) (peek, grep, "
    for code in ("FINAL(1)", "peek(1); FINAL(1)"):
        answer = session.exec(code)
        assert early in answer.error.message and "is_final" not in answer
    answer = session.exec("grep('t'); FINAL(42)")
    assert answer.is_final and answer.final_answer == "42"
    session.client.call("POST", f"{session.path}/reset", {})
    assert early in session.exec("FINAL(1)").error.message


def test_others_answer_without_a_look(explorer):
    assert explorer("min_exploration_calls: 2").exec("FINAL(1)").final_answer == "1"


def test_matches_and_tables_are_as_the_configuration_says(explorer):
    session = explorer("max_grep_results: 2\nuse_toon_encoding: false")
    load(session, b"a\n" * 5)
    assert session.value("grep('a', context_lines=0)") == (
        "['1: a', '2: a', '[... truncated at 2 results]']")
    session.exec("for n in range(9): open(f'{n}.txt', 'w').close()")
    assert "toon" not in ask(session, "list_dir", toon=True).json


SIMILAR = "disk full on host alpha after the nightly backup of all users was written "


@pytest.mark.parametrize("settings, refs", [
    ("", ["G1"]), ("use_semantic: false", []), ("semantic_threshold: 0.999", []),
    ("semantic_threshold: 0.05", ["G1"])])
def test_results_refer_to_those_that_they_resemble(explorer, settings, refs):
    session = explorer(settings)
    load(session, f"{SIMILAR}\n{SIMILAR.replace('alpha', 'gamma')} later\n".encode())
    session.exec("grep('alpha', context_lines=0); grep('gamma', context_lines=0)")
    told = session.client.call("GET", f"{session.path}/state")
    assert told["tree"]["nodes"]["G2"]["refs"] == refs


def test_a_long_output_is_shown_as_far_as_the_configuration_says(explorer):
    for settings, shown in (("", 1500), ("max_output_preview: 100", 100),
                            ("max_output_preview: 8192", 8192)):
        answer = explorer(f"output_cap: 100\n{settings}").exec("print('é文' * 20_000)")
        lines = answer.stdout.splitlines()
        assert [len(lines[i]) for i in (1, 3)] == [shown - shown // 3, shown // 3 - 1]
        assert lines[2] == f"[... {40_001 - shown} chars ...]"


@pytest.mark.parametrize("everywhere", [True, False])
def test_credentials_are_hidden_where_the_configuration_says(launch, everywhere):
    config = f"default_profile: min\nredact_credentials: {str(everywhere).lower()}\n"
    client = launch(config=config).client
    secret = "ghp_" + "a1B2" * 9
    shown = "[REDACTED:github_pat]" if everywhere else secret
    code = f"key = {secret[:9]!r} + {secret[9:]!r}; print(key); key"
    session = client.spawn()
    answer = session.exec(code)
    assert (answer.stdout, answer["value"]["text"]) == (shown + "\n", f"'{shown}'")
    once = client.call("POST", "/v1/exec", {"code": code, "profile": "min"})
    assert shown in once["stdout"] and (secret in str(once)) is not everywhere
    book = client.request("GET", f"/v1/notebooks/{session.id}/export?format=ipynb").body.decode()
    assert shown in book and (secret in book) is not everywhere
    bash = Session(client, client.call("POST", "/v1/sessions", {"runtime": "bash"}))
    said = bash.exec(f"a={secret[:9]}; echo ${{a}}{secret[9:]}")
    assert said.stdout == shown + "\n"


def test_cells_that_explore_have_their_own_time(explorer):
    session = explorer("general_timeout_seconds: 1\ntimeout_seconds: 2")
    endless = "import time\nwhile True: time.sleep(0.01)"
    assert "limit of 1000 ms" in session.exec(endless).error.message
    load(session, b"text")
    assert "limit of 2000 ms" in session.exec(endless).error.message


AGENTS = """\
agents:
- {id: default, repl: {enabled: true}}
- {id: ana, repl: {enabled: true}, explore: {web_domains: [127.0.0.1:9]}}
- {id: bob, repl: {enabled: true}}
"""


@pytest.mark.parametrize("agent, message", [
    (None, "not among the domains"), ("ana", "does not answer"), ("bob", "no domain is listed")])
def test_each_agent_has_its_own_domains(explorer, agent, message):
    session = explorer("web_domains: [example.org]", AGENTS, agent)
    assert message in session.value("web_fetch('http://127.0.0.1:9/')")
