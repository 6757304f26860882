"""Node.js sessions, case by case. See harness/cases.py for how to read them."""

from harness.cases import ANYTHING, back, case, cell, gone, has, lacks, late, like, long_text

# State: what one cell makes is there in the next, because the process lives on.

STATE = [
    case("a variable of one cell is there in the next", "var x = 41", cell("x + 1", value="42")),
    case("let, const and class survive",
         "let a = 1; const b = 2; class C { three() { return 3 } }",
         cell("a + b + new C().three()", value="6")),
    case("let, const and class may be declared again",
         "let a = 1; const b = 1; class C { n() { return 1 } }",
         "let a = 2; const b = 2; class C { n() { return 2 } }",
         cell("[a, b, new C().n()]", value="[ 2, 2, 2 ]")),
    case("a const is a const",
         "const fixed = 1",
         cell("fixed = 2", error="TypeError", message="Assignment to constant variable."),
         cell("fixed", value="1")),
    case("functions and closures last",
         "function counter() { let n = 0; return () => ++n }\nconst next = counter()",
         cell("next(); next()", value="2"),
         cell("next()", value="3")),
    case("a generator goes on where it was",
         "const g = (function* () { yield 1; yield 2 })(); g.next()",
         cell("g.next().value", value="2")),
    case("destructuring declares",
         "const { p, q: [r] } = { p: 1, q: [2] }",
         cell("p + r", value="3")),
    case("a failed cell keeps what it did before it failed",
         cell("var done = 1; nothing(); done = 2", error="ReferenceError"),
         cell("done", value="1")),
    case("a function sees the variables as they are when it is called",
         "function f() { return n }", "let n = 1", cell("f()", value="1"),
         "n = 2", cell("f()", value="2")),
    case("what was declared after await lasts too",
         "const late1 = await Promise.resolve(5); let late2 = late1 * 2",
         cell("late1 + late2", value="15")),
    case("a value can be used again as _", cell("6 * 7", value="42"), cell("_ + 1", value="43")),
    case("the global object is the global scope",
         "globalThis.shared = 1; var declared = 2",
         cell("shared + globalThis.declared", value="3"),
         cell("this === globalThis", value="true")),
    case("a module that is required once stays loaded",
         "const path = require('node:path')",
         cell("path.join('a', '..', 'b')", value="'b'")),
]

# Values: the last expression is shown as util.inspect shows it.

VALUES = [
    case("an expression has a value", cell("1 + 1", value="2")),
    case("text is quoted",
         cell("'it' + 's'", value="'its'"), cell('"it\'s ünï→😀"', value='"it\'s ünï→😀"')),
    case("undefined is no value", cell("undefined"), cell("let x = 1"), cell("void 0")),
    case("null, booleans, big numbers, symbols",
         cell("null", value="null"), cell("true", value="true"),
         cell("2n ** 70n", value="1180591620717411303424n"),
         cell("Symbol('s')", value="Symbol(s)"), cell("-0", value="-0"), cell("NaN", value="NaN")),
    case("objects and arrays",
         cell("[1, 'two', { three: [3] }]", value="[ 1, 'two', { three: [ 3 ] } ]")),
    case("an object literal is an object, not a block",
         cell("{ a: 1, b: 'x' }", value="{ a: 1, b: 'x' }")),
    case("a block is a block", cell("{ let inner = 1; inner + 1 }", value="2")),
    case("maps, sets, dates, regular expressions",
         cell("new Map([['a', 1]])", value="Map(1) { 'a' => 1 }"),
         cell("new Set([1])", value="Set(1) { 1 }"),
         cell("new Date(0)", value="1970-01-01T00:00:00.000Z"), cell("/a+/gi", value="/a+/gi")),
    case("functions and classes",
         cell("(function f() {})", value="[Function: f]"), cell("(class A {})", value="[class A]")),
    case("a promise that is not awaited is a promise",
         cell("Promise.resolve(7)", value="Promise { 7 }")),
    case("buffers", cell("Buffer.from('hi')", value="<Buffer 68 69>")),
    case("a circle is no endless story",
         cell("const o = { name: 'o' }; o.self = o; o",
              value="<ref *1> { name: 'o', self: [Circular *1] }")),
    case("long arrays are shortened", cell("Array(150).fill(0)", value=has("... 50 more items"))),
    case("only the last expression is shown", cell("1; 2; 3", value="3")),
    case("an empty cell is a cell", cell(""), cell("\n\n"), cell("// only a comment")),
    case("output comes before the value",
         cell("console.log('out'); 'value'", out="out\n", value="'value'")),
    case("a value may follow an unfinished line",
         cell("process.stdout.write('no newline'); 5", out="no newline", value="5")),
    case("an error that is a value is no failure", cell("new RangeError('only made')",
                                                        value=has("RangeError: only made"))),
    case("an inspection that throws is told in place of the value",
         cell("({ [require('util').inspect.custom]() { throw new Error('no look') } })",
              value=ANYTHING, status=ANYTHING, error=ANYTHING, err=ANYTHING),
         cell("1", value="1")),
    case("a large value is whole when the caller asks for it",
         cell("'x'.repeat(9000)", value=long_text(9002, "'xx", "xx'"))),
]

