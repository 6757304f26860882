// The client: every operation of the daemon as a method, answers as objects. What carries the
// requests is the platform's: node.js has sockets, a browser has fetch.

import { ApiError, CellaError, ConnectionLost } from "./errors.js";
import { Operations } from "./operations.js";

const ANSWER_MS = 120_000; // without a byte, of calls that run no code
const CODE_MS = 86_460_000; // a cell may run for a day; one that names a time has two minutes more
const EVENT_MAX = 64 * 1024 * 1024;

/** What differs between Node.js and browsers; node.js sets its own. */
export const platform = {
  /** (options) => carrier: { request(request), upgrade(request), close() } */
  open: (options) => new FetchCarrier(options),
};

/** Where the arguments of a call go: path, query, body. What is undefined or null is not sent. */
export function plan(op, args) {
  const left = Object.fromEntries(
    Object.entries(args ?? {}).filter(([, value]) => value !== undefined && value !== null));
  let path = op.path.replace(/\{(\w+)\}/g, (_, name) => {
    if (!(name in left)) throw new CellaError(`${op.name} needs ${name}`, "", "invalid");
    const text = String(left[name]);
    delete left[name];
    const isTail = op.flags.includes("has_tail") && op.path.endsWith(`{${name}}`);
    return isTail ? text.split("/").map(encodeURIComponent).join("/") : encodeURIComponent(text);
  });
  const query = new URLSearchParams();
  for (const name of op.query) {
    if (name in left) query.set(name, String(left[name]));
    delete left[name];
  }
  if (query.size ?? String(query)) path += `?${query}`;
  const hasBody = !["GET", "DELETE"].includes(op.method) && !op.flags.includes("takes_bytes");
  return { method: op.method, path, body: hasBody ? left : undefined };
}

/** Events of a call as they come, the last of which is "result". Leaving early ends the call. */
export class Events {
  constructor(open) {
    this._events = this._read(open);
  }

  async *_read(open) {
    const answer = await open();
    const decoder = new TextDecoder();
    let rest = "";
    try {
      for await (const piece of answer.body) {
        rest += decoder.decode(piece, { stream: true });
        if (rest.length > EVENT_MAX) throw new ConnectionLost("an event is too long");
        for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
          const event = readEvent(rest.slice(0, end));
          rest = rest.slice(end + 2);
          if (!event) continue;
          if (event.name === "error") throw new ApiError(200, event.data);
          yield event;
          if (event.name === "result") return;
        }
      }
    } finally {
      answer.close();
    }
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  next() {
    return this._events.next();
  }

  return(value) {
    return this._events.return(value);
  }
}

function readEvent(block) {
  let name = "message";
  const data = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    const field = line.slice(0, colon);
    const value = line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") name = value;
    else if (field === "data") data.push(value);
  }
  return data.length ? { name, data: JSON.parse(data.join("\n")) } : undefined;
}

