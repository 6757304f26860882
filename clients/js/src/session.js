// Sessions, as people use them.

import { Client } from "./client.js";
import { ApiError, CellaError, CodeFailed, ConnectionLost } from "./errors.js";

const OUTPUT_BYTES = 1024 * 1024; // of text in a result, unless a budget is given
const GET = { name: "image", method: "GET", path: "/{path}", query: [],
  flags: ["read_only", "has_tail"] };

/** One thing that a cell displayed, or its value: docs/OUTPUTS.md has the types. */
export class Output {
  constructor(told) {
    this.told = told;
  }

  get type() {
    return this.told.type;
  }

  get text() {
    return this.told.text ?? "";
  }

  get html() {
    return this.told.html;
  }

  toString() {
    return this.text || `<${this.type}>`;
  }
}

/** A picture; `data` is its bytes, `format` says png, jpeg or gif. */
export class Image extends Output {
  constructor(told, data) {
    super(told);
    this.data = data;
  }

  get format() {
    return this.told.format ?? "png";
  }

  get width() {
    return this.told.width ?? 0;
  }

  get height() {
    return this.told.height ?? 0;
  }

  /** For the src of an <img>. */
  toDataURL() {
    let text = "";
    for (let at = 0; at < this.data.length; at += 0x8000)
      text += String.fromCharCode(...this.data.subarray(at, at + 0x8000));
    return `data:image/${this.format};base64,${btoa(text)}`;
  }
}

/** What a cell gave. As a string it reads as a terminal would show it. */
export class Result {
  constructor(told, value, outputs) {
    this.told = told;
    this.value = value;
    this.outputs = outputs;
  }

  /** ok, error, interrupted, timeout, died; or running, queued, input_required,
   * tool_call_required. */
  get status() {
    return this.told.status;
  }

  get ok() {
    return this.status === "ok";
  }

  get isFinished() {
    return !["running", "queued", "input_required", "tool_call_required"].includes(this.status);
  }

  /** The cell's number in its session, from 1. */
  get number() {
    return this.told.number;
  }

  get stdout() {
    return this.told.stdout ?? "";
  }

  get stderr() {
    return this.told.stderr ?? "";
  }

  /** The last expression's value as text; undefined if there is none. */
  get text() {
    return this.value?.text;
  }

  get images() {
    return [...this.outputs, this.value].filter((output) => output instanceof Image);
  }

  /** name, message, traceback, line, advice of what the code raised. */
  get error() {
    return this.told.error;
  }

  /** What the cell asks, if it waits for a line. */
  get prompt() {
    return this.told.input?.prompt;
  }

  get checkpoint() {
    return this.told.checkpoint;
  }

  get names() {
    return this.told.names ?? {};
  }

  get seconds() {
    return (this.told.duration_ms ?? 0) / 1000;
  }

  get isTruncated() {
    return this.told.truncated ?? false;
  }

  /** Itself if the code succeeded, else throws CodeFailed. */
  check() {
    if (this.ok) return this;
    const { name, message, advice = "" } = this.error ?? {};
    throw new CodeFailed(name ? `${name}: ${message}` : `the cell's status is ${this.status}`,
      advice, this);
  }

  toString() {
    const parts = [this.stdout, this.stderr, ...this.outputs.map(String)];
    if (this.value) parts.push(String(this.value));
    if (this.error) {
      parts.push(this.error.traceback, `${this.error.name}: ${this.error.message}`,
        this.error.advice);
    } else if (!this.ok) {
      parts.push(`[${this.status}]${this.prompt ? ` ${this.prompt}` : ""}`);
    }
    return parts.filter(Boolean).map((part) => part.replace(/\n+$/, "")).join("\n");
  }
}

/** What the daemon is told of functions that code calls. One that says nothing takes anything. */
function described(tools) {
  return Object.entries(tools).map(([name, tool]) => {
    const { call, ...told } = typeof tool === "function" ? {} : tool;
    return { name, parameters: { type: "object" }, ...told };
  });
}