# Errors: the user's stack, and nothing of the machinery.

ERRORS = [
    case("an exception has a name, a message and a stack",
         cell("null.x", error="TypeError", message=has("null"), traceback=has("at "))),
    case("the stack shows the user's functions",
         cell(
             """
             function outer() { inner() }
             function inner() { throw new RangeError('deep') }
             outer()
             """,
             error="RangeError", message="deep", traceback=has("inner", "outer"),
         )),
    case("the stack leads into an earlier cell",
         "function earlier() { throw new Error('early') }",
         cell("earlier()", error="Error", message="early", traceback=has("earlier"))),
    case("the stack shows nothing of the driver",
         cell("undefined_name", error="ReferenceError", message="undefined_name is not defined",
              traceback=lacks("/cella", "inspector"))),
    case("a syntax error runs nothing",
         cell("console.log('ran'); let = = 2", error="SyntaxError"), cell("1", value="1")),
    case("a block that is never closed is an error, not a question",
         cell("function f() {", error="SyntaxError"), cell("1", value="1")),
    case("endless recursion is an error",
         cell("function f() { return f() + 1 }\nf()", error="RangeError",
              message="Maximum call stack size exceeded"),
         cell("1", value="1")),
    case("errors of the user's own",
         cell("class Mine extends Error { constructor(m) { super(m); this.name = 'Mine' } }\n"
              "throw new Mine('own')", error="Mine", message="own")),
    case("anything can be thrown",
         cell("throw 5", error=ANYTHING, message=has("5")),
         cell("throw { code: 7 }", error=ANYTHING, message=ANYTHING),
         cell("throw undefined", error=ANYTHING, message=ANYTHING),
         cell("throw null", error=ANYTHING, message=ANYTHING),
         cell("1", value="1")),
    case("the cause of an error is told",
         cell("throw new Error('second', { cause: new Error('first') })", error="Error",
              message="second", traceback=has("first"))),
    case("a rejected await is an error of the cell",
         cell("await Promise.reject(new TypeError('refused'))", error="TypeError",
              message="refused")),
    case("an unhandled rejection is told in the cell that caused it",
         cell("Promise.reject(new Error('lost')); undefined", error="Error", message="lost"),
         cell("1", value="1")),
    case("a rejection that is handled is nobody's error",
         cell("Promise.reject(new Error('x')).catch(e => 'caught ' + e.message)\n"
              ".then(t => console.log(t)); await null; await null; await null", out="caught x\n",
              value=ANYTHING)),
    case("an exception in a timer does not end the session",
         "setTimeout(() => { throw new Error('later') }, 1)",
         cell("await new Promise(r => setTimeout(r, 30)); 'lives'", value="'lives'", err=ANYTHING)),
]

# Output: two streams, every byte, in order.

