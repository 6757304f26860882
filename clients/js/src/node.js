// Requests from Node.js: over the UNIX socket of this user's daemon, which is started if none runs,
// or to a URL.

import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { accessSync, closeSync, constants, existsSync, openSync, readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";

import { platform } from "./client.js";
import { ApiError, CellaError, ConnectionLost, NoDaemon } from "./errors.js";
import { WebSocket } from "./websocket.js";

const SOCKET_PATH_MAX = 100; // of the kernel's 108 bytes
const START_MS = 180_000;
const KEPT_CONNECTIONS = 8;

/** The data directory, by the rules of the command line. */
export function dataDir(given) {
  const asked = given ?? process.env.CELLA_DATA;
  if (asked) return resolve(asked);
  const state = process.env.XDG_STATE_HOME ?? "";
  if (isAbsolute(state)) return join(state, "cella");
  return process.geteuid() === 0 ? "/var/lib/cella" : join(homedir(), ".local/state/cella");
}

/** The program `cella`: beside this package, or on PATH. */
export function findProgram() {
  const bundled = fileURLToPath(new URL("../bin/cella", import.meta.url));
  const places = (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, "cella"));
  return [bundled, ...places].find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** One daemon at a time is started, however many calls want it. */
let starting;

function startDaemon(data, program) {
  starting ??= new Promise((done, failed) => {
    const path = program ?? findProgram();
    if (!path) {
      failed(new NoDaemon(`no daemon runs on ${data}, and there is no program cella here`,
        "install it, or give url and key"));
      return;
    }
    execFile(path, ["call", "health", "--data", data], { timeout: START_MS }, (error, _, told) => {
      if (error) failed(new NoDaemon(
        `the daemon could not be started: ${told.trim() || error.message}`, `try: ${path} doctor`));
      else done();
    });
  }).finally(() => {
    starting = undefined;
  });
  return starting;
}

class NodeCarrier {
  constructor({ url, key, data, program, start = true }) {
    this.data = dataDir(data);
    this.program = program;
    const address = url ?? (data ? undefined : process.env.CELLA_URL || undefined);
    this.mayStart = start && !address;
    this.url = address && parse(address);
    this.module = this.url?.protocol === "https:" ? https : http;
    this.agent = new this.module.Agent({ keepAlive: true, maxFreeSockets: KEPT_CONNECTIONS });
    if (this.url) this.key = key ?? process.env.CELLA_KEY ?? keyFile(this.data);
  }

  async request(request) {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.once(request);
      } catch (error) {
        const isAbsent = ["ENOENT", "ECONNREFUSED"].includes(error.code);
        const isStale = error.isReused && request.mayRepeat;
        if (attempt > 0 || (!(isAbsent && this.mayStart) && !isStale)) throw this.explain(error);
        if (isAbsent) await startDaemon(this.data, this.program);
      }
    }
  }

  once({ method, path, headers, body, signal, timeoutMs }) {
    return new Promise((done, failed) => {
      const sent = this.begin(method, path, headers, signal);
      sent.setTimeout(timeoutMs, () => sent.destroy(
        new ConnectionLost(`the daemon said nothing for ${timeoutMs / 1000} seconds`)));
      let hasAnswer = false;
      sent.once("response", (answer) => {
        hasAnswer = true;
        done({
          status: answer.statusCode, headers: answer.headers, body: pieces(answer, this, signal),
          close: () => sent.destroy(),
        });
      });
      sent.on("error", (error) => {
        // The daemon may have refused before it had all of a body: then its answer counts.
        if (!hasAnswer) failed(Object.assign(error, { isReused: sent.reusedSocket }));
      });
      write(sent, method, body).catch((error) => sent.destroy(error));
    });
  }

  begin(method, path, headers, signal) {
    const given = { ...headers };
    if (this.key) given.Authorization = `Bearer ${this.key}`;
    if (this.url) {
      return this.module.request(new URL(this.url.pathname.replace(/\/$/, "") + path, this.url),
        { method, headers: given, agent: this.agent, signal });
    }
    const place = socketPath(this.data);
    const sent = http.request({
      socketPath: place.path, method, path, agent: this.agent, signal,
      headers: { Host: "localhost", ...given },
    });
    if (place.folder !== undefined) sent.once("close", () => closeSync(place.folder));
    return sent;
  }

  async upgrade(request) {
    if (this.mayStart) await this.request({ method: "GET", path: "/health", headers: {},
      timeoutMs: START_MS, mayRepeat: true }).then(drain);
    const key = randomBytes(16).toString("base64");
    const expected = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest("base64");
    return new Promise((done, failed) => {
      const sent = this.begin(request.method, request.path, {
        ...request.headers, Upgrade: "websocket", Connection: "Upgrade",
        "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key,
      });
      sent.once("upgrade", (answer, socket, head) => {
        if (answer.headers["sec-websocket-accept"] === expected)
          done(new WebSocket(socket, head));
        else failed(new ConnectionLost("the daemon did not open a WebSocket"));
      });
      sent.once("response", async (answer) => {
        let text = "";
        for await (const piece of answer) text += piece;
        failed(new ApiError(answer.statusCode, parseJson(text)));
      });
      sent.once("error", (error) => failed(this.explain(error)));
      sent.end();
    });
  }

  explain(error) {
    if (error instanceof CellaError || error.name === "AbortError") return error;
    const where = this.url?.origin ?? join(this.data, "cella.sock");
    if (error.code === "EACCES" || error.code === "EPERM")
      return new NoDaemon(`the daemon at ${where} is another user's`,
        "use a data directory of your own, or url and key");
    if (["ENOENT", "ECONNREFUSED", "ENOTFOUND", "EHOSTUNREACH"].includes(error.code))
      return new NoDaemon(`no daemon answers at ${where}: ${error.message}`,
        "start one there with: cella serve");
    return new ConnectionLost(`the connection to ${where} broke: ${error.message}`);
  }

  close() {
    this.agent.destroy();
  }
}

