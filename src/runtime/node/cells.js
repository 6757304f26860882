/* One cell: run, its value or failure described, its verdict made. A cell is over when its last
   value is known and everything that Node.js had to do at once is done, or when something that it
   started failed, or when it is interrupted. */
'use strict';

const errors = load('errors');
const evaluator = load('evaluator');
const globals = load('globals');
const outputs = load('outputs');
const sources = load('sources');
const streams = load('streams');

const { addon } = host;

let running = null; // the cell
let answer = null; // takes the verdict

function run(id, code, callback) {
  const cell = streams.beginCell(id);
  cell.code = code;
  cell.verdict = null;
  running = cell;
  answer = callback;
  if (!cell.mayRun) {
    interrupt();
    return;
  }
  addon.shield(false); // user code from here on
  streams.runAs(cell, () => {
    evaluator.evaluate(sources.prepare(id, code), (result) => settle(cell, result));
  });
}

/* The code has come to its end. */
function settle(cell, result) {
  if (cell !== running || cell.verdict !== null) return;
  if ('thrown' in result) {
    globals.setLast('_error', result.thrown);
    decide(cell, 'error', null, errors.describe(result.thrown, cell, result.place));
    return;
  }
  if (!('value' in result)) {
    decide(cell, 'interrupted', null, errors.INTERRUPTED);
    return;
  }
  let value = null;
  if (result.value !== undefined) {
    globals.setLast('_', result.value);
    value = outputs.valueOf(result.value);
  }
  decide(cell, 'ok', value, null);
}

/* The first verdict stays, except that what fails in the same breath is told rather than a value.
   Rejections come to light when promises have run: later than this, sooner than an immediate. */
function decide(cell, status, value, error) {
  const isFirst = cell.verdict === null;
  if (isFirst || cell.verdict.status === 'ok') cell.verdict = { status, value, error };
  if (isFirst) host.setImmediate(finish, cell);
}

function finish(cell) {
  addon.shield(true); // before anything is changed
  if (cell !== running) return;
  running = null;
  addon.endCell();
  evaluator.release();
  answer(cell, cell.verdict);
  streams.endCell(cell);
}

/* Nothing else is on the stack. */
function interrupt() {
  const cell = running;
  if (cell === null) return;
  host.asyncWrap?.clearAsyncIdStack();
  cell.verdict = { status: 'interrupted', value: null, error: errors.INTERRUPTED };
  finish(cell);
}

/* Something of a cell's failed outside of its own course. */
function fail(thrown) {
  const cell = streams.currentCell();
  if (cell === null) return;
  if (cell !== running || (cell.verdict !== null && cell.verdict.status !== 'ok')) {
    streams.complain(cell, `Uncaught ${errors.traceback(thrown).replace(/^Uncaught /, '')}`);
    return;
  }
  globals.setLast('_error', thrown);
  decide(cell, 'error', null, errors.describe(thrown, cell, null));
}

Object.assign(exports, { run, interrupt, fail });
