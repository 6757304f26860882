/* The stream of a saved state: records, each a length and JSON, some followed by a body in pieces,
   each a length and bytes, which one without bytes ends. */
'use strict';

const { addon } = host;
const apply = Reflect.apply;

const MAX_HEADER = 64 << 10;
const MAX_PIECE = 1 << 20;

class Gone extends Error {}

function write(fd, bytes) {
  if (addon.write(fd, bytes) < 0) throw new Gone('nobody reads the state');
}

/* Without a method of the user's realm: user code may have put its own there. */
function writeLength(fd, length) {
  const bytes = host.newBytes(4);
  for (let i = 0; i < 4; i++) bytes[i] = (length >>> (8 * i)) & 255;
  write(fd, bytes);
}

function put(fd, header, body) {
  const whole = body === undefined ? header : { ...header, body: true };
  const text = host.bufferFrom(JSON.stringify(whole));
  writeLength(fd, text.length);
  write(fd, text);
  if (body === undefined) return;
  for (let at = 0; at < body.length; at += MAX_PIECE) {
    const piece = apply(host.subarray, body, [at, at + MAX_PIECE]);
    writeLength(fd, piece.length);
    write(fd, piece);
  }
  writeLength(fd, 0);
}

function read(fd, length) {
  const bytes = host.bufferAlloc(length);
  if (length === 0 || addon.read(fd, bytes) === length) return bytes;
  throw new Gone('the saved state is cut short');
}

function readLength(fd, limit) {
  const length = read(fd, 4).readUInt32LE();
  if (length > limit) throw new Gone('the saved state is not one');
  return length;
}

function readBody(fd) {
  const pieces = [];
  for (;;) {
    const length = readLength(fd, MAX_PIECE);
    if (length === 0) return host.Buffer.concat(pieces);
    pieces.push(read(fd, length));
  }
}

/* {header, body} of the next. */
function take(fd) {
  const text = host.bufferToString.call(read(fd, readLength(fd, MAX_HEADER)));
  const header = JSON.parse(text);
  return { header, body: header.body ? readBody(fd) : null };
}

/* All of them, to the end. */
function takeAll(fd) {
  const records = [];
  for (;;) {
    const record = take(fd);
    if (record.header.rec === 'end') return records;
    records.push(record);
  }
}

Object.assign(exports, { put, takeAll });
