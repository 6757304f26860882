"""What a cell of a session that explores writes beyond the cap is a file: the answer says where,
and peek and grep look into it."""

import ast

import pytest

from harness.client import ApiError, Session

SMALL = "default_profile: min\nexplore:\n  output_cap: 1000\n"
MANY = "for n in range(1, 1001): print('line', n, 'of many')"
PRINTED = "".join(f"line {n} of many\n" for n in range(1, 1001))


@pytest.fixture
def explorer(spawn):
    return spawn(explore=True, checkpoints="every")


def look(session, code):
    return ast.literal_eval(session.value(code))


def head_and_tail(path):
    lines = PRINTED.splitlines(keepends=True)
    first, last = "".join(lines[:15]), "".join(lines[-5:])
    between = len(PRINTED) - len(first) - len(last)
    return (f"[Output: {len(PRINTED)} chars, 1000 lines → {path}]\n{first}"
            f"[... {between} chars ...]\n{last}"
            f"[peek(\"{path}\") and grep(\"{path}\", \"pattern\") look into it]\n")


@pytest.mark.smoke
@pytest.mark.release
def test_long_output_is_a_file(explorer):
    answer = explorer.exec(MANY)
    path = f"/spill/turn_{answer.number}.txt"
    assert answer.stdout == head_and_tail(path)
    assert answer.spill == {"path": path, "chars": len(PRINTED), "lines": 1000}
    assert answer.truncated
    assert look(explorer, f"peek({path!r})") == PRINTED[:500]
    whole = f"all = peek(100_000, file_path={path!r})\nlen(all), all[-9:]"
    assert look(explorer, whole) == (len(PRINTED), PRINTED[-9:])
    assert look(explorer, f"grep('line 77 ', {path!r}, 0)") == ["77: line 77 of many"]
    assert look(explorer, f"grep({path!r}, 'LINE 77 ')")[2] == "77: line 77 of many"
    assert "spill" not in explorer.exec("print('short')")


@pytest.mark.one_mode
def test_an_earlier_output_becomes_a_context(client, explorer):
    path = explorer.exec(MANY).spill["path"]
    client.call("POST", f"{explorer.path}/contexts", {"path": path})
    assert look(explorer, "grep('line 77 ', context_lines=0)") == ["77: line 77 of many"]
    with pytest.raises(ApiError) as refused:
        client.call("POST", f"{explorer.path}/contexts", {"name": "no", "path": "/spill/none.txt"})
    assert refused.value.status == 404, refused.value


@pytest.mark.one_mode
def test_every_form_of_an_answer_says_so(client, explorer):
    def text(**members):
        answer = client.request("POST", f"{explorer.path}/exec", {"code": MANY, **members})
        return answer.body.decode()

    number = explorer.exec("1").number
    assert text(format="text") == head_and_tail(f"/spill/turn_{number + 1}.txt")
    tool = client.call("POST", "/v1/tools/run", {"session": explorer.id, "code": MANY})
    shown = head_and_tail(f"/spill/turn_{number + 2}.txt")
    assert tool["content"][0]["text"].startswith(shown[:-1])
    seen = client.call("POST", "/v1/tools/peek",
                       {"session": explorer.id, "file": f"/spill/turn_{number + 2}.txt"})
    assert seen["content"][0]["text"].startswith(PRINTED[:500])
    made = client.call("POST", f"{explorer.path}/contexts",
                       {"path": f"/spill/turn_{number + 1}.txt", "name": "earlier"})
    assert made["chars"] == len(PRINTED)


def test_values_displays_and_errors_belong_to_it(explorer):
    answer = explorer.exec("print('out'); ['x' * 99] * 100")
    assert "value" not in answer and answer.stdout.startswith("[Output: 10")
    assert look(explorer, f"peek(8, file_path={answer.spill.path!r})") == "out\n['xx"
    failed = explorer.exec(f"import sys\nprint('é' * 9000, file=sys.stderr)\n1 / 0")
    assert failed.error.name == "ZeroDivisionError" and failed.spill.chars == 9001
    assert look(explorer, f"set(peek(9001, {failed.spill.path!r}))") == {"é", "\n"}
    assert "stderr" not in failed
    # A progress bar is one line in the end.
    assert "spill" not in explorer.exec("for n in range(5000): print('\\r', n, end='')")


def test_what_is_very_long_goes_to_the_file_as_it_comes(explorer):
    answer = explorer.exec("for n in range(300_000): print(f'{n:09}')")
    assert answer.spill.chars == 3_000_000 and answer.spill.lines == 300_000
    path = answer.spill.path
    assert look(explorer, f"peek(10, {path!r}, 2_999_990)") == "000299999\n"
    assert look(explorer, f"grep('000123456', {path!r}, 0)") == ["123457: 000123456"]


