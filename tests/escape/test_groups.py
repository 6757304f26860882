"""The cgroup of a branch: who slips into it ends with it."""

import os
import textwrap

import pytest

from harness import host
from harness.client import Result, Session

# Plays the sleeping copy that walks into its room: before it goes on, a helper in the source's jail
# joins the room's cgroup by the descriptors of the key.
SLIP_IN = textwrap.dedent("""
    import ctypes, gc, os, socket, time
    gc.unfreeze()
    forks = next(type(o) for o in gc.get_objects() if type(o).__name__ == 'Forks')
    walk_in = forks.enter_room
    def enter_room(self, key):
        fds = socket.recv_fds(socket.socket(fileno=key), 1, 16)[1]
        again, key = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        socket.send_fds(again, [b'r'], fds)
        again.close()
        if os.fork() == 0:
            ctypes.CDLL(None).prctl(15, b'slipped-in')  # PR_SET_NAME
            for fd in fds[7:]: os.write(fd, b'0')
            open('/workspace/inside', 'w').close()
            while True: time.sleep(1)
        for fd in fds: os.close(fd)
        return walk_in(self, key.detach())
    forks.enter_room = enter_room
    """)


@pytest.mark.needs_root("an ordinary user here has no cgroups")
def test_who_slips_into_the_group_of_a_branch_ends_with_it(daemon, spawn, client):
    source = spawn("min", checkpoints="every", durable="off")
    assert source.exec(SLIP_IN).status == "ok"
    made = client.call("POST", f"{source.path}/branch", {"count": 1})["sessions"][0]
    branch = Session(client, Result(made))
    host.eventually(lambda: source.get("inside").status == 200, what="the helper")
    (helper,) = host.find_by_name(host.tree(daemon.pid), "slipped-in")
    groups = host.cgroups({(helper, "")})
    assert branch.value("6 * 7") == "42"
    client.request("DELETE", branch.path)
    host.eventually(lambda: not host.start_time(helper), what="its end")
    assert source.value("6 * 7") == "42"
    host.eventually(lambda: not any(map(os.path.exists, groups)), what="the end of its group")
