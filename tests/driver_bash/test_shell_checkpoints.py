"""Sleeping copies of the shell: what a woken one has, and what it shares with none."""

from __future__ import annotations

import os
import pathlib
import signal
import time
from typing import Callable, Iterator, List

import pytest
import rooms
from copies import PATIENCE, Checkpoint, Head, ask_for_checkpoint, checkpoint
from shell import Shell
from test_shell_state import STATE


class Line:
    """A session with one checkpoint: `undo` ends the shell and wakes a copy."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.checkpoints: List[Checkpoint] = []
        self.heads: List[Head] = []

    def checkpoint(self) -> Checkpoint:
        peer = self.heads[-1] if self.heads else self.shell
        self.checkpoints.append(checkpoint(peer, len(self.checkpoints) + 1))
        return self.checkpoints[-1]

    def wake(self) -> Head:
        self.heads.append(self.checkpoints[-1].wake())
        return self.heads[-1]

    def undo(self) -> Head:
        os.kill(self.shell.pid, signal.SIGKILL)
        self.shell.process.wait()
        return self.wake()

    def close(self) -> None:
        for head in self.heads:
            head.kill()
        for sleeping in self.checkpoints:
            sleeping.drop()


@pytest.fixture
def line(shell: Shell) -> Iterator[Line]:
    made = Line(shell)
    yield made
    made.close()


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def has_ended(pid: int) -> bool:
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rsplit(")", 1)[1].split()[0] == "Z"


@pytest.mark.parametrize("before, after, out", STATE)
def test_a_woken_copy_has_the_state(line: Line, before: str, after: str, out: str) -> None:
    assert line.shell.run(before).status == "ok"
    line.checkpoint()
    assert line.undo().out(after) == out


def test_a_copy_is_as_it_was(line: Line) -> None:
    line.shell.run("x=1; RANDOM=42; a=(1 2); f() { echo one; }; trap 'echo bye' EXIT")
    line.checkpoint()
    line.shell.run("x=2; unset a; f() { echo two; }; trap - EXIT; cd /")
    expected = line.shell.out("echo $RANDOM $RANDOM")
    before = line.shell.out("echo $$; pwd")
    first = line.undo()
    assert first.out("echo $x ${a[1]}; f; echo $RANDOM $RANDOM") == f"1 2\none\n{expected}"
    assert first.out("echo $$") == before.splitlines()[0] + "\n"
    code = "trap 'echo usr' USR1; (kill -s USR1 $$); kill -0 $$ && echo me"
    assert first.out(code) == "usr\nme\n"
    assert first.out("echo $BASHPID; ps -o pgid=,sid= -p $BASHPID | tr -s ' '").split() == [
        str(first.pid)
    ] * 3
    first.run("x=3")
    second = line.wake()  # the checkpoint is as it was
    assert second.out("echo $x; pwd") != first.out("echo $x; pwd")
    assert second.out("echo $x") == "1\n"
    assert first.notes == second.notes == []
    assert second.out("(trap); trap") == "trap -- 'echo bye' EXIT\n" * 2


def test_the_shell_goes_on(line: Line) -> None:
    """It keeps its pid and children; the copy is none of them."""
    line.shell.run("sleep 100 & x=1")
    line.checkpoint()
    assert line.shell.out("echo $BASHPID $x") == f"{line.shell.pid} 1\n"
    # The one child is who lists them.
    code = "kill %1; wait; jobs >/dev/null; found=$(ps -o pid= --ppid $$); wc -l <<<\"$found\""
    assert line.shell.run(code).stdout.strip() == "1"


def test_it_sleeps(line: Line) -> None:
    sleeping = line.checkpoint()
    stat = pathlib.Path(f"/proc/{sleeping.pid}/stat").read_text().rsplit(")", 1)[1].split()
    assert stat[3] == str(sleeping.pid), "a session of its own"
    assert stat[1] == str(os.getpid()), "a child of the shell's parent"
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
        os.kill(sleeping.pid, number)
    assert line.undo().out("echo here") == "here\n"


def test_frames_that_wait(shell: Shell, tmp_path: pathlib.Path) -> None:
    """A cell may be on its way before the answer, with descriptors of its own."""
    shell.run("sleep 0.05")  # all of them are in the socket when it is over
    running = shell.begin("read -t 0.05 x </dev/zero; :")
    asked = ask_for_checkpoint(shell, 4)
    again = shell.begin("echo out; echo err >&2")
    asked_again = ask_for_checkpoint(shell, 5)
    assert running.finish().status == "ok"
    assert shell.receive()["id"] == 4
    answer = again.finish()
    assert (answer.stdout, answer.stderr) == ("out\n", "err\n")
    assert shell.receive()["id"] == 5
    first, second = Checkpoint(asked), Checkpoint(asked_again)
    head = first.wake()
    assert head.out("echo on") == "on\n"
    head.kill()
    first.drop()
    second.drop()


def test_streams_of_cells_end(line: Line) -> None:
    """A checkpoint holds none of the pipes, or their end would never come."""
    running = line.shell.begin("exec 7>&1; echo on")
    assert running.finish().stdout == "on\n"
    line.checkpoint()
    line.shell.run("exec 7>&-")
    assert os.read(line.shell.late[running.cell_id][0], 10) == b""
    notes = line.undo().notes
    assert [note["what"] for note in notes] == ["pipe"] and "descriptor 7" in notes[0]["detail"]


def test_files_have_offsets_of_their_own(line: Line, tmp_path: pathlib.Path) -> None:
    (tmp_path / "in").write_text("1\n2\n3\n4\n")
    line.shell.run("exec 5<in 6>>out 8<>both; read x <&5; echo a >&6; printf abc >&8")
    line.checkpoint()
    assert line.shell.out("read x <&5; read y <&5; echo $x $y; echo b >&6; echo X >&8") == "2 3\n"
    head = line.undo()
    assert head.out("read x <&5; echo $x; printf def >&8; cat both") == "2\nabcdef"
    other = line.wake()
    assert other.out("read x <&5; echo $x") == "2\n"
    assert head.out("read x <&5; echo $x; echo c >&6; cat out") == "3\na\nb\nc\n"
    assert head.notes == []


def test_a_file_that_is_gone_stays_open(line: Line) -> None:
    line.shell.run("printf '1\\n2\\n' >f; exec 5<f; rm f; read x <&5")
    line.checkpoint()
    line.shell.run("exec 5<&-")
    assert line.undo().out("read x <&5; echo $x") == "2\n"


def test_locks(line: Line) -> None:
    line.shell.run("exec 9>lock; flock 9")
    line.checkpoint()
    assert line.shell.run("exec 9>&-; flock -n lock true").last_status == 0, "nobody asleep has it"
    head = line.undo()
    assert head.run("flock -n lock true").last_status == 1, "it has it again"
    other = line.wake()
    assert [note["what"] for note in other.notes] == ["lock"]


def test_children_that_are_no_more_ours(line: Line) -> None:
    line.shell.run("(exit 3) & wait $!; sleep 100 & sleep 200 & echo $! >pid")
    line.checkpoint()
    head = line.undo()
    assert [note["what"] for note in head.notes] == ["process", "process"]
    assert head.out("jobs -r | wc -l; [[ $! == $(<pid) ]] && echo same") == "2\nsame\n"
    assert head.out("kill %1; wait %1; echo $?; kill $!; wait $!; echo $?") == "127\n127\n"
    assert head.out("wait; echo $?; jobs") == "0\n"


def test_they_are_waited_for_with_ours(line: Line) -> None:
    line.shell.run("mkfifo go; { read x <go; } & old=$!")
    line.checkpoint()
    head = line.undo()
    code = "{ sleep 0.05; exit 4; } & new=$!; wait -n; echo $?; echo >go; wait $old; echo $?"
    assert head.out(code) == "4\n127\n"
    line.heads[-1].run("sleep 100 & :")
    line.checkpoint()
    third = line.wake()
    running = third.begin("echo on; wait")
    running.wait_for_output("on")
    third.interrupt()
    assert running.finish().status == "interrupted"
    assert third.out("kill %%; wait; echo $?") == "0\n"


def test_those_that_ended_meanwhile(line: Line) -> None:
    line.shell.run("mkfifo go; cat go >/dev/null & :")
    line.checkpoint()
    pid = int(line.shell.out("echo $!"))
    head = line.undo()
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: has_ended(pid))
    assert "Exit 127" in head.out("jobs")
    assert head.out("wait $!; echo $?") == "127\n"


def test_jobs_with_job_control(line: Line) -> None:
    line.shell.run("set -m; sleep 100 & :")
    line.checkpoint()
    head = line.undo()
    code = "jobs -r | wc -l; (exit 5); echo $?; kill %1; wait %1; echo $?"
    assert head.out(code) == "1\n5\n127\n"
    assert head.run("sleep 100 & kill %%; wait $!; echo $?").stdout == "143\n"


def test_a_coprocess_ends_with_its_line(line: Line) -> None:
    line.shell.run("coproc cat")
    line.checkpoint()
    code = 'echo hi >&"${COPROC[1]}"; read x <&"${COPROC[0]}"; exec {COPROC[1]}>&-; wait; echo $x'
    assert line.shell.out(code) == "hi\n", "it sees the end of its input"
    head = line.undo()
    assert "coproc" in [note["what"] for note in head.notes]
    assert head.out("echo ${COPROC-gone}") == "gone\n"


def test_interrupts(line: Line) -> None:
    line.shell.run("trap 'echo int' INT")
    line.checkpoint()
    head = line.undo()
    for code in ("echo on; while :; do :; done", "echo on; sleep 100"):
        running = head.begin(code)
        running.wait_for_output("on")
        head.interrupt()
        answer = running.finish()
        assert (answer.status, answer.stdout) == ("interrupted", "on\nint\n"), answer
    assert head.run("read x; echo $x", answers=["typed"]).stdout == "typed\n"
    answer = head.run("set -e; false; echo no")
    assert (answer.status, answer.error["name"]) == ("error", "ErrExit")


def test_a_chain(line: Line) -> None:
    line.shell.run("n=0")
    line.checkpoint()
    line.undo()
    for i in range(3):
        line.heads[-1].run("n=$((n + 1))")
        line.checkpoint()
        assert line.wake().out("echo $n") == f"{i + 1}\n"
    assert line.checkpoints[1].wake().out("echo $n; exit 5 & wait $!; echo $?") == "1\n5\n"


def test_few_descriptors(line: Line) -> None:
    line.shell.run("ulimit -n 40")
    line.checkpoint()
    assert line.undo().out("ulimit -n; echo on") == "40\non\n"


def test_a_room_of_its_own(line: Line, tmp_path: pathlib.Path) -> None:
    """A branch has files and processes of its own; those of its source it cannot reach."""
    own = tmp_path / "own"
    work = tmp_path / "work"
    for folder in (own, work):
        (folder / "sub").mkdir(parents=True)
        (folder / "in").write_text("1\n2\n")
    room = rooms.make(work, own)
    if room is None:
        pytest.skip("this user may not make namespaces")
    line.shell.run(f"cd {work}/sub; exec 5<../in 6>../out 7<.; echo only >../mine; exec 8<../mine")
    line.shell.run("read x <&5; printf ab >&6; sleep 100 & trap 'echo int' INT")
    (own / "out").write_text("ab")
    line.checkpoint()
    key = room.key()
    head = line.checkpoints[-1].wake(key)
    os.close(key)
    assert sorted(note["what"] for note in head.notes) == ["file", "process"]
    assert "not in the branch" in [n for n in head.notes if n["what"] == "process"][0]["detail"]
    assert head.out("pwd; echo $x; read x <&5; echo $x; printf cd >&6") == f"{work}/sub\n1\n2\n"
    assert (own / "out").read_text() == "abcd" and (work / "out").read_text() == "ab"
    code = "ls /proc/self/fd/7/.. >/dev/null; touch /proc/self/fd/7/new; echo >new2"
    assert head.run(code).last_status == 0
    assert (own / "sub" / "new").exists() and not (work / "sub" / "new").exists()
    assert head.run("cat <&8").last_status == 1
    assert head.out("jobs -r; wait $!; echo $?; ls /proc | grep -c '^[0-9]*$'") != ""
    running = head.begin("echo on; sleep 100")
    running.wait_for_output("on")
    head.interrupt()
    assert running.finish().stdout == "on\nint\n"
    again = checkpoint(head)
    other = again.wake()
    assert other.out("pwd; echo $x") == f"{work}/sub\n2\n"
    other.kill()
    again.drop()
    head.kill()  # a room ends when nobody is left in it
    room.close()
