"""stdout, stderr and descriptors: complete, in order, and never credited to another cell."""

from __future__ import annotations

import os
import socket

import pytest
from peer import PATIENCE
from shell import Shell


def test_streams_are_apart_and_whole(shell: Shell) -> None:
    answer = shell.run("echo out; echo err >&2; printf 'no newline'; printf x >&2")
    assert (answer.stdout, answer.stderr) == ("out\nno newline", "err\nx")


def test_builtins_and_children_in_order(shell: Shell) -> None:
    assert shell.out("echo 1; /bin/echo 2; (echo 3); echo 4 | cat; printf 5") == "1\n2\n3\n4\n5"


def test_binary_output(shell: Shell) -> None:
    out = shell.run(r"printf '\x00\xff\xfe\x80a'").stdout
    assert out.encode("utf-8", "surrogateescape") == b"\x00\xff\xfe\x80a"


def test_unicode(shell: Shell) -> None:
    assert shell.out("x='grüße \U0001f600'; echo \"$x ${#x}\"") == "grüße \U0001f600 7\n"


def test_much_output(shell: Shell) -> None:
    assert len(shell.out("head -c 10000000 /dev/zero | tr '\\0' x")) == 10_000_000
    assert len(shell.out("for i in {1..20000}; do echo 0123456789; done")) == 220_000


def test_a_child_keeps_its_cell(shell: Shell) -> None:
    shell.run("mkfifo go; { read x <go; echo late; echo late err >&2; } &")
    assert shell.out("echo >go; wait; echo now") == "now\n"
    assert shell.read_late(1, "late\n") == "late\n"
    assert shell.read_late(1, "late err\n", 1) == "late err\n"
    assert shell.out("echo next") == "next\n"
    assert shell.read_late(1, "never") == ""  # closed when the child was gone


@pytest.mark.parametrize(
    "code",
    [
        "exec 1>&-",
        "exec 2>&-",
        "exec 0<&- 1>&- 2>&-",
        "exec >file",
        "exec 2>file >&2",
        "exec >/dev/full; echo x",
        "exec 1>&- 2>&-; echo x; no_such",
        "exec 3>a 4>b 5>c 10>d 200>e",
        "exec {v}>a",
        "exec 1<&0",
        "exec 255>x 254>y",
    ],
)
def test_the_next_cell_has_fresh_pipes(shell: Shell, code: str) -> None:
    assert shell.run(code).status == "ok"
    answer = shell.run("echo out; echo err >&2; /bin/echo child")
    assert (answer.stdout, answer.stderr) == ("out\nchild\n", "err\n")
    assert shell.out("cat </dev/null; echo x | cat") == "x\n"


def test_a_cell_may_redirect_itself(shell: Shell) -> None:
    assert shell.out("exec >f; echo to file") == ""
    assert shell.out("cat f; exec 3>&1; echo 3 >&3; exec 3>&-") == "to file\n3\n"


def test_redirections_of_an_aborted_command_end_with_it(shell: Shell) -> None:
    answer = shell.run("set -e; { echo in; false; } >f 2>&1; echo no")
    assert answer.status == "error" and answer.stdout == ""
    assert shell.out("cat f") == "in\n"
    running = shell.begin("{ echo on >&2; sleep 100; } >f")
    while "on" not in running.rest()[1]:
        pass
    shell.interrupt()
    assert running.finish().status == "interrupted"
    assert shell.out("echo back") == "back\n"


def test_descriptors_do_not_leak(shell: Shell) -> None:
    code = "ls /proc/$$/fd >list; wc -l <list"
    before = shell.out(code)
    for number in range(40):
        shell.run(["echo 1", "if", "set -e; false", "set +e", "cat <(echo)"][number % 5])
    assert shell.out(code) == before


def test_children_have_nothing_of_ours(shell: Shell) -> None:
    listed = shell.out("sh -c 'ls /proc/$$/fd'").split()
    assert set(listed) <= {"0", "1", "2", "3"}, listed  # 3: the folder that ls reads
    assert shell.out("readlink /proc/self/fd/0") == "/dev/null\n"
    assert shell.out("cat; echo end") == "end\n"


def test_a_lowered_limit_of_descriptors(shell: Shell) -> None:
    for limit in (64, 20, 12):
        shell.run(f"ulimit -n {limit}")
        assert shell.out("echo still") == "still\n"


def test_descriptors_all_used_up(shell: Shell) -> None:
    shell.run("ulimit -Sn 300")
    every = "for n in {3..290}; do eval \"exec $n%s\" || break; done 2>/dev/null"
    code = every % ">/dev/null" + "; while exec {f}>/dev/null; do :; done 2>/dev/null"
    assert shell.run(code.replace("{3..290}", "{3..249} {251..290}")).status == "ok"
    assert shell.out("echo still") == "still\n"
    assert shell.run("/bin/echo no").stdout in ("", "no\n")
    shell.run("for n in {3..249} {251..299}; do eval \"exec $n>&-\"; done")
    assert shell.out("echo x | cat; ulimit -Sn") == "x\n300\n"


def test_non_blocking_descriptors(shell: Shell) -> None:
    shell.sock.setblocking(True)
    code = (
        "python3 - $$ <<'E'\nimport os, sys\nfor n in os.listdir(f'/proc/{sys.argv[1]}/fd'):\n"
        "    pass\nos.set_blocking(1, False)\nos.set_blocking(2, False)\nE\n"
        "for i in {1..20000}; do echo 0123456789; done"
    )
    answer = shell.run(code)
    assert answer.status == "ok"
    assert shell.out("echo fine") == "fine\n"


def test_frames_in_pieces(shell: Shell) -> None:
    import array

    out, err = os.pipe(), os.pipe()
    payload = b'{ "op" : "exec", "id":77, "other":[1,{"a":null}], "code":"echo \\u00e9\\n" }'
    data = len(payload).to_bytes(4, "little") + payload
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", (out[1], err[1])))]
    shell.sock.sendmsg([data[:1]], rights)
    for byte in data[1:]:
        shell.sock.sendall(bytes((byte,)))
    assert shell.receive()["status"] == "ok"
    assert os.read(out[0], 100) == "é\n".encode()
    for fd in out + err:
        os.close(fd)


def test_text_of_all_kinds_arrives(shell: Shell) -> None:
    text = "".join(map(chr, range(1, 0x2000))) + "\ud7ff\U00010000\U0010ffff"
    quoted = text.replace("'", "'\\''")
    assert shell.out(f"printf %s '{quoted}'") == text


@pytest.mark.parametrize(
    "payload",
    [b"", b"{", b"[]", b"{}x", b'{"op":1}', b'{"op":"exec","id":1}', b'{"op":"\\x"}', b"\0\0"],
)
def test_what_is_no_frame_ends_the_session(shell: Shell, payload: bytes) -> None:
    shell.sock.sendall(len(payload).to_bytes(4, "little") + payload)
    assert shell.process.wait(PATIENCE) in (0, 1)


def test_unknown_requests_are_ignored(shell: Shell) -> None:
    shell.send({"op": "ack", "id": 1})
    shell.send({"op": "input", "id": 1, "text": "late"})
    shell.send({"op": "tomorrow", "deep": [[[[]]], {"a": {"b": [1, 2, "x"]}}], "no": False})
    assert shell.out("echo on") == "on\n"


def test_the_session_ends_with_the_daemon(shell: Shell) -> None:
    shell.run("trap 'echo bye >trace' EXIT")
    shell.close()
    assert shell.process.returncode == 0