/** What a call's function returns, or what it threw. */
async function answered(tools, { id, name, args }) {
  const tool = tools[name];
  try {
    return { id, result: (await (typeof tool === "function" ? tool : tool.call)(args)) ?? null };
  } catch (error) {
    return { id, error: String(error).slice(0, 1000) || "no message" };
  }
}

/** What a stream of events has told so far: its last event has the rest. */
class Collected {
  constructor() {
    this.clear();
  }

  clear() {
    this.stdout = "";
    this.stderr = "";
    this.outputs = [];
    this.clearsFirst = false;
  }

  take({ name, data }) {
    if (this.clearsFirst && ["output", "display", "update"].includes(name)) this.clear();
    if (name === "output") this[data.stream] += data.text;
    else if (name === "display") this.outputs.push(data);
    else if (name === "update") this.update(data);
    else if (name === "clear" && data.wait) this.clearsFirst = true;
    else if (name === "clear") this.clear();
  }

  update(told) {
    const places = [...this.outputs.keys()]
      .filter((at) => this.outputs[at].display_id === told.display_id);
    for (const at of places) this.outputs[at] = told;
    if (!places.length) this.outputs.push(told);
  }

  complete(last) {
    const whole = { ...last };
    if (this.stdout) whole.stdout = this.stdout;
    if (this.stderr) whole.stderr = this.stderr;
    if (this.outputs.length) whole.outputs = this.outputs;
    return whole;
  }
}

/**
 * A live interpreter in a sandbox of its own. It starts with its first use and ends with end().
 * Options are those of Client, and those of session.create in docs/API.md.
 */
export class Session {
  constructor(options = {}) {
    const { client, url, key, data, agent, program, start, ...rest } = options;
    this._ownsClient = !client;
    this.client = client ?? new Client({ url, key, data, agent, program, start });
    this._options = rest;
    this._id = undefined;
    this._isOurs = true;
    this.files = new Files(this);
  }

  /** One that exists, by its id or name; close() leaves it alive. */
  static attach(session, options = {}) {
    const made = new this(options);
    made._id = session;
    made._isOurs = false;
    return made;
  }

  get id() {
    if (this._id === undefined)
      throw new CellaError("the session has not begun", "await session.start()", "invalid");
    return this._id;
  }

  /** Starts it now, instead of with its first use. */
  async start() {
    if (this._id === undefined) {
      this._starting ??= this.client.sessionCreate(this._options);
      try {
        this._id = (await this._starting).session_id;
      } finally {
        this._starting = undefined;
      }
    }
    return this;
  }

  async _started() {
    return (await this.start()).id;
  }

  /** Ends the session; its notebook goes with it unless that is kept. */
  async end({ keepNotebook = false } = {}) {
    try {
      if (this._id !== undefined)
        await this.client.sessionDelete(
          { session_id: this._id, keep_notebook: keepNotebook || undefined });
    } catch (error) {
      if (!(error instanceof ApiError && [404, 410].includes(error.status))) throw error;
    } finally {
      if (this._ownsClient) this.client.close();
    }
  }

  /** Ends the session if it is ours, and leaves it alive if it was attached. */
  async close() {
    if (this._isOurs) await this.end();
    else if (this._ownsClient) this.client.close();
  }

  // Cells.

  /**
   * Runs a cell: { timeout, wait } in seconds, { onOutput(stream, text) } while it runs,
   * { input } a function of the prompt or lines, { check } throws if the code fails, { signal }
   * ends the cell. After `wait` seconds the result is told also if the cell still runs.
   */
  async run(code, options = {}) {
    const { timeout, wait, onOutput, input, tools, check, signal, ...more } = options;
    const args = { session_id: await this._started(), code, budget: OUTPUT_BYTES,
      images: "inline", html: true, ...more };
    if (tools) args.tools = described(tools);
    if (timeout !== undefined) args.timeout_ms = Math.max(1, Math.round(timeout * 1000));
    if (wait !== undefined) args.yield_ms = Math.round(wait * 1000);
    else args.on_disconnect ??= "cancel";
    let result = onOutput
      ? await this._follow(this.client.sessionExecEvents(args, { signal }), onOutput)
      : await this._result(await this.client.sessionExec(args, { signal }));
    result = await this._answer(result, input, tools, onOutput, args.budget);
    return check ? result.check() : result;
  }

