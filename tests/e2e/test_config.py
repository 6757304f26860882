"""The configuration: `cella config check`, and reading it again without losing a session."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import threading

import pytest

from harness import host
from harness.client import ApiError
from harness.configured import Configured

pytestmark = pytest.mark.privilege

GOOD = """\
agents:
  - id: ana
    repl:
      enabled: true
      allowed_runtimes: ["python", "node"]
inbound_bindings:
  - plugin: whatsapp
    repl:
      enabled: true
      allowed_runtimes: ["python"]
"""


@pytest.fixture
def check(cella, tmp_path):
    """Runs `cella config check` on a text and returns (exit status, stdout, stderr)."""
    path = tmp_path / "cella.yaml"

    def run(text, *options):
        path.write_text(text)
        done = subprocess.run([cella, "config", "check", path, *options], text=True,
                              capture_output=True, timeout=host.PATIENCE)
        return done.returncode, done.stdout, done.stderr.replace(str(path), "FILE")

    return run


@pytest.mark.smoke
def test_a_good_file_is_summed_up(check):
    status, out, errors = check(GOOD)
    assert (status, errors) == (0, "")
    first, *rest = out.splitlines()
    assert first.endswith("cella.yaml: ok")
    assert ("  agent     ana: python, node; 3 sessions, 30 s for a cell, "
            "65536 bytes of output") in rest
    assert any(line.startswith("  binding   whatsapp for every agent: python;") for line in rest)


@pytest.mark.smoke
def test_what_is_kept_of_notebooks_is_summed_up(check):
    _, out, _ = check("notebook: {max_cells: 50, ttl_days: 0, cells_json: true}\n")
    assert ("  notebooks 50 cells, 1024 KB of text a cell, 1024 MB of pictures; without a session "
            "kept for ever; cells.json beside them") in out.splitlines()
    _, out, _ = check(GOOD)
    assert ("  notebooks 10000 cells, 1024 KB of text a cell, 1024 MB of pictures; "
            "without a session kept 30 days") in out.splitlines()


@pytest.mark.smoke
def test_ceilings_are_summed_up(check):
    _, out, _ = check("max_limits: {memory_mb: 2048, pids: 200}\n"
                      "agents: [{id: ana, repl: {enabled: true, max_timeout_secs: 60,"
                      " max_limits: {disk_mb: 64}}}]\n")
    (each,) = [line for line in out.splitlines() if line.startswith("  each ")]
    assert each.startswith("  each      at most memory_mb 2048, cpu_percent ")
    assert "pids 200, disk_mb 102400, " in each
    assert ("  agent     ana: python, node, bash; 3 sessions, 30 s for a cell and up to 60 if "
            "asked, 65536 bytes of output; at most disk_mb 64") in out.splitlines()


@pytest.mark.smoke
def test_a_good_file_in_json(check):
    status, out, _ = check(GOOD, "--json")
    answer = json.loads(out)
    assert status == 0 and answer["ok"]
    assert answer["notebook"] == {"max_cells": 10000, "max_output_kb": 1024,
                                  "max_pictures_mb": 1024, "ttl_days": 30, "cells_json": False}
    assert answer["explore"] == {
        "timeout_seconds": 600, "general_timeout_seconds": 120, "max_context_mb": 8192,
        "output_cap": 8192, "spill_dir": "/spill", "max_grep_results": 100,
        "use_toon_encoding": True, "require_exploration_before_final": False,
        "min_exploration_calls": 1, "web_domains": [], "redact_credentials": True,
        "max_output_preview": 1500, "use_semantic": True, "semantic_threshold": 0.7}
    assert answer["redact_credentials"] is False
    assert [agent["id"] for agent in answer["agents"]] == ["ana", "default"]
    assert answer["inbound_bindings"][0]["repl"]["allowed_runtimes"] == ["python"]


@pytest.mark.parametrize("text, message, fix", [
    ("pool: 4\nmcp_tools: core,all\n",
     'FILE:2: mcp_tools: there is no set of tools "all"',
     "Possible here: core, explore, notebook, repl"),
    *((f"allowed_origins: ['{origin}']\n", f'FILE:1: allowed_origins: "{origin}" is no origin',
       "there are no wildcards") for origin in (
        "*", "null", "https://*.example.org", "https://a.org/", "a.org", "https://", "ftp://a.org",
        "https://A.org", "https://a.org:", "https://a.org:123456", "https://u@a.org",
        "http://[x]")),
    ("agents:\n- id: ana\n  repl:\n    enable: true\n",
     'FILE:4: unknown field "enable"', "Possible here: enabled, allowed_runtimes"),
    ("pool: 4\nagents:\n- id: ana\n- id: ana\n",
     'FILE:4: the agent "ana" is given twice', "Keep one of the two."),
    ("limits:\n  memory_mb: lots\n",
     'FILE:2: memory_mb: "lots" is not a whole number', "Write memory_mb: N"),
    ("explore:\n  output_caps: 9\n",
     'FILE:2: unknown field "output_caps"', "Possible here: timeout_seconds, general_timeout"),
    ("explore:\n  spill_dir: ../out\n", "FILE:2: spill_dir: ", "/"),
    ("explore:\n  semantic_threshold: 2\n", 'FILE:2: semantic_threshold: "2" is no number above 0',
     "Write semantic_threshold: 0.7"),
    ("explore:\n  max_output_preview: 9999\n",
     'FILE:2: max_output_preview: "9999" is not a whole number from 100 to 8192', "Write max"),
    ("agents:\n- id: ana\n  explore: {web_domain: [a.org]}\n",
     'FILE:3: unknown field "web_domain"', "Possible here: web_domains"),
    ("limits: {pids: 9\n", "FILE:2: not valid YAML", "brackets"),
])
def test_a_mistake_is_told_with_line_and_fix(check, text, message, fix):
    status, out, errors = check(text)
    assert (status, out) == (64, "")
    said, advice = errors.splitlines()
    assert said.startswith(f"cella: {message}")
    assert fix in advice


@pytest.mark.smoke
def test_a_mistake_in_json(check):
    status, out, errors = check("pool: x\n", "--json")
    assert (status, errors) == (64, "")
    error = json.loads(out)["error"]
    assert ":1: pool" in error["message"] and error["advice"]


def test_a_program_that_is_missing_is_mentioned(check):
    status, out, _ = check("node: /opt/absent/node\n")
    assert status == 0
    assert "/opt/absent/node is not there: no sessions of this runtime" in out


def test_an_interpreter_of_a_profile_that_is_missing_is_a_mistake(check):
    status, _, errors = check("profiles: {mine: {python: /opt/absent/python3}}\n")
    assert status == 69
    assert 'the profile "mine": cannot use the interpreter /opt/absent/python3' in errors


# Reading it again.

MIN = "default_profile: min\npool: 1\n"


@pytest.fixture
def configured(launch):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cella-test-"))
    folder.chmod(0o755)
    yield Configured(launch, folder, MIN)
    shutil.rmtree(folder)


def test_cells_json_of_old_notebooks_is_written_once_it_is_asked_for(configured):
    session = configured.spawn()
    session.exec("41")
    folder = configured.daemon.data / "workspaces" / "default"
    path = folder / session.id / "mcp_repl" / "cells.json"
    assert not folder.exists()
    configured.reload(MIN + "notebook: {cells_json: true}\n")
    host.eventually(path.exists)
    assert json.loads(path.read_text())["cells"][0]["code"] == "41"


def test_sessions_live_through_a_reload(configured):
    session = configured.spawn()
    session.exec("x = 41")
    told = configured.reload(MIN + "max_sessions: 9\n")
    assert (told["event"], told["file"]) == ("reloaded", str(configured.file))
    assert session.value("x + 1") == "42"


def test_agents_come_and_go(configured):
    assert configured.refusal(agent="ana").status == 403
    configured.reload(MIN + "agents: [{id: ana, repl: {enabled: true, max_sessions: 1}}]\n")
    session = configured.spawn(agent="ana")
    assert configured.refusal(agent="ana").status == 429
    configured.reload(MIN + "agents: [{id: ana, repl: {enabled: true, max_sessions: 2}}]\n")
    configured.spawn(agent="ana")
    configured.reload(MIN)
    assert configured.refusal(agent="ana").status == 403
    assert session.info().state == "idle"
    reply = session.client.request("POST", f"{session.path}/exec", {"code": "1"})
    assert reply.status == 403


def test_the_repl_tool_of_an_agent_can_be_switched_off(configured):
    configured.reload(MIN + "agents: [{id: ana, repl: {enabled: true}}]\n")
    session = configured.spawn(agent="ana")
    request = {"action": "exec", "session_id": session.id, "code": "1", "agent": "ana"}
    assert configured.client.call("POST", "/v1/repl", request).stdout == "1\n"
    configured.reload(MIN + "agents: [{id: ana}]\n")
    assert configured.client.request("POST", "/v1/repl", request).status == 403


def test_limits_hold_for_what_comes(configured):
    old = configured.spawn()
    configured.reload(MIN + "limits: {memory_mb: 100, pids: 50}\nidle_timeout_secs: 77\n"
                            "max_age_secs: 88\n")
    new = configured.spawn().info()
    assert (new.limits.memory_mb, new.limits.pids, new.limits.disk_mb) == (100, 50, 1024)
    assert (new.idle_timeout_secs, new.max_age_secs) == (77, 88)
    assert old.info().limits.memory_mb == 512
    assert old.info().idle_timeout_secs == 600


def test_the_pool_grows_and_shrinks(configured):
    def pooled():
        return configured.client.call("GET", "/health").pooled
    for size in (3, 0, 2):
        configured.reload(f"default_profile: min\npool: {size}\n")
        host.eventually(lambda: pooled() == size, f"{size} in the pool")
    assert configured.spawn().value("1 + 1") == "2"


def test_the_number_of_sessions(configured):
    configured.reload(MIN + "max_sessions: 1\n")
    session = configured.spawn(durable="off")  # others would be suspended to make room
    assert configured.refusal().status == 429
    configured.reload(MIN + "max_sessions: 2\n")
    configured.spawn()
    assert session.is_alive()


def test_a_broken_file_changes_nothing(configured):
    configured.reload(MIN + "max_sessions: 1\n")
    told = configured.reload(MIN + "max_sessions: 5\nagents: [{id: ana, rpl: {}}]\n")
    assert told["event"] == "reload_failed"
    assert told["text"] == f'{configured.file}:4: unknown field "rpl"'
    assert "id, repl" in told["advice"]
    configured.spawn(durable="off")
    assert configured.refusal().status == 429


def test_a_file_that_is_gone_changes_nothing(configured):
    configured.reload(MIN + "max_sessions: 1\n")
    configured.file.unlink()
    told = configured.reload()
    assert told["event"] == "reload_failed"
    assert str(configured.file) in told["text"]
    configured.spawn(durable="off")
    assert configured.refusal().status == 429


def test_programs_and_profiles_wait_for_a_restart(configured):
    configured.reload(MIN + "node: /opt/other/node\nprofiles: {extra: {preload: [json]}, "
                            "data: {preload: []}}\n")
    (told,) = configured.log("reload_needs_restart")
    assert told["changed"] == "node, profiles.data, profiles.extra"
    with pytest.raises(ApiError) as refused:
        configured.client.spawn("extra")
    assert refused.value.status == 400
    assert configured.spawn().value("1 + 1") == "2"


def test_an_agent_stays_in_plan_mode(configured):
    agents = "agents: [{id: ana, repl: {enabled: true}}]\n"
    configured.reload(MIN + agents)
    configured.client.call("PUT", "/v1/agents/ana/plan", {"reason": "think"})
    configured.reload(MIN + agents + "max_sessions: 7\n")
    assert configured.refusal(agent="ana").status == 409


@pytest.mark.slow
def test_many_reloads_while_cells_run(configured):
    session = configured.spawn()
    results = []
    cells = threading.Thread(
        target=lambda: results.extend(session.value(f"{n} * 2") for n in range(200)))
    cells.start()
    for n in range(20):
        configured.reload(MIN + f"agents: [{{id: a{n}}}]\npool: {n % 3}\n"
                                f"limits: {{pids: {50 + n}}}\n")
    cells.join()
    assert results == [str(n * 2) for n in range(200)]


@pytest.mark.needs_root("only root gives its rights up")
def test_a_file_that_only_root_may_read(configured):
    configured.file.chmod(0o600)
    told = configured.reload()
    assert told["event"] == "reload_failed"
    assert "Permission denied" in told["text"]
    assert "may read it" in told["advice"]