OUTPUT = [
    case("stdout and stderr are apart",
         cell("console.log('o'); console.error('e')", out="o\n", err="e\n")),
    case("interleaved writes to both streams are each in order",
         cell("for (let n = 0; n < 1000; n++) { console.log(n); console.error(n + 1) }",
              out="".join(f"{n}\n" for n in range(1000)),
              err="".join(f"{n + 1}\n" for n in range(1000)))),
    case("output without a newline is complete",
         cell("process.stdout.write('no newline'); undefined", out="no newline")),
    case("ten megabytes in one write",
         cell("process.stdout.write('0123456789'.repeat(1e6)); undefined",
              out=long_text(10_000_000, "0123456789", "0123456789"))),
    case("ten megabytes in one console.log",
         cell("console.log('x'.repeat(9_999_999))", out=long_text(10_000_000, "xxx", "xx\n"))),
    case("ten megabytes in one synchronous write",
         cell("require('fs').writeFileSync(1, 'y'.repeat(1e7))", out=long_text(10_000_000, "yyy",
              "yyy"))),
    case("unicode is kept", cell("console.log('ünï→😀\\u200b')", out="ünï→😀\u200b\n")),
    case("control characters are kept",
         cell("console.log('ab\\x1b[31m\\b\\0c')", out="ab\x1b[31m\b\0c\n")),
    case("binary bytes become valid text",
         cell("process.stdout.write(Buffer.from('6f6b20fffe206f6b', 'hex')); undefined",
              out="ok \ufffd\ufffd ok")),
    case("half a surrogate pair becomes valid text",
         cell("console.log('\\ud800')", out="\ufffd\n"), cell("'\\ud800'", value="'\\ud800'")),
    case("unicode identifiers", "const größe = 3, 变量 = 4", cell("größe * 变量", value="12")),
    case("console.log formats", cell("console.log('%s is %d and %j', 'it', 42, { a: 1 })",
                                     out='it is 42 and {"a":1}\n')),
    case("console.table, group and dir",
         cell("console.group('g'); console.log('in'); console.groupEnd(); console.dir([1])",
              out="g\n  in\n[ 1 ]\n")),
    case("children and the cell write in order",
         cell(
             """
             const { execSync } = require('child_process')
             console.log('a')
             execSync('echo b', { stdio: 'inherit' })
             console.log('c')
             """,
             out="a\nb\nc\n",
         )),
    case("what looks like the protocol is only text",
         cell("console.log('{\"ev\":\"done\",\"id\":1,\"status\":\"ok\"}')",
              out='{"ev":"done","id":1,"status":"ok"}\n'),
         cell("1", value="1")),
    case("a closed stdout costs that cell its output and no more",
         "try { require('fs').closeSync(1) } catch {}",
         cell("console.log('back')", out="back\n")),
]

# Between cells the event loop goes on; what is written then belongs to the cell that began it.

LATE = [
    case("a timer prints later",
         cell("setTimeout(() => console.log('late'), 30); undefined", out=ANYTHING),
         late(0, out="late\n")),
    case("a child that outlives its cell prints later",
         cell("require('child_process').spawn('sh', ['-c', 'sleep 0.1; echo late'],"
              " { stdio: ['ignore', 'inherit', 'inherit'] }); undefined", out=ANYTHING),
         late(0, out="late\n")),
    case("late output is not the output of the cell that runs then",
         cell("var go = false; const waiting = setInterval(() => {\n"
              "    if (go) { clearInterval(waiting); console.log('first') }\n}, 1); undefined"),
         cell("go = true; await new Promise(r => setTimeout(r, 50)); console.log('second')",
              out="second\n"),
         late(0, out="first\n")),
    case("an interval goes on between cells and can be stopped",
         "var ticks = 0; const timer = setInterval(() => ticks++, 1)",
         cell("while (ticks < 3) await new Promise(r => setTimeout(r, 1))\n"
              "clearInterval(timer); ticks > 2", value="true")),
    case("a server of one cell answers in another",
         """
         const server = require('http').createServer((q, r) => r.end('served ' + q.url))
         await new Promise(ready => server.listen(0, '127.0.0.1', ready))
         const address = `http://127.0.0.1:${server.address().port}`
         """,
         cell("await (await fetch(address + '/x')).text()", value="'served /x'"),
         "server.close(); undefined"),
    case("an answer does not wait for timers",
         cell("setTimeout(() => {}, 60_000); 'at once'", value="'at once'")),
]

# await

