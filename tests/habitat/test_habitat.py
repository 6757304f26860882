"""What works on Linux works in a session: the cases of the table, outside as an ordinary user and
in a session.

All cases that were chosen run in one go, outside once and inside once for each kind of daemon; the
tests compare."""

import json
import pathlib
import shutil
import tempfile

import pytest

import commands  # noqa: F401  (fills the table)
import libraries  # noqa: F401
from differences import ALIKE, CLOSED
from harness.client import Session
from sides import LIMITS, run_outside
from table import PYTHON, TABLE, missing

HERE = pathlib.Path(__file__).parent


def test_the_table_has_something_for_everybody():
    assert len(TABLE) >= 200
    names = [case.name for case in TABLE]
    assert sorted(names) == sorted(set(names))
    assert {name for case in TABLE for name in case.but} <= set(ALIKE)
    closed = {name for case in TABLE for name in (case.closed, case.closed_user)}
    assert closed - {""} == set(CLOSED)


def chosen(request, *ways):
    """The cases of these ways that this run will look at."""
    cases = {item.callspec.params["case"] for item in request.session.items
             if "case" in getattr(getattr(item, "callspec", None), "params", {})}
    return [case for case in TABLE
            if case in cases and case.way in ways and not missing(case)]


PROCESSES = ("sh", "py", "js")
CELLS = ("cell bash", "cell python", "cell node", "cell data", "cell value")


@pytest.fixture(scope="session")
def outside(request, account):
    """{name: result} of an ordinary user of this machine."""
    user, _ = account
    folder = pathlib.Path(tempfile.mkdtemp(prefix="habitat-", dir="/var/tmp"))
    try:
        commands_of_all = {case.name: case.argv() for case in chosen(request, *PROCESSES, *CELLS)}
        (folder / "commands").write_text(json.dumps(commands_of_all))
        shutil.copy(HERE / "runner.py", folder)
        folder.chmod(0o755)
        if user:
            shutil.chown(folder, user.pw_uid, user.pw_gid)
        run_outside(user, folder, "runner.py", "commands", "results", check=True)
        return json.loads((folder / "results").read_text())
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_cell(session, case):
    result = session.exec(case.code)
    text = result["stdout"]
    if case.way == "cell value" and result["value"]:
        text += result["value"]["text"] + "\n"
    if result.status == "error":
        text += str(result["error"])
    return {"status": 0 if result.status == "ok" else 1, "stdout": text,
            "stderr": result["stderr"]}


@pytest.fixture(scope="session")
def inside(request, shared_daemon):
    """{name: result} of a session."""
    client = shared_daemon.get().client
    found = {}

    def spawn(way, debug=False):
        runtime = {"cell bash": "bash", "cell node": "node"}.get(way, "python")
        members = {"runtime": runtime, "limits": LIMITS, "debug": debug}
        if runtime == "python":
            members["profile"] = "data" if way == "cell data" else "min"
        return Session(client, client.call("POST", "/v1/sessions", members))

    def run_processes(processes, debug):
        session = spawn("cell bash", debug).patient(900)
        session.put("commands", json.dumps({c.name: c.argv() for c in processes}).encode())
        session.put("runner.py", (HERE / "runner.py").read_bytes())
        ran = session.exec(f"{PYTHON} runner.py commands results", timeout_ms=900_000)
        assert ran.status == "ok", ran
        found.update(json.loads(session.get("results").body))
        session.kill()

    for debug in (False, True):
        processes = [c for c in chosen(request, *PROCESSES) if c.debug == debug]
        if processes:
            run_processes(processes, debug)
    for way in CELLS:
        cases = chosen(request, way)
        if cases:
            session = spawn(way)
            found.update({case.name: run_cell(session, case) for case in cases})
            session.kill()
    return found


def likeness(case, result):
    """What must be the same of a result."""
    alike = dict(result)
    for name in case.but:
        for part in ("stdout", "stderr"):
            alike[part] = ALIKE[name].hide(alike[part])
    return alike


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in TABLE])
def test_everyday(case, mode, outside, inside, request):
    if missing(case):
        pytest.skip(f"not on this machine: {', '.join(missing(case))}")
    there, here = likeness(case, outside[case.name]), likeness(case, inside[case.name])
    if case.closed_user and mode == "user":
        request.applymarker(pytest.mark.xfail(reason=CLOSED[case.closed_user].title))
    if case.closed:
        assert here != there, f"the difference \"{case.closed}\" is none any more"
    else:
        assert here == there
