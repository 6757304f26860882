"""Tokens beside the key: JSON Web Tokens of issuers that the configuration names. They are made
here by openssl, as an authorization server would."""

import base64
import json
import pathlib
import subprocess
import tempfile
import time

import pytest

from harness import mcp
from harness.client import Client, read_reply
from harness.configured import Configured
from harness.daemon import StartFailed

pytestmark = pytest.mark.privilege

METADATA = "/.well-known/oauth-protected-resource"
CONFIG = """\
default_profile: min
agents:
  - {{id: ana, repl: {{enabled: true}}}}
  - {{id: bob, repl: {{enabled: true}}}}
oauth:
  leeway_secs: 5
  issuers:
    - issuer: https://id.example.com
      audience: [https://cella.example.com, https://cella.example.com/mcp]
      keys: [{keys}/id.jwks]
      scopes: [cella, run]
      agent_claim: agent
      agent: ana
    - {{issuer: librechat, audience: codeapi, keys: [{keys}/librechat.pem], algorithms: [RS256]}}
"""


def url64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def openssl(*words, data=None):
    return subprocess.run(["openssl", *words], input=data, capture_output=True, check=True).stdout


class Signer:
    """A private key, and the tokens that it makes."""

    def __init__(self, folder, name, algorithm):
        self.file = folder / f"{name}.key"
        self.algorithm = algorithm
        kind = (["ed25519"] if algorithm == "EdDSA" else
                ["RSA", "-pkeyopt", "rsa_keygen_bits:2048"])
        openssl("genpkey", "-algorithm", *kind, "-out", str(self.file))

    def pem(self):
        return openssl("pkey", "-in", str(self.file), "-pubout").decode()

    def jwk(self):
        der = openssl("pkey", "-in", str(self.file), "-pubout", "-outform", "DER")
        return {"kty": "OKP", "crv": "Ed25519", "kid": "one", "x": url64(der[-32:])}

    def sign(self, data, folder):
        if self.algorithm == "RS256":
            return openssl("dgst", "-sha256", "-sign", str(self.file), data=data)
        text = folder / "signed"  # openssl pkeyutl wants to know how long it is
        text.write_bytes(data)
        return openssl("pkeyutl", "-sign", "-rawin", "-inkey", str(self.file), "-in", str(text))

    def token(self, folder, header=None, **claims):
        head = {"alg": self.algorithm, **(header or {})}
        text = ".".join(url64(json.dumps(part).encode()) for part in (head, claims)).encode()
        return f"{text.decode()}.{url64(self.sign(text, folder))}"


class Issuers:
    """Two signers whose public keys lie where the daemon reads them, and a daemon."""

    def __init__(self, launch, folder):
        self.folder = folder
        self.id = Signer(folder, "id", "EdDSA")
        self.librechat = Signer(folder, "librechat", "RS256")
        self.stranger = Signer(folder, "stranger", "EdDSA")
        self.write("id.jwks", json.dumps({"keys": [self.id.jwk()]}))
        self.write("librechat.pem", self.librechat.pem())
        self.configured = Configured(launch, folder, CONFIG.format(keys=folder))
        self.daemon = self.configured.daemon
        self.anonymous = Client(self.daemon.address)

    def write(self, name, text):
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o644)

    def claims(self, **changes):
        claims = {"iss": "https://id.example.com", "aud": "https://cella.example.com",
                  "exp": int(time.time()) + 600, "scope": "cella run", "sub": "u1", **changes}
        return {name: value for name, value in claims.items() if value is not None}

    def token(self, signer=None, header=None, **changes):
        return (signer or self.id).token(self.folder, header, **self.claims(**changes))

    def ask(self, token, method="GET", path="/v1/sessions", body=None, **headers):
        return self.anonymous.request(method, path, body,
                                      headers={"Authorization": f"Bearer {token}", **headers})