ASYNC = [
    case("await at the top level",
         "async function f() { return 7 }", cell("await f()", value="7"),
         cell("const x = await f(); console.log(x)", out="7\n")),
    case("for await at the top level",
         cell("for await (const n of (async function* () { yield 1; yield 2 })()) console.log(n)",
              out="1\n2\n")),
    case("await in loops and blocks",
         cell("let sum = 0; for (let n = 0; n < 3; n++) { sum += await Promise.resolve(n) } sum",
              value="3")),
    case("a promise of one cell is awaited in another",
         "const slow = new Promise(r => setTimeout(() => r('done'), 20))",
         cell("await slow", value="'done'")),
    case("import at the top level",
         cell("const { basename } = await import('node:path'); basename('/a/b')", value="'b'")),
    case("micro-tasks and ticks are in Node's order",
         cell(
             """
             setImmediate(() => console.log('4'))
             process.nextTick(() => console.log('2'))
             Promise.resolve().then(() => console.log('3'))
             console.log('1')
             await new Promise(r => setTimeout(r, 10))
             """,
             out=like("1\n(2\n3|3\n2)\n4\n"),
         )),
]

# Files, modules and the environment.

WORLD = [
    case("the working directory is the workspace", cell("process.cwd()", value="'/workspace'")),
    case("files",
         "const fs = require('fs'); fs.writeFileSync('f.txt', 'text')",
         cell("fs.readFileSync('/workspace/f.txt', 'utf8')", value="'text'")),
    case("a module of the workspace can be required",
         "require('fs').writeFileSync('mine.js', 'exports.answer = 42')",
         cell("require('./mine').answer", value="42")),
    case("a module of the workspace can be imported",
         "require('fs').writeFileSync('mine.mjs', 'export const answer = 42')",
         cell("(await import('./mine.mjs')).answer", value="42")),
    case("JSON can be required",
         "require('fs').writeFileSync('data.json', '{\"a\": [1]}')",
         cell("require('./data.json')", value="{ a: [ 1 ] }")),
    case("a module that is missing is an error",
         cell("require('no-such-module')", error="Error", message=has("Cannot find module"))),
    case("chdir lasts",
         "require('fs').mkdirSync('sub'); process.chdir('sub')",
         cell("process.cwd()", value="'/workspace/sub'")),
    case("a session may begin with an environment of its own",
         cell("process.env.GREETING", value="'grüß dich'"), env={"GREETING": "grüß dich"}),
    case("a session may begin in a directory of its own",
         cell("process.cwd()", value="'/workspace/deep/er'"), cwd="deep/er"),
    case("nothing of the host's environment is inside",
         cell("Object.keys(process.env).filter(n => /CELLA|KEY/.test(n))", value="[]")),
    case("there is no terminal",
         cell("[process.stdin.isTTY, process.stdout.isTTY].map(Boolean)", value="[ false, false ]"),
         cell("require('child_process').spawnSync('stty', ['sane']).status", value="1")),
    case("the web's own objects are there",
         cell("[fetch, URL, structuredClone, TextEncoder, AbortController].map(f => typeof f)"
              ".every(t => t === 'function')", value="true")),
    case("WebAssembly and workers work",
         cell("WebAssembly.validate(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))", value="true"),
         cell("const { Worker } = require('worker_threads')\n"
              "const code = 'require(\"worker_threads\").parentPort.postMessage(5)'\n"
              "await new Promise(r => new Worker(code, { eval: true }).on('message', r))",
              value="5")),
]

# Processes.

PROCESSES = [
    case("a child's output and status come back",
         cell("const c = require('child_process').spawnSync('sh', ['-c', 'echo out; exit 3']);"
              "[String(c.stdout), c.status]", value="[ 'out\\n', 3 ]")),
    case("a failing child of execSync is an error",
         cell("require('child_process').execSync('exit 3')", error="Error", message=has("exit 3"),
              err=ANYTHING)),
    case("children in the background",
         cell("const run = require('util').promisify(require('child_process').exec)\n"
              "const all = await Promise.all([1, 2, 3].map(n => run(`echo ${n}`)))\n"
              "all.map(r => r.stdout).join('')",
              value="'1\\n2\\n3\\n'")),
]

# Questions: readline and stdin ask the caller.

INPUT = [
    case("readline asks the caller",
         cell(
             """
             const rl = require('readline/promises').createInterface({
                 input: process.stdin, output: process.stdout })
             const name = await rl.question('Name? ')
             rl.close()
             name
             """,
             answers=[("Name? ", "Ada")], value="'Ada'",
         )),
    case("stdin can be read again and again",
         cell(
             """
             const lines = require('readline').createInterface({ input: process.stdin })
             const seen = []
             for await (const line of lines) { seen.push(line); if (seen.length === 2) break }
             seen
             """,
             answers=[("", "one"), ("", "zwö")], value="[ 'one', 'zwö' ]",
         )),
    case("the end of the input ends the lines",
         cell(
             """
             let count = 0
             for await (const line of require('readline').createInterface({ input: process.stdin }))
                 count++
             count
             """,
             answers=[("", "one"), ("", None)], value="1",
         ),
         cell("1", value="1")),
]

