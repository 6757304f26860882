"""The walls are the same for every runtime: the essential probes, from Node.js and from bash.

Each probe prints what it got after the word OPEN; a closed way prints nothing of the kind."""

import re

import pytest

from harness.client import Result, Session

BASH_HELPERS = r"""
got() {
    local out
    out=$("$@" 2>/dev/null) && [ -n "$out" ] && echo "OPEN $*: ${out:0:80}"
    true
}
did() { "$@" >/dev/null 2>&1 && echo "OPEN $*"; true; }
"""

BASH = {
    "the inside of pid 1": """
        for f in environ maps mem; do got head -c 20 /proc/1/$f; done
        got ls /proc/1/root; got ls /proc/1/fd; got readlink /proc/1/exe
    """,
    "files of the host": """
        for f in /etc/shadow /proc/kcore /proc/kallsyms /proc/slabinfo; do got cat $f; done
        for d in /root /home /var/lib/cella /var/cache/debconf /var/log /sys/kernel /sys/bus \\
            /sys/class/dmi /proc/sys/dev
        do got ls $d; done
    """,
    "writing outside of the workspace": """
        for d in / /usr /etc /cella /cella/bash /bin /dev; do did touch $d/x; done
        did chmod 777 /cella/launch; did rm /cella/init
    """,
    "devices": """
        got ls /dev/mem /dev/kmsg /dev/sda /dev/vda /dev/fuse /dev/kvm
        did mknod /tmp/d b 8 0; did mknod /tmp/c c 1 1; did mknod /workspace/c c 1 1
    """,
    "namespaces and mounts": """
        did unshare -Ur true; did unshare -m true; did nsenter -t 1 -a true
        mkdir -p /tmp/m; did mount -t tmpfs x /tmp/m; did umount /proc
        did chroot / true; did hostname other
    """,
    "becoming root": """
        did sudo -n true; did su -c true; did setpriv --reuid 0 true; did newgrp root
        cp /bin/sh /tmp/s && chmod 4755 /tmp/s && [ "$(/tmp/s -pc 'id -u')" = 0 ] && echo OPEN
        true
    """,
    "capabilities": """
        grep -E '^Cap...:' /proc/self/status | grep -v 0000000000000000 | sed 's/^/OPEN /'
        grep -q 'NoNewPrivs:.1' /proc/self/status || echo OPEN
        grep -q 'Seccomp:.2' /proc/self/status || echo OPEN
    """,
    "signals to everybody": "did kill -9 -1; did kill -STOP -1; kill -0 $$ || echo OPEN",
    "limits": "did ulimit -Hu 100000; did ulimit -Hn 100000; did ulimit -Hc unlimited",
    "the network": """
        for a in 8.8.8.8/53 169.254.169.254/80 10.0.0.1/22; do
            did timeout 2 bash -c "exec 5<>/dev/tcp/$a"
        done
    """,
    "tracing": "got strace -e none -o /dev/stdout true; did timeout 5 gdb -p 1 -batch -ex detach",
    "descriptors that were left open": """
        for link in /proc/$$/fd/*; do
            target=$(readlink $link)
            case $target in
                /dev/null|/dev/pts/*|pipe:*|socket:*|/cella/*|'') ;;
                *) echo "OPEN $link $target" ;;
            esac
        done
    """,
    "environment": "env | grep -iE 'sudo|ssh|secret|token|key=|^CELLA' | sed 's/^/OPEN /'",
}

NODE_HELPERS = r"""
{
const fs = require('fs'), cp = require('child_process'), net = require('net');
const got = (name, attempt) => {
  let r;
  try { r = attempt(); } catch (e) { return; }
  if (r !== undefined && r !== null && r !== false && r.length !== 0) console.log('OPEN', name, r);
};
const read = (path) => {
  const fd = fs.openSync(path), bytes = Buffer.alloc(32);
  return bytes.subarray(0, fs.readSync(fd, bytes, 0, 32, 0)).toString('latin1');
};
const did = (...argv) => {
  if (cp.spawnSync(argv[0], argv.slice(1)).status === 0) console.log('OPEN', argv.join(' '));
};
"""