  async _follow(events, onOutput) {
    const seen = new Collected();
    let last;
    for await (const event of events) {
      seen.take(event);
      if (event.name === "output") onOutput?.(event.data.stream, event.data.text);
      if (event.name === "result") last = event.data;
    }
    if (!last) throw new ConnectionLost("the stream ended before its result");
    return this._result(seen.complete(last));
  }

  async _answer(first, answers, tools, onOutput, budget) {
    const lines = typeof answers === "function" ? undefined : answers?.[Symbol.iterator]();
    let result = first;
    while ((result.status === "input_required" && answers !== undefined) ||
           (result.status === "tool_call_required" && tools)) {
      if (result.status === "tool_call_required") {
        result = joined(result, await this._call(result, tools, onOutput, budget));
        continue;
      }
      const line = lines ? lines.next().value : await answers(result.prompt ?? "");
      const args = { session_id: this.id, budget, number: result.number,
        ...(line === undefined || line === null ? { eof: true } : { text: line }) };
      const next = onOutput ? await this._follow(this.client.sessionInputEvents(args), onOutput)
        : await this._result(await this.client.sessionInput(args));
      result = joined(result, next);
    }
    return result;
  }

  async _call(result, tools, onOutput, budget) {
    const results = await Promise.all(result.told.tool_calls.map((call) => answered(tools, call)));
    const args = { session_id: this.id, cell: String(result.number), results, budget };
    return onOutput ? this._follow(this.client.execToolResultsEvents(args), onOutput)
      : this._result(await this.client.execToolResults(args));
  }

  /** What a cell does while it does it: for await (const {name, data} of s.stream("…")). */
  async *stream(code, options = {}) {
    const { signal, ...more } = options;
    const args = { session_id: await this._started(), code, budget: OUTPUT_BYTES,
      images: "inline", on_disconnect: "cancel", ...more };
    yield* this.client.sessionExecEvents(args, { signal });
  }

  /** Waits on for a cell that still runs; tells what is new. */
  async wait(result, seconds) {
    return this._result(await this.client.execContinue({
      session_id: await this._started(), cell: String(result.number), budget: OUTPUT_BYTES,
      yield_ms: seconds === undefined ? undefined : Math.round(seconds * 1000) }));
  }

  /** Gives a line to the cell that waits for one, and waits for it; null is the end. */
  async input(text) {
    const given = text === null || text === undefined ? { eof: true } : { text };
    return this._result(await this.client.sessionInput(
      { session_id: await this._started(), budget: OUTPUT_BYTES, ...given }));
  }

  /** As Ctrl-C would; false if nothing ran. */
  async interrupt() {
    return (await this.client.sessionInterrupt({ session_id: await this._started() })).interrupted;
  }

  async _result(told) {
    const outputs = [];
    for (const output of told.outputs ?? []) outputs.push(await this._output(output));
    return new Result(told, told.value && await this._output(told.value), outputs);
  }

  /** Pictures that were too large for the answer are fetched. */
  async _output(told) {
    if (told.type !== "image") return new Output(told);
    if (told.data !== undefined)
      return new Image(told, Uint8Array.from(atob(told.data), (letter) => letter.charCodeAt(0)));
    if (told.url === undefined) return new Output(told);
    const path = new URL(told.url, "http://localhost").pathname.slice(1);
    return new Image(told, await this.client._bytes(GET, { path }));
  }

  // The past, and copies of the present.

  /** Takes the last cell back, or all since a checkpoint; tells what that undid. */
  async undo(to) {
    const number = typeof to === "object" ? to?.number : to;
    return this.client.sessionUndo({ session_id: await this._started(), to: number });
  }

  async redo() {
    return this.client.sessionRedo({ session_id: await this._started() });
  }

  /** Where the session can go back to, the oldest first. */
  async checkpoints() {
    const told = await this.client.sessionCheckpoints({ session_id: await this._started() });
    return told.checkpoints.map((entry) => new Checkpoint(this, entry));
  }

