"""Others on the same machine: who has no key, and who prepares directories for a daemon of root."""

import os
import resource
import socket

import pytest

from harness.daemon import StartFailed
from harness.host import PATIENCE


def test_a_page_of_another_port_is_another_origin(daemon, client):
    headers = {"Origin": f"http://localhost:{daemon.address[1] ^ 1}"}
    assert client.request("GET", "/v1/sessions", headers=headers).status == 403


@pytest.mark.one_mode
def test_strangers_who_take_all_connections_push_out_only_each_other(daemon, client):
    """Each sends half a request and no key."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 6000:
        pytest.skip("needs 6000 descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    client.request("GET", "/v1/sessions")  # a connection that has shown its key, and stays
    strangers = []
    try:
        for _ in range(4200):
            strangers.append(socket.create_connection(daemon.address, timeout=PATIENCE))
            strangers[-1].sendall(b"GET /v1/sessions HTTP/1.1\r\nX: ")
        assert client.request("GET", "/v1/sessions").status == 200
        assert daemon.unix_client().request("GET", "/v1/sessions").status == 200
    finally:
        for stranger in strangers:
            stranger.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_directory_with_somebody_elses_lock_is_left_alone(launch):
    """As /var/lib/dpkg has one."""
    data = launch.new_data()
    data.mkdir(mode=0o755)
    (data / "lock").touch()
    (data / "status").touch()
    if launch.user:
        os.chown(data, launch.user.pw_uid, launch.user.pw_gid)
    before = data.stat()
    with pytest.raises(StartFailed, match="not a data directory"):
        launch(data)
    assert (data.stat().st_mode, data.stat().st_uid) == (before.st_mode, before.st_uid)


@pytest.mark.needs_root("only root gives directories away")
def test_a_link_in_the_place_of_the_workspaces_is_not_followed(launch, tmp_path):
    """The data directory belongs to the daemon's user, who must not become more than that."""
    data, victim = launch.new_data(), tmp_path / "victim"
    launch(data, config="default_profile: min\n").stop()
    victim.mkdir(mode=0o700)
    (data / "workspaces").rename(data / "elsewhere")
    (data / "workspaces").symlink_to(victim)
    with pytest.raises(StartFailed, match="workspaces"):
        launch(data)
    assert (victim.stat().st_uid, victim.stat().st_mode & 0o777) == (0, 0o700)
