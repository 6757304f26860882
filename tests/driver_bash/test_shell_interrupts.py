"""SIGINT stops a cell, wherever it is, and nothing else."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest
from peer import PATIENCE
from shell import Shell


@pytest.mark.parametrize(
    "code",
    [
        "echo on; while :; do :; done",
        "echo on; sleep 100",
        "echo on; for i in {1..1000}; do sleep 100; done",
        "sleep 100 & echo on; wait",
        "sleep 100 & echo on; wait $!",
        "mkfifo p; echo on; read x <p",
        "echo on; sleep 100 | sleep 100",
        "echo on; yes | cat >/dev/null",
        "echo on; (while :; do :; done)",
        "echo on; (sleep 100; echo no)",
        "echo on; x=$(sleep 100)",
        "echo on; x=$( (while :; do :; done) )",
        "echo on; cat <(sleep 100)",
        "f() { echo on; while :; do :; done; }; f",
        "f() { trap 'echo trapped' INT; echo on; while :; do :; done; }; f",
        "f() { trap 'echo trapped' INT; echo on; sleep 100; }; f",
        "trap 'echo bye' EXIT; echo on; while :; do :; done",
        "trap - INT; echo on; while :; do :; done",
        "eval 'echo on; while :; do :; done'",
        "echo 'echo on; while :; do :; done' >s; . ./s",
        "set -e; echo on; sleep 100; true",
        "echo on; while read -t 50 x <&9; do :; done 9<>p9",
        "trap 'echo on; while :; do :; done' USR1; kill -USR1 $$",
        "trap ':' DEBUG; echo on; while :; do :; done",
        "coproc sleep 100; echo on; wait",
        "set -m; echo on; while :; do :; done",
        "bash -c 'echo on; while :; do :; done'; true",
        "echo on; while :; do x=$((x+1)); done",
        "echo on; until false; do ls >/dev/null; done",
    ],
)
def test_a_cell_is_interrupted(shell: Shell, code: str) -> None:
    shell.run("mkfifo p9; kept=1")
    running = shell.begin(code)
    running.wait_for_output("on")
    shell.wait_until_under_way()
    shell.interrupt_as_often_as_the_daemon()
    answer = running.finish()
    assert (answer.status, answer.last_status) == ("interrupted", 130), answer
    assert answer.error["name"] == "Interrupted"
    assert ("trapped\n" in answer.stdout) == ("trapped" in code), answer
    assert shell.run("echo $? $kept; set +e").stdout == "130 1\n"
    assert shell.run("trap - INT; echo again").stdout == "again\n"


def test_an_interrupt_outside_a_cell_is_ignored(shell: Shell) -> None:
    shell.run("trap 'echo trapped' INT")
    for _ in range(100):
        shell.interrupt()
    shell.settle()
    assert shell.out("echo fine") == "fine\n"


def test_background_jobs_survive_an_interrupt(shell: Shell) -> None:
    # A job that has not become its program yet may still be as interruptible as the shell.
    shell.run("sleep 50 & job=$!; until grep -q sleep /proc/$job/comm; do :; done")
    running = shell.begin("echo on; sleep 100")
    running.wait_for_output("on")
    shell.interrupt()
    assert running.finish().status == "interrupted"
    assert shell.out("kill -0 $job && echo alive; kill $job") == "alive\n"


def test_an_interrupt_at_any_moment_of_a_command(shell: Shell) -> None:
    """The child is started, or not yet; the shell waits for it, or not yet."""
    shell.run("set -e")
    for number in range(60):
        running = shell.begin("{ echo on >&2; sleep 100 | sleep 100; } >f")
        while "on" not in running.rest()[1]:
            pass
        time.sleep(number % 12 * 0.0003)
        shell.interrupt()
        assert running.finish().status == "interrupted"
        assert shell.out("echo back") == "back\n"


def test_exit_in_a_trap_on_int_ends_the_cell(shell: Shell) -> None:
    shell.run("trap 'echo trapped; exit 9' INT; trap 'echo tidy' EXIT")
    running = shell.begin("echo on; while :; do :; done")
    running.wait_for_output("on")
    shell.interrupt()
    answer = running.finish()
    assert (answer.status, answer.stdout) == ("interrupted", "on\ntrapped\ntidy\n")
    assert shell.out("echo back") == "back\n"


def test_a_trap_on_int_runs_to_its_end(shell: Shell) -> None:
    shell.run("trap '/bin/echo one; (echo two); false; echo three' INT; set -e")
    running = shell.begin("echo on; sleep 100")
    running.wait_for_output("on")
    shell.interrupt()
    answer = running.finish()
    assert (answer.status, answer.stdout) == ("interrupted", "on\none\ntwo\n")
    assert shell.out("echo $?; trap - INT") == "130\n"


def test_a_cell_that_ignores_sigint_is_for_the_daemon_to_kill(shell: Shell) -> None:
    running = shell.begin("trap '' INT; echo on; while :; do :; done")
    running.wait_for_output("on")
    for _ in range(20):
        shell.interrupt()
        time.sleep(0.002)
    with pytest.raises(TimeoutError):
        running.finish(0.1)
    shell.process.kill()
    assert shell.process.wait(PATIENCE) == -signal.SIGKILL


def test_ignoring_sigint_can_be_undone(shell: Shell) -> None:
    shell.run("trap '' INT")
    shell.run("trap - INT")
    running = shell.begin("echo on; while :; do :; done")
    running.wait_for_output("on")
    shell.interrupt()
    assert running.finish().status == "interrupted"


def test_a_failed_exec_leaves_the_shell_as_it_was(shell: Shell) -> None:
    answer = shell.run("exec /no/such/program; echo still here $?")
    assert answer.status == "ok" and answer.stdout == "still here 127\n"
    running = shell.begin("exec /no/such/program; echo on; while :; do :; done")
    running.wait_for_output("on")
    shell.interrupt()
    assert running.finish().status == "interrupted"


def test_thousands_of_stray_signals(shell: Shell) -> None:
    """Between cells, during frames, while parsing and answering."""
    stop = threading.Event()

    def storm() -> None:
        while not stop.is_set():
            os.kill(shell.pid, signal.SIGINT)
            time.sleep(0.0002)

    thread = threading.Thread(target=storm)
    thread.start()
    try:
        cells = ["echo x", "f() { echo $(echo y); }; f", "if", "(exit 3)", "x=$(</dev/null)"]
        for number in range(500):
            answer = shell.run(cells[number % len(cells)])
            assert answer.status in ("ok", "error", "interrupted")
    finally:
        stop.set()
        thread.join()
    shell.settle()
    assert shell.out("echo fine") == "fine\n"


def test_an_interrupt_of_a_cell_on_its_way_is_for_that_cell(shell: Shell) -> None:
    out, err = os.pipe(), os.pipe()
    import array
    import socket

    payload = b'{"op":"exec","id":77,"code":"while :; do :; done"}'
    data = len(payload).to_bytes(4, "little") + payload
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", (out[1], err[1])))]
    shell.sock.sendmsg([data[:1]], rights)
    for byte in data[1:-1]:
        shell.interrupt()
        shell.sock.sendall(bytes((byte,)))
    shell.sock.sendall(data[-1:])
    verdict = shell.receive()
    assert (verdict["id"], verdict["status"]) == (77, "interrupted")
    for fd in out + err:
        os.close(fd)
    assert shell.out("echo fine") == "fine\n"


def test_an_interrupt_of_another_request_meets_no_cell(shell: Shell) -> None:
    payload = b'{"op":"names","max":1}'
    data = len(payload).to_bytes(4, "little") + payload
    shell.sock.sendall(data[:1])
    shell.interrupt()
    shell.sock.sendall(data[1:])
    assert shell.receive()["ev"] == "names"
    assert shell.out("echo fine") == "fine\n"


def test_other_signals_keep_their_meaning(shell: Shell) -> None:
    shell.run("trap 'echo got $x' USR1")
    os.kill(shell.pid, signal.SIGUSR1)  # between cells: it waits for the next
    assert shell.out("x=1; echo a") in ("got 1\na\n", "got\na\n")
    assert shell.ending("kill -TERM $$; echo no")[:2] == (-signal.SIGTERM, "")


def test_a_terminating_signal_between_cells_runs_the_exit_trap(shell: Shell) -> None:
    shell.run("trap 'echo bye >trace' EXIT")
    shell.wait_until_it_waits()
    os.kill(shell.pid, signal.SIGTERM)
    assert shell.process.wait(PATIENCE) == -signal.SIGTERM
    shell.pid = 0