function parse(address) {
  let url;
  try {
    url = new URL(address);
  } catch {
    url = undefined;
  }
  if (!url || !["http:", "https:"].includes(url.protocol))
    throw new CellaError(`'${address}' is not the address of a daemon`, "write http://HOST:PORT",
      "invalid");
  return url;
}

function keyFile(data) {
  const path = join(data, "key");
  try {
    return existsSync(path) ? readFileSync(path, "utf8").trim() : undefined;
  } catch {
    return undefined; // another user's: the daemon will say that it wants a key
  }
}

/** A path to connect to: that of a data directory may be longer than a socket's address. */
function socketPath(data) {
  const path = join(data, "cella.sock");
  if (Buffer.byteLength(path) <= SOCKET_PATH_MAX || !existsSync(data)) return { path };
  const folder = openSync(data, constants.O_RDONLY | constants.O_DIRECTORY);
  return { path: `/proc/self/fd/${folder}/cella.sock`, folder };
}

async function write(sent, method, body) {
  if (body === undefined || body === null) {
    if (!["GET", "HEAD", "DELETE"].includes(method)) sent.setHeader("Content-Length", 0);
    sent.end();
  } else if (typeof body === "string" || ArrayBuffer.isView(body)) {
    const bytes = typeof body === "string" ? Buffer.from(body)
      : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    sent.setHeader("Content-Length", bytes.length);
    sent.end(bytes);
  } else if (body instanceof ArrayBuffer) {
    await write(sent, method, new Uint8Array(body));
  } else if (body instanceof Blob) {
    await write(sent, method, new Uint8Array(await body.arrayBuffer()));
  } else {
    Readable.from(body).on("error", (error) => sent.destroy(error)).pipe(sent);
  }
}

async function* pieces(answer, carrier, signal) {
  try {
    for await (const piece of answer) yield piece;
    if (!answer.complete) throw new ConnectionLost("the answer broke off");
  } catch (error) {
    throw signal?.aborted ? signal.reason : carrier.explain(error);
  }
}

async function drain(answer) {
  for await (const piece of answer.body) void piece;
}

function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

platform.open = (options) => new NodeCarrier(options);
