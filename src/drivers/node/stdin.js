/* process.stdin: who reads it, by itself or through readline, makes the cell ask its caller for a
   line. The cell is not over until the caller has answered.

   A stream reads ahead, so its wish alone is no question: after an answer to rl.question() nobody
   may be waiting for more. A question is one of: rl.question() or rl.prompt(); a listener for lines
   or data; an iteration. It is put when the event loop has come round and somebody still waits. */
'use strict';

const streams = load('streams');
const text = load('text');

const apply = Reflect.apply;
const { Readable } = host;
const MAX_PROMPT_CHARS = 1000; // 4 KiB of UTF-8

let ask = null; // (cell, prompt): sends the question
let isRunning = null; // (cell): may it still ask?
let stdin = null; // the stream of now
let asking = null; // the cell whose question is not answered
let wish = null; // {cell, prompt}, until the loop has come round
let prompter = null; // the readline interface that asked last
let readers = []; // readline interfaces that have listeners for lines

class Input extends Readable {
  constructor() {
    super({ highWaterMark: 0 });
    this.fd = 0;
    this.isTTY = undefined;
  }

  _read() {
    want(this, '');
  }

  on(event, listener) {
    const result = super.on(event, listener);
    if (event === 'readable' || (event === 'data' && !isReadlines(listener))) want(this, '');
    return result;
  }

  addListener(event, listener) {
    return this.on(event, listener);
  }

  resume() {
    const result = super.resume();
    want(this, '');
    return result;
  }

  setRawMode() {
    return this;
  }

  ref() {
    return this;
  }

  unref() {
    return this;
  }
}

/* readline always listens, whether or not anybody waits for a line. */
function isReadlines(listener) {
  return String(listener).includes('[kNormalWrite]');
}

function isReading(reader) {
  return !reader.closed && !reader.paused && reader.listenerCount('line') > 0;
}

function isWanted(stream) {
  if (stream.listenerCount('readable') > 0) return true;
  if (stream.readableFlowing === false) return false;
  readers = readers.filter((reader) => !reader.closed);
  if (readers.some((reader) => reader.input === stream && isReading(reader))) return true;
  return stream.listeners('data').some((listener) => !isReadlines(listener));
}

function want(stream, prompt) {
  const cell = streams.currentCell();
  if (cell === null || !isRunning(cell) || asking === cell || stream !== stdin) return;
  if (wish !== null && wish.cell === cell) {
    if (prompt !== '') wish.prompt = prompt;
    return;
  }
  wish = { cell, prompt };
  cell.questions++;
  host.setImmediate(putQuestion, stream, wish);
}

function putQuestion(stream, mine) {
  if (wish !== mine) return;
  wish = null;
  const { cell, prompt } = mine;
  if (!isRunning(cell)) return;
  if (prompt === '' && !isWanted(stream)) {
    drop(cell);
    return;
  }
  asking = cell;
  ask(cell, text.clean(prompt.slice(0, MAX_PROMPT_CHARS)));
}

let drop = null; // (cell): one question less

/* {text} or {eof: true} */
function answer(frame) {
  const cell = asking;
  if (cell === null || cell.id !== frame.id) return;
  asking = null;
  streams.runAs(cell, () => {
    if (frame.eof) stdin.push(null);
    else stdin.push(`${frame.text}\n`);
  });
  host.setImmediate(drop, cell);
}

/* A question that stays open would swallow the answer to the next one. */
function forget(cell) {
  if (asking === cell) {
    asking = null;
    if (prompter !== null && host.questionSymbol) prompter[host.questionSymbol] = null;
  }
  if (wish !== null && wish.cell === cell) wish = null;
}

/* readline writes its prompt; here it belongs to the question. */
function prompt(original, self, preserveCursor) {
  if (self.input !== stdin || self.terminal || !isOurs(self.output)) {
    return apply(original, self, [preserveCursor]);
  }
  prompter = self;
  if (self.paused) self.resume();
  want(stdin, self.getPrompt() || ' ');
  return undefined;
}

function listen(original, self, event, listener) {
  const result = apply(original, self, [event, listener]);
  if (event === 'line' && self.input === stdin && stdin !== null) {
    if (!readers.includes(self)) readers.push(self);
    want(stdin, '');
  }
  return result;
}

function patch(prototype, name, ours) {
  const original = prototype[name];
  const value = host.wrapMethod(name, function (...args) {
    return ours(original, this, ...args);
  });
  Object.defineProperty(prototype, name, { configurable: true, writable: true, value });
}

function patchReadline() {
  let prototype = host.readline.Interface.prototype;
  while (!Object.hasOwn(prototype, 'prompt')) prototype = Object.getPrototypeOf(prototype);
  patch(prototype, 'prompt', prompt);
  patch(prototype, 'on', listen);
  patch(prototype, 'addListener', listen);
}

function isOurs(output) {
  const { process } = host;
  return output === undefined || output === null || output === process.stdout ||
    output === process.stderr;
}

/* One that has come to its end is replaced by the next who asks for it. */
function current() {
  if (stdin === null || stdin.readableEnded || stdin.destroyed) stdin = new Input();
  return stdin;
}

function install(callbacks) {
  ({ ask, isRunning, drop } = callbacks);
  Object.defineProperty(host.process, 'stdin', {
    configurable: true, enumerable: true, get: current,
  });
  patchReadline();
}

Object.assign(exports, { install, answer, forget });