@pytest.fixture(scope="module")
def folder_for_all():
    """Where everybody may look: root's daemon reads keys again as somebody else."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        yield folder


@pytest.fixture(scope="module")
def issuers(launcher, folder_for_all):
    made = Issuers(launcher, folder_for_all)
    yield made
    made.daemon.stop()


def challenge(reply):
    """The parameters of WWW-Authenticate."""
    scheme, _, rest = reply.headers["WWW-Authenticate"].partition(" ")
    assert scheme == "Bearer"
    return {name: value.strip('"') for name, _, value in
            (pair.partition("=") for pair in rest.split(", "))}


@pytest.mark.smoke
def test_a_token_does_what_the_key_does_for_its_agent(issuers):
    token = issuers.token(header={"kid": "one", "typ": "at+jwt"})
    made = issuers.ask(token, "POST", body={"profile": "min"})
    assert made.status == 201, made
    path = f"/v1/sessions/{made.json['session_id']}"
    answer = issuers.ask(token, "POST", f"{path}/exec", {"code": "6 * 7"})
    assert answer.json["value"]["text"] == "42", answer
    bob = issuers.token(agent="bob")
    assert issuers.ask(bob, "GET", path).status == 404  # another agent's does not exist
    assert issuers.daemon.client.request("GET", path).status == 200  # the key goes on working
    assert issuers.ask(token, "DELETE", path).status == 200


def test_a_token_speaks_for_its_own_agent_only(issuers):
    token = issuers.token(agent="bob")
    assert issuers.ask(token, **{"Cella-Agent": "bob"}).status == 200
    assert issuers.ask(token, **{"Cella-Agent": "ana"}).status == 403
    assert issuers.ask(token, "POST", body={"profile": "min", "agent_id": "ana"}).status == 400
    assert issuers.ask(issuers.token(agent="eve")).status == 403  # no such agent


def test_what_librechat_sends_is_taken(issuers):
    token = issuers.token(issuers.librechat, iss="librechat", aud="codeapi", tenant_id="t",
                          scope=None)
    assert issuers.ask(token).status == 200


@pytest.mark.smoke
def test_where_to_get_a_token_is_told(issuers):
    reply = issuers.anonymous.request("GET", "/v1/sessions")
    assert reply.status == 401
    host = "http://{}:{}".format(*issuers.daemon.address)
    assert challenge(reply) == {"resource_metadata": host + METADATA, "scope": "cella run"}
    told = issuers.anonymous.request("GET", METADATA)
    assert told.json == {"resource": host, "resource_name": "Cella",
                         "authorization_servers": ["https://id.example.com"],
                         "scopes_supported": ["cella", "run"],
                         "bearer_methods_supported": ["header"]}
    assert issuers.anonymous.request("GET", METADATA + "/mcp").json["resource"] == host + "/mcp"


def refused(issuers, token):
    reply = issuers.ask(token)
    assert reply.status == 401, reply
    assert challenge(reply)["error"] == "invalid_token"
    assert challenge(reply)["resource_metadata"].endswith(METADATA)
    assert reply.json["error"]["advice"]
    return reply.json["error"]["message"]


@pytest.mark.smoke
def test_wrong_tokens_are_refused(issuers):
    now = int(time.time())
    assert "expired" in refused(issuers, issuers.token(exp=now - 60))
    assert "not valid yet" in refused(issuers, issuers.token(nbf=now + 60))
    assert "when it expires" in refused(issuers, issuers.token(exp=None))
    assert "another server" in refused(issuers, issuers.token(aud="https://other.example.com"))
    assert "issuer" in refused(issuers, issuers.token(iss="https://evil.example.com"))
    assert "signed" in refused(issuers, issuers.token(issuers.stranger))
    assert "signed" in refused(issuers, issuers.token(iss="librechat", aud="codeapi",
                                                      header={"alg": "RS256"}))
    assert "algorithm" in refused(issuers, issuers.token(iss="librechat", aud="codeapi"))


def test_forged_tokens_are_refused(issuers):
    head, claims, signature = issuers.token().split(".")
    none = url64(b'{"alg":"none"}')
    other = url64(json.dumps(issuers.claims(agent="bob")).encode())
    assert "algorithm" in refused(issuers, f"{none}.{claims}.")
    assert "algorithm" in refused(issuers, f"{url64(b'{}')}.{claims}.{signature}")
    assert "signed" in refused(issuers, f"{head}.{other}.{signature}")
    assert "signed" in refused(issuers, f"{head}.{claims}.")
    assert "well-formed" in refused(issuers, f"{head}.{claims}.{signature}=")
    assert "8192 bytes" in refused(issuers, issuers.token(more="x" * 8192))
    # The public key as a shared secret, which a server that believes "alg" would fall for.
    assert "algorithm" in refused(issuers, issuers.token(header={"alg": "HS256"}))


def test_mcp_takes_the_same_tokens_and_no_others(issuers):
    message, headers = mcp.modern("tools/list")

    def ask(token):
        return issuers.ask(token, "POST", "/mcp", message, **headers)

    assert ask(issuers.token()).status == 200
    head, claims, signature = issuers.token().split(".")
    for wrong in (f"{url64(b'{}')}.{claims}.{signature}",
                  f"{url64(json.dumps({'alg': 'none'}).encode())}.{claims}.",
                  issuers.token(issuers.stranger),
                  issuers.token(aud="https://other.example.com"),
                  issuers.token(exp=int(time.time()) - 60), f"{head}.{claims}.", "", "x"):
        reply = ask(wrong)
        assert reply.status == 401, wrong
        assert challenge(reply)["resource_metadata"].endswith(METADATA + "/mcp")
    assert ask(issuers.token(scope="cella")).status == 403


def test_a_scope_that_is_missing_is_named(issuers):
    reply = issuers.ask(issuers.token(scope="cella"))
    assert reply.status == 403
    told = challenge(reply)
    assert (told["error"], told["scope"]) == ("insufficient_scope", "cella run")
    assert '"run"' in reply.json["error"]["message"]


def test_tokens_have_one_place(issuers):
    token = issuers.token()
    for path in (f"/v1/sessions?access_token={token}", f"/v1/sessions?token={token}"):
        assert issuers.anonymous.request("GET", path).status == 401
    with issuers.anonymous.connect() as sock, sock.makefile("rb") as file:
        sock.sendall(issuers.anonymous.head("GET", "/v1/sessions", Authorization=f"Bearer {token}")
                     + b"Authorization: Bearer x\r\n\r\n")
        assert read_reply(file).status == 400


def test_keys_change_without_a_restart(issuers):
    issuers.write("id.jwks", json.dumps({"keys": [issuers.stranger.jwk()]}))
    assert issuers.configured.reload()["event"] == "reloaded"
    assert issuers.ask(issuers.token(issuers.stranger)).status == 200
    assert "signed" in refused(issuers, issuers.token())
    issuers.write("id.jwks", "{")  # the keys of before stay in force
    assert issuers.configured.reload()["event"] == "reload_failed"
    assert issuers.ask(issuers.token(issuers.stranger)).status == 200


def test_a_daemon_without_its_keys_does_not_start(launch, folder_for_all):
    with pytest.raises(StartFailed) as failed:
        launch(config=CONFIG.format(keys=folder_for_all / "absent"))
    assert "id.jwks" in str(failed.value)


def test_without_issuers_there_is_only_the_key(daemon):
    reply = Client(daemon.address).request("GET", METADATA)
    assert reply.status == 404
    assert "key" in reply.json["error"]["message"]