  /** A live copy of the session, with an id of its own. */
  async branch(at) {
    return (await this.branches(1, at))[0];
  }

  async branches(count, at) {
    const told = await this.client.sessionBranch(
      { session_id: await this._started(), count, at });
    return told.sessions.map((entry) => {
      const copy = Session.attach(entry.session_id, { client: this.client });
      copy._isOurs = true;
      return copy;
    });
  }

  /** Runs a cell that can be kept or dropped, with all that it did. */
  async try(code, { timeout } = {}) {
    const told = await this.client.sessionTry({
      session_id: await this._started(), code, budget: OUTPUT_BYTES, images: "inline", html: true,
      timeout_ms: timeout === undefined ? undefined : Math.round(timeout * 1000) });
    return new Try(this, await this._result(told));
  }

  // What there is.

  async info() {
    return this.client.sessionGet({ session_id: await this._started() });
  }

  /** The names that the code has made, with types and short values. */
  async names() {
    const told = await this.client.sessionNames({ session_id: await this._started() });
    return Object.fromEntries(told.items.map((entry) => [entry.name, entry]));
  }

  /** The session's notebook: ipynb, html, markdown, script or cells-json. */
  async export(format = "ipynb") {
    return this.client.notebookExport({ session_id: await this._started(), format });
  }

  /** Saves it and ends its processes; the next cell brings it back. */
  async suspend() {
    return this.client.sessionSuspend({ session_id: await this._started() });
  }
}

if (Symbol.asyncDispose) {
  Session.prototype[Symbol.asyncDispose] = Session.prototype.close;
}

/** A point in a session's past. */
export class Checkpoint {
  constructor(session, told) {
    this.session = session;
    this.told = told;
    this.number = told.id;
  }

  restore() {
    return this.session.undo(this.number);
  }

  branch() {
    return this.session.branch(this.number);
  }
}

/** A cell that was tried: `result` is what it gave. */
export class Try {
  constructor(session, result) {
    this.session = session;
    this.result = result;
    this.number = result.told.try_id;
  }

  keep() {
    return this._end("tryCommit");
  }

  drop() {
    return this._end("tryDiscard");
  }

  async _end(method) {
    if (this.number === undefined) return undefined; // it was decided before
    const args = { session_id: this.session.id, try_id: this.number };
    this.number = undefined;
    return this.session.client[method](args);
  }
}

/** The files of a session, below /workspace. */
export class Files {
  constructor(session) {
    this._session = session;
  }

  async _call(method, args, ...more) {
    return this._session.client[method](
      { session_id: await this._session._started(), ...args }, ...more);
  }

  /** Text, bytes, a Blob, a stream or pieces; folders on the way are made. */
  put(path, data) {
    return this._call("sessionFilePut", { path }, data);
  }

  get(path) {
    return this._call("sessionFileGet", { path });
  }

  async readText(path) {
    return new TextDecoder().decode(await this.get(path));
  }

  /** All of it, page by page. */
  async list(path, { recursive = false, pattern } = {}) {
    const found = [];
    let after;
    do {
      const told = await this._call("sessionFileList",
        { path: path || undefined, recursive, pattern, after, limit: 1000 });
      found.push(...told.entries);
      after = told.next;
    } while (after !== undefined);
    return found;
  }

  stat(path) {
    return this._call("sessionFileStat", { path });
  }

  delete(path, { recursive = false } = {}) {
    return this._call("sessionFileDelete", { path, recursive: recursive || undefined });
  }

  mkdir(path) {
    return this._call("sessionFileMkdir", { path });
  }

  move(path, to, { replace = false } = {}) {
    return this._call("sessionFileMove", { path, to, replace });
  }

  copy(path, to, { replace = false } = {}) {
    return this._call("sessionFileCopy", { path, to, replace });
  }
}

/** One result of two answers to the same cell: each tells what the other did not. */
function joined(before, after) {
  const told = { ...after.told };
  if (before.stdout) told.stdout = before.stdout + after.stdout;
  if (before.stderr) told.stderr = before.stderr + after.stderr;
  return new Result(told, after.value, [...before.outputs, ...after.outputs]);
}