def test_it_goes_back_and_comes_again_with_the_session(client, explorer):
    before = explorer.exec("x = 1")["checkpoint"]
    path = explorer.exec(MANY).spill.path
    client.call("POST", f"{explorer.path}/undo", {"to": before})
    gone = client.request("POST", f"{explorer.path}/explore/peek", {"file_path": path})
    assert gone.status == 404 and f"no output {path}" in gone.json["error"]["message"]
    client.call("POST", f"{explorer.path}/redo", {})
    assert explorer.value(f"peek(4, {path!r})") == "'line'"
    (made,) = client.call("POST", f"{explorer.path}/branch", {"count": 1})["sessions"]
    other = Session(client, made)
    assert other.value(f"peek(4, {path!r})") == "'line'"
    client.request("DELETE", other.path)
    crashed = explorer.exec(MANY + "\nimport os, sys; sys.stdout.flush(); os.kill(os.getpid(), 9)")
    assert crashed.status == "died"
    assert explorer.value(f"peek(4, {crashed.spill.path!r})") == "'line'"
    client.call("POST", f"{explorer.path}/suspend", {})
    assert explorer.value(f"peek(4, {path!r}) + peek(4, {crashed.spill.path!r})") == "'lineline'"


@pytest.mark.release
def test_it_outlives_the_daemon(launch):
    daemon = launch(config=SMALL)
    session = daemon.client.spawn(explore=True)
    path = session.exec(MANY, durable=True).spill.path
    daemon.kill()
    again = launch(data=daemon.data, config=SMALL).client
    assert Session(again, session.spawned).value(f"peek(4, {path!r})") == "'line'"


@pytest.mark.one_mode
def test_the_oldest_are_dropped_by_name(launch):
    daemon = launch(config=SMALL + "  spill_dir: /var/outputs\n")
    session = daemon.client.spawn(explore=True, checkpoints="off", durable="off")
    paths = [session.exec("print('x' * 2000)").spill.path for _ in range(32)]
    assert paths[0] == "/var/outputs/turn_1.txt"
    answer = session.exec("print('y' * 2000)")
    assert f"[dropped: {paths[0]}]\n" in answer.stdout
    assert f"There are: {answer.spill.path}, {paths[-1]}, " in session.value(f"peek({paths[0]!r})")
    assert session.value(f"peek(1, {paths[1]!r})") == "'x'"


@pytest.mark.one_mode
def test_credentials_are_not_in_it(explorer):
    secret = "ghp_" + "a1B2" * 9
    answer = explorer.exec(f"print('key', {secret[:9]!r} + {secret[9:]!r}, 'x' * 9000)")
    assert "[REDACTED:github_pat]" in answer.stdout
    shown = look(explorer, f"peek(100, {answer.spill.path!r})")
    assert shown.startswith("key [REDACTED:github_pat] xxx") and secret not in shown


@pytest.mark.one_mode
def test_no_other_file_can_be_read_through_it(explorer):
    explorer.exec(MANY)
    for path in ("/spill/../etc/passwd", "/spill/", "/spill/turn_99.txt", "/spill/state.json"):
        assert explorer.value(f"peek({path!r})").startswith("'[ERROR: there is no output /spill/")
    assert "[ERROR: " in explorer.value("peek('/spillage/x')")


def test_others_answer_as_ever(session):
    answer = session.exec(MANY)
    assert "spill" not in answer and answer.stdout.startswith("line 1 of many\n")


@pytest.mark.one_mode
def test_what_was_cleared_is_not_in_it(explorer):
    code = ("from IPython.display import clear_output, display\n"
            "print('gone', 'x' * 9000); clear_output(WAIT)\n"
            "print('kept', 'é' * 9000, end=''); display(7); display(8, display_id='d');"
            "display(9, display_id='d', update=True); 'value'")
    for waits in ("True", "False"):
        answer = explorer.exec(code.replace("WAIT", waits))
        assert answer.status == "ok", answer
        path = answer.spill.path
        assert answer.spill.chars == 9005 + len("\n7\n8\n'value'\n")
        assert look(explorer, f"peek(8, {path!r}), peek(99, {path!r}, 9004)") == (
            "kept ééé", "é\n7\n8\n'value'\n")


@pytest.mark.one_mode
def test_a_character_in_two_writes_is_whole(explorer):
    code = ("import os\n"
            "print('x' * 9000, flush=True)\n"
            "for byte in ('€' * 200).encode() + b'\\xe2': os.write(1, bytes([byte]))\n")
    answer = explorer.exec(code)
    shown = look(explorer, f"peek(300, {answer.spill.path!r}, 9001)")
    assert shown == "€" * 200 + "�" and answer.spill.chars == 9202