NODE = {
    "the inside of pid 1": """
        for (const f of ['environ', 'maps', 'mem']) got(f, () => read('/proc/1/' + f));
        for (const d of ['root', 'fd']) got(d, () => fs.readdirSync('/proc/1/' + d));
        got('exe', () => fs.readlinkSync('/proc/1/exe'));
    """,
    "files of the host": """
        for (const p of ['/etc/shadow', '/proc/kcore', '/proc/kallsyms']) got(p, () => read(p));
        for (const p of ['/root', '/home', '/var/lib/cella', '/sys/kernel', '/sys/bus',
            '/sys/class/dmi', '/proc/sys/dev'])
          got(p, () => fs.readdirSync(p));
    """,
    "writing outside of the workspace": """
        for (const d of ['/', '/usr', '/etc', '/cella', '/cella/node', '/dev'])
          got(d, () => { fs.writeFileSync(d + '/x', ''); return d; });
        got('driver', () => { fs.chmodSync('/cella/node/main.js', 0o777); return 1; });
    """,
    "becoming somebody else": r"""
        for (const f of ['setuid', 'setgid', 'seteuid', 'setegid'])
          got(f, () => { process[f](0); return f; });
        got('groups', () => { process.setgroups([0]); return 1; });
        const status = fs.readFileSync('/proc/self/status', 'latin1');
        got('capabilities', () => /^Cap...:\s+(?!0{16}$)/m.exec(status));
    """,
    "signals to everybody": """
        got('all', () => process.kill(-1, 0));
        did('sh', '-c', 'kill -STOP -1');
        process.kill(process.pid, 0);
    """,
    "programs with privileges": """
        did('unshare', '-Ur', 'true');
        did('mount', '-t', 'tmpfs', 'x', '/tmp');
        did('nsenter', '-t', '1', '-a', 'true');
        did('sudo', '-n', 'true');
    """,
    "the network": """
        const visit = ([host, port]) => new Promise((done) => {
          const s = net.connect(port, host, () => { console.log('OPEN', host); done(); });
          s.setTimeout(2000, () => { s.destroy(); done(); });
          s.on('error', done);
        });
        await Promise.all([['8.8.8.8', 53], ['169.254.169.254', 80]].map(visit));
    """,
    "interfaces": """
        const names = () => Object.keys(require('os').networkInterfaces());
        got('interfaces', () => names().filter((name) => name !== 'lo'));
    """,
    "a thread is behind the same walls": """
        const { Worker } = require('worker_threads');
        const code = `
          const fs = require('fs'), cp = require('child_process');
          try { fs.readFileSync('/proc/1/environ'); console.log('OPEN'); } catch (e) {}
          if (cp.spawnSync('unshare', ['-U', 'true']).status === 0) console.log('OPEN');`;
        await new Promise((done) => {
          new Worker(code, { eval: true }).on('exit', done).on('error', done);
        });
    """,
    "descriptors that were left open": r"""
        const usual = /^(\/dev\/(null|pts)|pipe:|socket:|anon_inode:|\/proc\/|\/cella\/)/;
        for (const fd of fs.readdirSync('/proc/self/fd')) got(fd, () => {
          const target = fs.readlinkSync('/proc/self/fd/' + fd);
          return usual.test(target) ? null : target;
        });
    """,
    "environment": """
        const secret = /SUDO|SSH|SECRET|TOKEN|KEY|^CELLA/i;
        got('env', () => Object.keys(process.env).filter((name) => secret.test(name)));
    """,
    "native code of others": """
        got('exe', () => { process.dlopen({ exports: {} }, '/proc/1/exe'); return 1; });
    """,
}


@pytest.fixture(scope="module")
def sessions():
    return {}


def session_of(client, sessions, runtime):
    """One session for all probes of a runtime; another if the daemon is another."""
    known = sessions.get((client, runtime))
    if known is None or not known.is_alive():
        spawned = client.call("POST", "/v1/sessions", {"runtime": runtime})
        known = sessions[client, runtime] = Session(client, Result(spawned))
    return known


def must_be_closed(session, code):
    result = session.exec(code, timeout_ms=30_000)
    assert result.status == "ok", result
    assert "OPEN" not in result["stdout"], result["stdout"]
    assert not re.search(r"SyntaxError|ReferenceError|command not found", result["stderr"]), result


@pytest.mark.parametrize("name", BASH)
def test_closed_for_bash(client, sessions, name):
    must_be_closed(session_of(client, sessions, "bash"), BASH_HELPERS + BASH[name])


@pytest.mark.parametrize("name", NODE)
def test_closed_for_node(client, sessions, name):
    must_be_closed(session_of(client, sessions, "node"), NODE_HELPERS + NODE[name] + "\n}")


def test_the_probers_themselves_work(client, sessions):
    """A probe that finds something must be heard."""
    bash = session_of(client, sessions, "bash")
    for found in ("got ls /usr", "did true"):
        assert "OPEN" in bash.out(BASH_HELPERS + found)
    node = session_of(client, sessions, "node")
    for found in ("got('usr', () => fs.readdirSync('/usr'));", "did('true');"):
        assert "OPEN" in node.out(NODE_HELPERS + found + "\n}")