async function collect(body) {
  const pieces = [];
  let size = 0;
  for await (const piece of body) {
    pieces.push(piece);
    size += piece.length;
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/**
 * Speaks with a daemon: with `url` and `key` the one there; in Node.js without them the one of this
 * user, which is started if none runs.
 */
export class Client extends Operations {
  constructor(options = {}) {
    super();
    this.agent = options.agent;
    this.timeoutMs = options.timeoutMs ?? ANSWER_MS;
    this._carrier = platform.open(options);
  }

  /** Closes the connections; sessions go on. */
  close() {
    this._carrier.close();
  }

  // What the methods of the operations are made of.

  async _json(op, args, data, options) {
    if (!op.flags.includes("takes_bytes")) [data, options] = [undefined, data];
    const answer = await this._send(op, args, { ...options, data });
    return JSON.parse(new TextDecoder().decode(await collect(answer.body)));
  }

  async _text(op, args, options) {
    const answer = await this._send(op, { ...args, format: "text" },
      { ...options, accept: "text/plain" });
    return new TextDecoder().decode(await collect(answer.body));
  }

  async _bytes(op, args, options) {
    return collect((await this._send(op, args, options)).body);
  }

  _events(op, args, options) {
    return new Events(() => this._send(op, args, { ...options, accept: "text/event-stream" }));
  }

  _socket(op, args, options) {
    const { method, path } = plan(op, args);
    return this._carrier.upgrade({ method, path, headers: this._headers(options) });
  }

  async _tunnel(op, args, options = {}) {
    const { path } = plan(op, args);
    const behind = options.path ?? "";
    const answer = await this._carrier.request({
      method: options.method ?? "GET",
      path: path + (behind === "" || behind.startsWith("/") ? behind : `/${behind}`),
      headers: { ...this._headers(options), ...options.headers },
      body: options.data,
      signal: options.signal,
      timeoutMs: this.timeoutMs,
    });
    return { status: answer.status, headers: answer.headers, body: await collect(answer.body) };
  }

  _headers(options) {
    const headers = {};
    if (options?.accept) headers.Accept = options.accept;
    if (this.agent) headers["Cella-Agent"] = this.agent;
    return headers;
  }

  /** The answer of an operation once its head is there; throws ApiError if it is refused. */
  async _send(op, args, options = {}) {
    const { method, path, body } = plan(op, args);
    const headers = this._headers(options);
    let sent = options.data;
    if (body !== undefined) {
      sent = JSON.stringify(body);
      headers["Content-Type"] = "application/json";
    }
    const answer = await this._carrier.request({
      method, path, headers, body: sent, signal: options.signal,
      timeoutMs: this._waitMs(op, args),
      mayRepeat: method === "GET" && op.flags.includes("read_only"),
    });
    if (answer.status < 400) return answer;
    let told;
    try {
      told = JSON.parse(new TextDecoder().decode(await collect(answer.body)));
    } catch {
      told = {};
    }
    throw new ApiError(answer.status, told);
  }

  _waitMs(op, args) {
    if (!op.flags.includes("runs_code") && !op.flags.includes("streams")) return this.timeoutMs;
    return args?.timeout_ms ? Math.min(args.timeout_ms + this.timeoutMs, CODE_MS) : CODE_MS;
  }
}

/** Requests by fetch, as browsers have it. */
export class FetchCarrier {
  constructor({ url, key }) {
    if (!url) throw new CellaError("a browser needs the URL of the daemon",
      "new Client({url: 'http://HOST:PORT', key: '…'})", "invalid");
    this.url = url.replace(/\/+$/, "");
    this.key = key;
  }

  async request({ method, path, headers, body, signal, timeoutMs }) {
    const given = { ...headers };
    if (this.key) given.Authorization = `Bearer ${this.key}`;
    const gate = new AbortController();
    const timer = setTimeout(() => gate.abort(new ConnectionLost(
      `the daemon said nothing for ${timeoutMs / 1000} seconds`)), timeoutMs);
    const leave = () => gate.abort(signal.reason);
    if (signal?.aborted) leave();
    signal?.addEventListener("abort", leave);
    try {
      const streams = body instanceof ReadableStream ? { duplex: "half" } : {};
      const answer = await fetch(this.url + path,
        { method, headers: given, body, signal: gate.signal, ...streams });
      return {
        status: answer.status,
        headers: Object.fromEntries(answer.headers),
        body: readAll(answer.body),
        close: () => gate.abort(),
      };
    } catch (error) {
      if (error instanceof TypeError)
        throw new ConnectionLost(`no daemon answers at ${this.url}: ${error.message}`);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  upgrade() {
    throw new CellaError("a browser cannot send a key with a WebSocket",
      "open terminals from Node.js, or through a proxy that adds the key", "unsupported");
  }

  close() {}
}

async function* readAll(stream) {
  const reader = stream?.getReader();
  if (!reader) return;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.releaseLock();
  }
}
