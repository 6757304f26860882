"""stdout and stderr: whose they are, when they arrive, what cannot break them."""

from __future__ import annotations

import pytest
from node_peer import NodePeer

WAIT = "await new Promise((r) => setTimeout(r, %d));"


def test_both_streams(shared: NodePeer) -> None:
    answer = shared.run(
        "console.log('a', { b: 1 }); console.error('e'); process.stdout.write('no newline');"
        "console.warn('w'); console.info('%d', 5); process.stderr.write(Buffer.from('raw'))"
    )
    assert answer.stdout == "a { b: 1 }\nno newline5\n" and answer.stderr == "e\nw\nraw"
    answer = shared.run("console.table([{ a: 1 }]); console.group('g'); console.log('in');"
                        "console.groupEnd(); console.dir({ x: 1 })")  # fmt: skip
    assert "│" in answer.stdout and "g\n  in\n{ x: 1 }\n" in answer.stdout


def test_order_of_the_streams_and_children(shared: NodePeer) -> None:
    code = (
        "const { execSync } = require('child_process'); process.stdout.write('1');"
        "execSync('printf 2', { stdio: 'inherit' }); process.stdout.write('3');"
        "fs.writeSync(1, '4'); fs.writeSync(2, 'e')"
    )
    answer = shared.run(code)
    assert (answer.stdout, answer.stderr) == ("1234", "e")


def test_write_takes_what_streams_take(shared: NodePeer) -> None:
    code = (
        "const seen = []; const out = process.stdout;"
        "seen.push(out.write('a', () => seen.push('cb1')));"
        "out.write('62', 'hex', () => seen.push('cb2')); out.write(new Uint8Array([99]));"
        "out.end('d', () => seen.push('cb3')); out.write('e');"
        "await new Promise((r) => setTimeout(r, 1)); seen"
    )
    answer = shared.run(code)
    assert answer.stdout == "abcde"
    assert answer.text == "[ true, 'cb1', 'cb2', 'cb3' ]"
    assert shared.run("process.stdout.write(5)").error["name"] == "TypeError"
    assert shared.run("process.stdout.write(null)").error["name"] == "TypeError"
    piped = (
        "require('stream').Readable.from(['x', 'y']).pipe(process.stdout);"
        "await new Promise((r) => setTimeout(r, 5));"
        "await require('stream/promises').pipeline(['z'], async function* (s) { yield* s },"
        " process.stdout, { end: false })"
    )
    assert shared.run(piped).stdout == "xyz"
    assert shared.value("process.stdout instanceof require('stream').Writable") == "true"
    assert shared.value("[process.stdout.fd, process.stderr.fd, process.stdout.isTTY]") == (
        "[ 1, 2, undefined ]"
    )


def test_ten_megabytes_in_one_write(shared: NodePeer) -> None:
    answer = shared.run("process.stdout.write('x'.repeat(1e7)); console.error('é'.repeat(5))")
    assert len(answer.stdout) == 10_000_000 and answer.stderr == "é" * 5 + "\n"
    assert len(shared.run("process.stdout.write(Buffer.alloc(1e7, 97))").stdout) == 10_000_000


def test_timers_write_to_the_cell_that_started_them(fresh: NodePeer) -> None:
    one = fresh.run("setTimeout(() => console.log('from one'), 30)")
    two = fresh.run("setTimeout(async () => { await null; console.log('from two') }, 30)")
    answer = fresh.run(WAIT % 80 + "console.log('three')")
    assert (answer.stdout, answer.stderr) == ("three\n", "")
    assert fresh.everything(one, "\n") == "from one\n"
    assert fresh.everything(two, "\n") == "from two\n"


def test_a_loop_that_awaits_goes_on_where_it_began(fresh: NodePeer) -> None:
    first = fresh.run(
        "(async () => { for (let i = 0; i < 5; i++) {"
        " await new Promise((r) => setTimeout(r, 10)); console.log('tick', i) } })(); 1"
    )
    answer = fresh.run("console.log('mine');" + WAIT % 100)
    assert answer.stdout == "mine\n"
    assert fresh.everything(first, "tick 4\n").count("tick") == 5


def test_servers_go_on_between_cells(fresh: NodePeer) -> None:
    listening = fresh.run(
        "const server = require('http').createServer((q, s) => {"
        " console.log('served', q.url); s.end('hello') });"
        "await new Promise((r) => server.listen(0, '127.0.0.1', r))"
    )
    get = (
        "const body = await new Promise((r) => require('http').get("
        "{ port: server.address().port, path: '/x', agent: false }, (s) => { let t = '';"
        " s.on('data', (d) => t += d); s.on('end', () => r(t)) })); body"
    )
    answer = fresh.run(get)
    assert (answer.text, answer.stdout) == ("'hello'", "")
    assert fresh.everything(listening, "\n") == "served /x\n"
    assert fresh.run("server.close()").status == "ok"


