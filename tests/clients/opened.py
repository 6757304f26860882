"""A daemon with issuers of tokens and a domain that may be asked: what only such a one offers."""

import contextlib
import http.server
import pathlib
import subprocess
import tempfile
import threading

# The operations that every other daemon refuses, and what their examples lack.
NAMES = ["oauth.resource", "oauth.resource_mcp", "explore.web_fetch"]
CONFIG = """\
default_profile: min
explore: {{web_domains: ["127.0.0.1:{port}"]}}
oauth:
  issuers:
    - {{issuer: https://id.example.com, audience: cella, keys: [{key}], scopes: [run]}}
"""


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<p>Hello <b>web</b></p>")

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def opened(launch):
    """Yields the daemon and the arguments of each of the operations."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name, \
            http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        folder, port = pathlib.Path(name), server.server_port
        folder.chmod(0o755)  # root's daemon reads keys as somebody else
        private = subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519"],
                                 capture_output=True, check=True).stdout
        public = subprocess.run(["openssl", "pkey", "-pubout"], input=private,
                                capture_output=True, check=True).stdout
        (folder / "id.pem").write_bytes(public)
        (folder / "id.pem").chmod(0o644)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        daemon = launch(config=CONFIG.format(port=port, key=folder / "id.pem"))
        session = daemon.client.spawn("min", explore=True)
        yield daemon, {"oauth.resource": {}, "oauth.resource_mcp": {}, "explore.web_fetch": {
            "session_id": session.id, "url": f"http://127.0.0.1:{port}/"}}
        server.shutdown()
