"""The configuration: `cella config check`, and reading it again without losing a session."""

import json
import subprocess

import pytest

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
                              capture_output=True, timeout=60)
        return done.returncode, done.stdout, done.stderr.replace(str(path), "FILE")

    return run


def test_a_good_file_is_summed_up(check):
    status, out, errors = check(GOOD)
    assert (status, errors) == (0, "")
    first, *rest = out.splitlines()
    assert first.endswith("cella.yaml: ok")
    assert ("  agent     ana: python, node; 3 sessions, 30 s for an exec, "
            "65536 bytes of output") in rest
    assert any(line.startswith("  binding   whatsapp for every agent: python;") for line in rest)


def test_a_good_file_in_json(check):
    status, out, _ = check(GOOD, "--json")
    answer = json.loads(out)
    assert status == 0 and answer["ok"]
    assert [agent["id"] for agent in answer["agents"]] == ["ana", "default"]
    assert answer["inbound_bindings"][0]["repl"]["allowed_runtimes"] == ["python"]


@pytest.mark.parametrize("text, message, fix", [
    ("agents:\n- id: ana\n  repl:\n    enable: true\n",
     'FILE:4: unknown field "enable"', "Possible here: enabled, allowed_runtimes"),
    ("pool: 4\nagents:\n- id: ana\n- id: ana\n",
     'FILE:4: the agent "ana" is given twice', "Keep one of the two."),
    ("limits:\n  memory_mb: lots\n",
     'FILE:2: memory_mb: "lots" is not a whole number', "Write memory_mb: N"),
    ("limits: {pids: 9\n", "FILE:2: not valid YAML", "brackets"),
])
def test_a_mistake_is_told_with_line_and_fix(check, text, message, fix):
    status, out, errors = check(text)
    assert (status, out) == (64, "")
    said, advice = errors.splitlines()
    assert said.startswith(f"cella: {message}")
    assert fix in advice


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
