// The layer of the JavaScript client that people touch, against the daemon of CELLA_DATA; CELLA_URL
// and CELLA_KEY are its address.
import assert from "node:assert/strict";
import { ApiError, Client, CodeFailed, NoDaemon, Session } from "../../clients/js/src/index.js";
import { Client as FetchClient } from "../../clients/js/src/client.js";

const data = process.env.CELLA_DATA;
const client = new Client({ data, start: false });
const s = new Session({ client, profile: "min", checkpoints: "every" });

// Results.
assert.equal(String(await s.run("1 + 1")), "2");
const failed = await s.run("1/0");
assert.ok(!failed.ok && String(failed).endsWith("ZeroDivisionError: division by zero"));
await assert.rejects(s.run("nothing", { check: true }),
  (error) => error instanceof CodeFailed && error.result.status === "error");
assert.equal((await s.names()).x, undefined);

// Output while it runs, and input.
const seen = [];
const result = await s.run("print('out'); 7", { onOutput: (...pair) => seen.push(pair) });
assert.ok(seen.every(([stream]) => stream === "stdout"));
assert.equal(seen.map(([, text]) => text).join(""), "out\n");
assert.equal(result.stdout, "out\n");
assert.equal(result.text, "7");
const asking = "print('first'); a = input('A? '); print(a)";
for (const onOutput of [undefined, () => {}]) {
  assert.equal((await s.run(asking, { input: ["1"], onOutput })).stdout, "first\n1\n");
  assert.equal((await s.run(asking, { input: async (p) => p[0], onOutput })).stdout, "first\nA\n");
}
assert.equal((await s.run("n = input('Name? ')")).prompt, "Name? ");
assert.ok((await s.input("Ada")).ok);
const names = [];
for await (const event of s.stream("print(1)")) names.push(event.name);
assert.deepEqual([...new Set(names)], ["cell", "output", "result"]);


// Functions that the code calls.
const tools = { twice: async ({ n }) => 2 * n, fails: () => { throw new RangeError("not here"); },
  note: { call: (given) => given, description: "Keeps all.", read_only: true,
    parameters: { a: { type: "integer" } } } };
for (const onOutput of [undefined, () => {}]) {
  const called = await s.run(
    "print('first')\n[TOOL('twice', n=4), TOOL('fails'), TOOL('note', a=1), TOOL('note', a='x')[:7]]",
    { tools, onOutput, check: true });
  assert.equal(called.stdout, "first\n");
  assert.equal(called.text, "[8, '[ERROR: RangeError: not here]', {'a': 1}, '[ERROR:']");
}

// The past, branches, tries.
await s.run("x = 1");
await s.run("x = 2");
await s.undo();
assert.equal((await s.run("x")).text, "1");
const copy = await s.branch();
await copy.run("x = 30");
assert.equal((await s.run("x")).text, "1");
await copy.end();
await (await s.try("x = 99")).drop();
assert.equal((await s.run("x")).text, "1");
await (await s.try("x = 99")).keep();
assert.equal((await s.run("x")).text, "99");
await (await s.checkpoints()).at(-2).restore();
await s.redo();

// Files.
await s.files.put("note ü?.txt", "text");
await s.files.put("pieces", (async function* () {
  yield Buffer.from("one ");
  yield Buffer.from("two");
})());
assert.equal(await s.files.readText("note ü?.txt"), "text");
assert.equal(await s.files.readText("pieces"), "one two");
await s.files.move("pieces", "moved");
await s.files.delete("moved");
assert.deepEqual((await s.files.list()).map((entry) => entry.path), ["note ü?.txt"]);

// Images.
const picture = process.env.PICTURE; // in base64
const code = `import base64; from IPython.display import Image, display
display(Image(base64.b64decode("${picture}")))`;
for (const budget of [1 << 20, 0]) { // in the answer, and fetched
  const { images: [image] } = await s.run(code, { budget });
  assert.equal(image.toDataURL(), `data:image/png;base64,${picture}`);
}

// Left running, interrupted, left by the caller.
await s.run("import time");
const running = await s.run("time.sleep(600)", { wait: 0 });
assert.ok(["running", "queued"].includes(running.status));
while (!(await s.interrupt())); // until it runs
assert.equal((await s.wait(running)).status, "interrupted");
const gate = new AbortController();
const left = s.run("print('began'); time.sleep(600)",
  { signal: gate.signal, onOutput: () => gate.abort() });
await assert.rejects(left, { name: "AbortError" });
assert.equal((await s.run("'free'")).text, "'free'");

// A terminal.
const terminal = await client.sessionTerminal({ session_id: s.id, command: "read x; echo got $x" });
terminal.send(Buffer.from("typed\n"));
let shown = "";
for await (const message of terminal)
  shown += typeof message === "string" ? message : Buffer.from(message);
assert.match(shown, /got typed[^]*"status":0/);

// Errors.
await assert.rejects(client.sessionGet({ session_id: "none" }),
  (error) => error instanceof ApiError && error.code === "not_found" && error.advice !== "");
await assert.rejects(new Client({ data: "/nonexistent", start: false }).health(), NoDaemon);
const { CELLA_URL: url, CELLA_KEY: key } = process.env;
await assert.rejects(new Client({ url, key: "wrong" }).sessionList(), { code: "unauthorized" });
const far = Session.attach(s.id, { url, key });
assert.equal((await far.run("x")).text, "99");
await far.close();

// As a browser does it, by fetch.
const { platform } = await import("../../clients/js/src/client.js");
const node = platform.open;
const { FetchCarrier } = await import("../../clients/js/src/client.js");
platform.open = (options) => new FetchCarrier(options);
const page = Session.attach(s.id, { client: new FetchClient({ url, key }) });
assert.equal((await page.run("print(1); x", { onOutput: () => {} })).text, "99");
await page.files.put("from-page", "bytes");
assert.equal(await page.files.readText("from-page"), "bytes");
assert.throws(() => new FetchClient({}), { code: "invalid" });
platform.open = node;

await s.end();
await assert.rejects(client.sessionExec({ session_id: s.id, code: "x" }), ApiError);
await s.end();
console.log("ok");