# Interrupts and time limits end the cell and keep the state.

INTERRUPTS = [
    case("a loop is interrupted and the state is kept",
         "let kept = 1",
         cell("console.log('on'); while (true) {}", out="on\n", interrupt_at="on\n",
              status="interrupted"),
         cell("kept", value="1")),
    case("a loop of awaits is interrupted",
         "let kept = 1",
         cell("console.log('on'); while (true) { await null }", out="on\n", interrupt_at="on\n",
              status="interrupted"),
         cell("kept", value="1")),
    case("an await that never ends is interrupted",
         cell("console.log('on'); await new Promise(() => {})", out="on\n", interrupt_at="on\n",
              status="interrupted"),
         cell("1", value="1")),
    case("a loop in a timer's callback is interrupted",
         "let kept = 1",
         cell("await new Promise(r => setTimeout(() => { console.log('on'); while (true) {} }, 1))",
              out="on\n", interrupt_at="on\n", status="interrupted"),
         cell("kept", value="1")),
    case("a child is interrupted with its cell",
         cell("require('child_process').spawnSync('sh', ['-c', 'echo on; exec sleep 60'],"
              " { stdio: 'inherit' }); undefined", out="on\n", interrupt_at="on\n", status=ANYTHING,
              error=ANYTHING, value=ANYTHING),
         cell("1", value="1")),
    case("an expensive regular expression is interrupted",
         cell("console.log('on'); /^(a+)+$/.test('a'.repeat(40) + 'b')", out="on\n",
              interrupt_at="on\n", status="interrupted"),
         cell("1", value="1")),
    case("the user's own handler of SIGINT does not stop the interrupt",
         "process.on('SIGINT', () => {})",
         cell("console.log('on'); while (true) {}", out="on\n", interrupt_at="on\n",
              status="interrupted"),
         cell("1", value="1")),
    case("a time limit interrupts and the state is kept",
         "let kept = 5",
         cell("process.stdout.write('before'); while (true) {}", timeout_ms=1000, out="before",
              status="timeout"),
         cell("kept", value="5")),
    case("a cell that cannot be interrupted is killed after a grace, and the session goes back",
         cell("console.log('on'); require('crypto').pbkdf2Sync('a', 'b', 2 ** 30, 64, 'sha512')",
              timeout_ms=1000, out="on\n", status="timeout", exit_code=137),
         back("1", "137", value="1")),
    case("an early answer, then the rest",
         cell("console.log('first'); await new Promise(r => setTimeout(r, 1000))\n"
              "console.log('second'); 7",
              yield_ms=50, out="first\nsecond\n", value="7")),
]

# Exits.

EXITS = [
    case("process.exit ends the cell with its code, not the session",
         "var x = 1",
         cell("console.log('last'); process.exit(3); console.log('never')", out="last\n",
              error="SystemExit", message="3", exit_code=3),
         cell("x", value="1")),
    case("process.exit without a code", cell("process.exit()", exit_code=0), cell("1", value="1")),
    case("process.exitCode alone ends nothing", cell("process.exitCode = 5", value="5",
                                                     exit_code=5), cell("1", value="1")),
    case("exit handlers run",
         "process.on('exit', code => console.log('bye', code))",
         cell("process.exit(2)", out="bye 2\n", error="SystemExit", exit_code=2),
         cell("1", value="1")),
    case("process.abort is a crash",
         cell("process.abort()", status="died", exit_code=134),  # no stack of native code
         back("1", "134", value="1")),
    case("a signal from inside",
         cell("process.kill(process.pid, 'SIGKILL'); while (true) {}", status="died",
              exit_code=137),
         back("1", "137", value="1")),
]

CASES = (STATE + VALUES + ERRORS + OUTPUT + LATE + ASYNC + WORLD + PROCESSES + INPUT + INTERRUPTS
         + EXITS)
