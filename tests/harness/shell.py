"""The command line tool against a daemon, as the daemon's user runs it."""

import subprocess

from .daemon import as_user, environment
from .host import PATIENCE


class Shell:
    """Runs `cella` as the user of the daemon, against the daemon."""

    def __init__(self, binary, user, data):
        self.binary, self.user, self.data = binary, user, data
        self.env = {**environment(user), "CELLA_DATA": str(data), "TERM": "xterm"}

    def without_libraries(self, launcher):
        """For daemons that it starts: they shall not load those of the profile `data`."""
        folder = launcher.new_data()
        (folder / "cella").mkdir(parents=True)
        (folder / "cella/cella.yaml").write_text("default_profile: min\n")
        self.env["XDG_CONFIG_HOME"] = str(folder)
        return self

    def options(self):
        return {"env": self.env, "cwd": "/", **(as_user(self.user) if self.user else {})}

    def __call__(self, *args, stdin="", check=None):
        done = subprocess.run(
            [self.binary, *args], input=stdin, capture_output=True, text=True,
            timeout=PATIENCE, **self.options(),
        )
        if check is not None:
            assert done.returncode == check, done
        return done

    def start(self, *args):
        """A command that runs while the test goes on, with pipes of bytes."""
        return subprocess.Popen(
            [self.binary, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, **self.options(),
        )
