/* stdout and stderr. Each cell has its own pair of pipes; what outlives its cell goes on writing to
   them. Which cell some code belongs to, timers and servers included, is what Node.js keeps for us
   in an AsyncLocalStorage.

   Writes go straight to the descriptor: a stream of Node.js that an interrupt tears apart in the
   middle of a write would keep silent ever after. */
'use strict';

const hidden = load('hidden');

const { addon, nextTick, bufferFrom, isUint8Array } = host;

const MAX_OLD_CELLS = 32;
const apply = Reflect.apply;
const local = host.newLocalStorage();
const writableWrite = host.Writable.prototype.write;

/* The pipes of a cell that is over are closed when nothing can write to them any more. */
const unreachable = new FinalizationRegistry(closePipes);
let oldPipes = [];
let newest = null;
let isMuted = false;

function closePipes(pipes) {
  if (!pipes.isOpen) return;
  pipes.isOpen = false;
  addon.close(pipes.out);
  addon.close(pipes.err);
}

function beginCell(id) {
  const [out, err, mayRun] = addon.beginCell();
  newest = { id, mayRun, pipes: { out, err, isOpen: true }, isOver: false };
  return newest;
}

/* A cell whose output goes nowhere. */
function mute() {
  newest = { id: 0, pipes: { out: -1, err: -1, isOpen: false }, isOver: false };
  isMuted = true;
  return newest;
}

function unmute() {
  newest = null;
  isMuted = false;
}

/* Without anything that could call back, no code of earlier cells will run by itself. */
function endCell(cell) {
  cell.isOver = true;
  const { pipes } = cell;
  if (apply(host.activeResources, host.process, []).length === 0) {
    closePipes(pipes);
    for (const old of oldPipes) closePipes(old);
    oldPipes = [];
    return;
  }
  unreachable.register(cell, pipes);
  oldPipes = oldPipes.filter((old) => old.isOpen);
  oldPipes.push(pipes);
  if (oldPipes.length > MAX_OLD_CELLS) closePipes(oldPipes.shift());
}

function runAs(cell, call) {
  return local.run(cell, call);
}

/* The cell that the running code belongs to. */
function currentCell() {
  return local.getStore() ?? newest;
}

function descriptorOf(number) {
  if (isMuted) return -1;
  const cell = currentCell();
  if (cell === newest || cell === null || !cell.pipes.isOpen) return number;
  return number === 1 ? cell.pipes.out : cell.pipes.err;
}

/* To the stdout of whoever runs, whatever became of process.stdout. */
function print(message) {
  addon.write(descriptorOf(1), message);
}

/* To the stderr of a cell, likewise. */
function complain(cell, message) {
  addon.write(cell === newest || !cell.pipes.isOpen ? 2 : cell.pipes.err, message);
}

class Output extends host.Writable {
  constructor(number) {
    super({ decodeStrings: false });
    this.fd = number;
    this._type = 'pipe';
    this._isStdio = true;
  }

  write(chunk, encoding, callback) {
    return writeTo(this, chunk, encoding, callback);
  }

  end(chunk, encoding, callback) {
    const whenDone = [chunk, encoding, callback].find((given) => typeof given === 'function');
    if (whenDone !== undefined) nextTick(whenDone);
    if (chunk != null && chunk !== whenDone) {
      this.write(chunk, encoding === whenDone ? undefined : encoding);
    }
    nextTick(() => this.emit('finish'));
    return this;
  }

  destroy() {
    return this;
  }

  destroySoon() {
    return this;
  }
}

function writeTo(stream, chunk, encoding, callback) {
  if (typeof encoding === 'function') {
    callback = encoding;
    encoding = undefined;
  }
  let data = chunk;
  if (typeof chunk === 'string') {
    if (encoding && encoding !== 'utf8' && encoding !== 'utf-8') data = bufferFrom(chunk, encoding);
  } else if (!isUint8Array(chunk)) {
    return apply(writableWrite, stream, [chunk]); // which says what is wrong with it
  }
  const rc = addon.write(descriptorOf(stream.fd), data);
  if (typeof callback === 'function') nextTick(callback, rc < 0 ? host.errnoError(rc) : null);
  return true;
}

function install() {
  hidden.hide(host.promiseSymbols(local));
  for (const [name, number] of [['stdout', 1], ['stderr', 2]]) {
    const stream = new Output(number);
    Object.defineProperty(host.process, name, {
      configurable: true, enumerable: true, get: () => stream,
    });
  }
}

Object.assign(exports, {
  beginCell, endCell, mute, unmute, runAs, currentCell, descriptorOf, print, complain, install,
});
