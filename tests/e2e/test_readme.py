"""What the README says to type does what the README says."""

import subprocess

import pytest

from harness import pages
from harness.daemon import as_user, environment
from harness.host import PATIENCE

pytestmark = pytest.mark.privilege


def blocks():
    """The shell commands of the README, block by block, without what make does."""
    return [text for text in pages.blocks("README.md", "sh") if not text.startswith("make ")]


@pytest.fixture
def shell(launcher):
    """Runs a script with `cella` on the path and a home of its own."""
    home = launcher.new_data()
    home.mkdir()
    bin_dir = home / "bin"
    bin_dir.mkdir()
    (bin_dir / "cella").symlink_to(launcher.binary)
    env = {**environment(launcher.user), "HOME": str(home), "XDG_STATE_HOME": "",
           "CELLA_DATA": str(home / ".local/state/cella")}
    env["PATH"] = f"{bin_dir}:{env.get('PATH', '/usr/bin:/bin')}"
    options = {"env": env, "cwd": "/"}
    if launcher.user:
        for path in (home, bin_dir):
            subprocess.run(["chown", str(launcher.user.pw_uid), path], check=True)
        options.update(as_user(launcher.user))

    def run(script):
        done = subprocess.run(["sh", "-eu", "-c", script], capture_output=True, text=True,
                              timeout=PATIENCE, **options)
        assert done.returncode == 0, done
        return done.stdout

    yield run
    subprocess.run(["cella", "stop"], capture_output=True, timeout=PATIENCE, **options)


def test_everyday_use(shell):
    commands = blocks()[0]
    assert "cella stop" in commands
    lines = shell(commands).splitlines()
    assert lines[:2] == ["45", "[ 1, 4, 9 ]"]
    assert lines[2:5] == ["1", "4", "9"]
    assert lines[5:7] == ["42", "/workspace"]
    assert [line.split() for line in lines[7:9]] == [["NAME", "TYPE", "SIZE", "VALUE"],
                                                     ["x", "int", "-", "21"]]
    assert len(lines) > 15  # ps and doctor have something to say


def test_over_http(shell, launcher, launch):
    daemon = launch()
    port = str(daemon.address[1])
    commands = blocks()[2].replace("7300", port)
    commands = commands.replace("~/.local/state/cella/key", str(daemon.data / "key"))
    assert '"text": "3.0"' in shell(commands).replace('":"', '": "')
