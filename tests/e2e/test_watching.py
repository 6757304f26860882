"""Programs that wait for changes of files."""

import pytest

pytestmark = pytest.mark.privilege


def test_tail_follows_a_file(spawn_runtime):
    answer = spawn_runtime("bash").exec(
        """
        echo one > log; : > seen
        tail -f log >> seen &
        until grep -q one seen; do sleep 0.01; done
        echo two >> log
        until grep -q two seen; do sleep 0.01; done
        kill %1; cat seen
        """,
        timeout_ms=60_000,
    )
    assert (answer["stdout"], answer["stderr"]) == ("one\ntwo\n", ""), answer


def test_node_watches_a_folder(spawn_runtime):
    assert spawn_runtime("node").out(
        """
        const fs = require('fs');
        fs.mkdirSync('watched');
        const watcher = fs.watch('watched');
        const seen = new Promise(done => watcher.on('change', (kind, name) => done(name)));
        fs.writeFileSync('watched/new.txt', 'x');
        console.log(await seen);
        watcher.close();
        """,
        timeout_ms=60_000,
    ) == "new.txt\n"


WATCH = """
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
def watch(path, mask):
    wd = libc.inotify_add_watch(fd, path.encode(), mask)
    return wd if wd >= 0 else -ctypes.get_errno()
fd = libc.inotify_init1(0o2004000)
"""


def test_python_watches_a_folder(session):
    session.exec(WATCH)
    assert session.value("watch('/workspace', 0x100 | 2 | 8 | 0x200)") == "1"  # and no more
    session.exec("open('/workspace/made', 'w').write('x')")
    assert session.value("os.read(fd, 4096).rstrip(b'\\0')[16:20]") == "b'made'"


def test_a_watch_stays_with_the_line_that_had_it(client, spawn):
    """A checkpoint holds none: there are few, and who is undone must not take events away."""
    session = spawn("min", checkpoints="every")
    kept = session.exec(WATCH + "watch('/workspace', 0x100)")["checkpoint"]
    session.exec("x = 1")
    client.call("POST", f"{session.path}/undo", {"to": kept})
    assert session.exec("os.read(fd, 4096)").status == "error"
    session.exec("os.close(fd); fd = libc.inotify_init1(0o2004000)")
    assert session.value("watch('/tmp', 2)") == "1"


def test_more_than_a_session_may_have(session):
    """An error that programs know: then they look again and again."""
    assert session.out(WATCH + """
made = []
while (one := libc.inotify_init1(0o2000000)) >= 0: made.append(one)
print(len(made) + 1, ctypes.get_errno(), open('/proc/sys/fs/inotify/max_user_instances').read())
for one in made: os.close(one)
""") == "8 24 8\n\n"
