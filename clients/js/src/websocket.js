// The client's side of a WebSocket (RFC 6455) on a socket of Node.js, which has none of its own
// that reaches a UNIX socket.

import { randomBytes } from "node:crypto";

const TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10;
const FRAME_MAX = 64 * 1024 * 1024;

/** Messages both ways: strings are text, bytes are binary. Ends when the other side closes. */
export class WebSocket {
  constructor(socket, head) {
    this._socket = socket;
    this._rest = head ?? Buffer.alloc(0);
    this._parts = [];
    this._kind = 0;
    this._isClosed = false;
  }

  send(message) {
    const isText = typeof message === "string";
    this._write(isText ? TEXT : BINARY, Buffer.from(message));
  }

  close() {
    if (this._isClosed) return;
    this._isClosed = true;
    this._write(CLOSE, Buffer.from([0x03, 0xe8]));
    this._socket.end();
  }

  async *[Symbol.asyncIterator]() {
    try {
      yield* this._messages();
      for await (const piece of this._socket) {
        this._rest = Buffer.concat([this._rest, piece]);
        yield* this._messages();
        if (this._isClosed) return;
      }
    } finally {
      this.close();
    }
  }

  *_messages() {
    for (let frame = this._frame(); frame; frame = this._frame()) {
      if (frame.kind === PING) this._write(PONG, frame.data);
      if (frame.kind === CLOSE) {
        this.close();
        return;
      }
      if (frame.kind >= CLOSE) continue;
      this._kind = frame.kind || this._kind;
      this._parts.push(frame.data);
      if (!frame.isLast) continue;
      const whole = Buffer.concat(this._parts);
      this._parts = [];
      yield this._kind === TEXT ? whole.toString() : new Uint8Array(whole);
    }
  }

  _frame() {
    const bytes = this._rest;
    if (bytes.length < 2) return undefined;
    let size = bytes[1] & 0x7f;
    let start = 2;
    if (size === 126) start = 4;
    if (size === 127) start = 10;
    if (bytes.length < start) return undefined;
    if (start === 4) size = bytes.readUInt16BE(2);
    if (start === 10) size = Number(bytes.readBigUInt64BE(2));
    if (size > FRAME_MAX) throw new RangeError("a message of the server is too long");
    if (bytes.length < start + size) return undefined;
    this._rest = bytes.subarray(start + size);
    return { isLast: (bytes[0] & 0x80) !== 0, kind: bytes[0] & 0x0f,
      data: bytes.subarray(start, start + size) };
  }

  _write(kind, data) {
    if (this._socket.destroyed) return;
    const mask = randomBytes(4);
    const head = data.length < 126 ? Buffer.from([0x80 | kind, 0x80 | data.length])
      : Buffer.alloc(data.length < 65536 ? 4 : 10);
    if (data.length >= 126) {
      head[0] = 0x80 | kind;
      head[1] = 0x80 | (data.length < 65536 ? 126 : 127);
      if (data.length < 65536) head.writeUInt16BE(data.length, 2);
      else head.writeBigUInt64BE(BigInt(data.length), 2);
    }
    const masked = Buffer.from(data.map((byte, at) => byte ^ mask[at % 4]));
    this._socket.write(Buffer.concat([head, mask, masked]));
  }
}