def test_children_that_outlive_their_cell(fresh: NodePeer) -> None:
    one = fresh.run("require('child_process').spawn('sleep 0.05; echo child', { shell: true,"
                    " stdio: 'inherit' })")  # fmt: skip
    two = fresh.run("setTimeout(() => require('child_process').spawn('echo late child',"
              " { shell: true, stdio: 'inherit' }), 20)")  # fmt: skip
    assert fresh.run("console.log('between')").stdout == "between\n"
    assert fresh.everything(one, "\n") == "child\n"
    assert fresh.everything(two, "\n") == "late child\n"


def test_children_and_their_events(shared: NodePeer) -> None:
    code = (
        "const { promisify } = require('util');"
        "(await promisify(require('child_process').exec)('echo out; echo err >&2')).stdout"
    )
    assert shared.value(code) == "'out\\n'"
    code = (
        "const child = require('child_process').fork('-e', [], { execArgv: [], silent: true });"
        "await new Promise((r) => child.on('exit', r))"
    )
    assert shared.run(code).status == "ok"


def test_worker_threads(fresh: NodePeer) -> None:
    code = (
        "const { Worker } = require('worker_threads');"
        "const w = new Worker(\"console.log('in worker'); require('worker_threads').parentPort"
        ".postMessage(6 * 7)\", { eval: true });"
        "const exit = new Promise((r) => w.on('exit', r));"
        "const got = await new Promise((r) => w.on('message', r)); await exit; got"
    )
    answer = fresh.run(code)
    assert (answer.text, answer.stdout) == ("42", "in worker\n")
    failing = "new Worker('null.x', { eval: true }); await new Promise(() => {})"
    assert fresh.run(failing).error["name"] == "TypeError"


@pytest.mark.parametrize(
    "code",
    [
        "fs.closeSync(1); fs.closeSync(2)",
        "process.stdout.end(); process.stderr.end()",
        "process.stdout.destroy(); process.stderr.destroy()",
        "process.stdout._handle = null; process.stdout.cork(); process.stderr.cork()",
        "process.stdout.on('error', () => {}); process.stdout.emit('error', new Error())",
        "require('child_process').execSync('exec 1>&-; exec 2>&-')",
    ],
)
def test_closed_streams_come_back(fresh: NodePeer, code: str) -> None:
    assert fresh.run(code + "; console.log('lost or not')").status in ("ok", "error")
    answer = fresh.run("console.log(1); console.error(2)")
    assert (answer.stdout, answer.stderr) == ("1\n", "2\n")


def test_streams_of_the_users_making_stay(fresh: NodePeer) -> None:
    fresh.run("let caught = ''; const w = process.stdout.write;"
              "process.stdout.write = (s) => { caught += s; return true }")  # fmt: skip
    assert fresh.run("console.log('x')").stdout == ""
    assert fresh.value("delete process.stdout.write; caught") == "'x\\n'"
    assert fresh.run("console.log('y')").stdout == "y\n"


def test_descriptors_do_not_leak(fresh: NodePeer) -> None:
    code = "fs.readdirSync('/proc/self/fd').length"
    fresh.run("console.log(1)")
    before = int(fresh.value(code))
    for _ in range(50):
        fresh.run("console.log(1)")
    assert int(fresh.value(code)) == before
    fresh.run("setInterval(() => {}, 1000)")
    for _ in range(50):
        fresh.run("console.log(1); setTimeout(() => {}, 1e6)")
    assert int(fresh.value(code)) <= before + 2 * 34


def test_running_out_of_descriptors(fresh: NodePeer) -> None:
    fresh.run("require('child_process').execSync('true')")
    answer = fresh.run("const fds = []; for (;;) fds.push(fs.openSync('/dev/null'))")
    assert answer.error["name"] == "Error" and "EMFILE" in answer.error["message"]
    assert fresh.run("for (const fd of fds) fs.closeSync(fd); console.log(1)").stdout == "1\n"


def test_non_blocking_descriptors(fresh: NodePeer) -> None:
    code = (
        "require('child_process').execFileSync('python3', ['-c', "
        "'import os\\nfor fd in (1, 2): os.set_blocking(fd, False)'], { stdio: 'inherit' });"
        "process.stdout.write('x'.repeat(1e6))"
    )
    assert len(fresh.run(code).stdout) == 1_000_000
