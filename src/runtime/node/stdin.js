/* process.stdin: who reads it, by itself or through readline, makes the cell ask its caller for a
   line. The cell is not over until the caller has answered.

   A stream reads ahead, so its wish alone is no question: after an answer to rl.question() nobody
   may be waiting for more. A question is one of: rl.question() or rl.prompt(); a listener for lines
   or data; a call of read(). It is put when the event loop has come round and the wish is still
   there. */
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
    if (event === 'data' || event === 'readable') want(this, '');
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

/* Does anybody listen? readline always reads; but a line that nobody asked for is nobody's wish. */
function isWanted(stream) {
  if (stream.readableFlowing === false) return false;
  if (prompter !== null && prompter.input === stream && !prompter.closed) {
    return prompter.listenerCount('line') > 0;
  }
  return stream.listenerCount('data') + stream.listenerCount('readable') > 0;
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

function forget(cell) {
  if (asking === cell) asking = null;
  if (wish !== null && wish.cell === cell) wish = null;
}

/* readline writes its prompt; here it belongs to the question. */
function patchReadline() {
  let prototype = host.readline.Interface.prototype;
  while (!Object.hasOwn(prototype, 'prompt')) prototype = Object.getPrototypeOf(prototype);
  const original = prototype.prompt;

  function prompt(preserveCursor) {
    if (this.input !== stdin || this.terminal || !isOurs(this.output)) {
      return apply(original, this, [preserveCursor]);
    }
    prompter = this;
    if (this.paused) this.resume();
    want(stdin, this.getPrompt() || ' ');
    return undefined;
  }

  Object.defineProperty(prototype, 'prompt', {
    configurable: true, writable: true, value: host.wrapMethod('prompt', prompt),
  });
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
