/* One cell: run, its value or failure described, its verdict made. A cell is over when its last
   value is known and everything that Node.js had to do at once is done, or when something that it
   started failed, or when it exits or is interrupted; but not while its caller is asked for
   input. */
'use strict';

const errors = load('errors');
const evaluator = load('evaluator');
const exits = load('exits');
const globals = load('globals');
const names = load('names');
const outputs = load('outputs');
const signals = load('signals');
const sources = load('sources');
const streams = load('streams');

const { addon } = host;
const INTERRUPTED = { status: 'interrupted', value: null, error: errors.INTERRUPTED };

const WARM_CELLS = ['console.log(1)', '({ a: [1, "x"] })', 'null.x', 'await 1', '1+1'];
const WARM_ROUNDS = 25;

let running = null; // the cell
let answer = null; // takes the verdict

function run(frame, callback) {
  const cell = Object.assign(streams.beginCell(frame.id), {
    code: frame.code,
    wantedNames: frame.names,
    verdict: null,
    questions: 0, // to the caller that are not answered
    isFinishing: false,
    isStopped: false, // in the middle, and nothing of it is on the stack any more
    exitEnds: frame.exit_ends === true, // process.exit() is for the process
    exitCode: undefined, // of process.exit()
    isConcluded: false, // by conclude()
    exitCodeBefore: exits.current(),
  });
  running = cell;
  answer = callback;
  if (!cell.mayRun) {
    interrupt();
    return;
  }
  addon.shield(false); // user code from here on
  streams.runAs(cell, () => {
    evaluator.evaluate(sources.prepare(cell.id, cell.code), (result) => settle(cell, result));
  });
}

/* The code has come to its end. */
function settle(cell, result) {
  if (cell !== running || cell.verdict !== null) return;
  if ('thrown' in result) {
    globals.setLast('_error', result.thrown);
    decide(cell, 'error', null, errors.describe(result.thrown, cell, result.place));
  } else if ('value' in result) {
    decide(cell, 'ok', show(result.value), null);
  } else if (!addon.isInterrupted()) {
    decide(cell, 'interrupted', null, errors.INTERRUPTED); // by somebody else
  }
}

function show(value) {
  if (value === undefined) return null;
  globals.setLast('_', value);
  return outputs.valueOf(value);
}

/* The first verdict stays; but what fails in the same breath is told rather than a value. */
function decide(cell, status, value, error) {
  if (cell.verdict === null || cell.verdict.status === 'ok') {
    cell.verdict = { status, value, error };
  }
  finishSoon(cell);
}

/* Rejections come to light when promises have run: later than this, sooner than an immediate. */
function finishSoon(cell) {
  const { verdict } = cell;
  if (verdict === null || cell.isFinishing) return;
  if (verdict.status === 'ok' && cell.questions > 0) return;
  cell.isFinishing = true;
  host.setImmediate(finish, cell);
}

/* A cell that is to be interrupted has one way to end, which is on its way. */
function finish(cell) {
  if (cell !== running || (addon.isInterrupted() && !cell.isStopped)) return;
  const made = namesOf(cell);
  const more = exitOf(cell);
  addon.shield(true); // before anything is changed
  running = null;
  addon.endCell();
  evaluator.release();
  answer(cell, { ...cell.verdict, ...more, names: made });
  streams.endCell(cell);
  addon.shield(false); // for what goes on between cells
}

/* An interrupted cell is in a hurry; what it changed is told with the next one. */
function namesOf(cell) {
  if (cell.verdict === INTERRUPTED) return undefined;
  try {
    return names.report(cell.wantedNames);
  } catch {
    return undefined;
  }
}

/* The exit code of a cell that exited, or that said what a program would end with by itself. */
function exitOf(cell) {
  if (cell.exitCode !== undefined) {
    exits.forget(cell.exitCodeBefore);
    return { exit_code: cell.exitCode };
  }
  exits.goOn();
  const code = exits.current();
  const isNews = code !== undefined && code !== cell.exitCodeBefore;
  return isNews && cell.verdict.status === 'ok' ? { exit_code: code & 0xff } : {};
}

/* Of code that called process.exit(): is it the process that is to end? A cell that runs ends
   soon. */
function leave(code) {
  const cell = streams.currentCell();
  if (cell?.exitEnds) return true;
  if (cell === null || cell !== running) {
    exits.forget(cell?.exitCodeBefore);
    throw host.newError(`process.exit(${code}) of a cell that is over: the session goes on`);
  }
  cell.exitCode = code;
  addon.stopCell();
  return false;
}

/* The cell that runs, and calls this, has done what it was to do: nothing more of it runs. */
function conclude() {
  running.isConcluded = true;
  addon.stopCell();
  for (;;); // until V8 has noticed
}

/* Nothing else is on the stack. */
function interrupt() {
  const cell = running;
  if (cell === null) return;
  host.asyncWrap.clearAsyncIdStack();
  cell.isStopped = true;
  if (cell.exitCode !== undefined || cell.isConcluded) {
    const error = { name: 'SystemExit', message: String(cell.exitCode) };
    cell.verdict = (cell.exitCode ?? 0) === 0
      ? { status: 'ok', value: null, error: null }
      : { status: 'error', value: null, error };
    finish(cell);
    return;
  }
  cell.verdict = INTERRUPTED;
  const failed = streams.runAs(cell, signals.tellListeners);
  if (failed !== null) complain(cell, failed.error);
  finish(cell);
}

/* Something of a cell's failed outside of its own course. */
function fail(thrown) {
  const cell = streams.currentCell();
  if (cell === null) return;
  if (cell !== running || (cell.verdict !== null && cell.verdict.status !== 'ok')) {
    complain(cell, thrown);
    return;
  }
  globals.setLast('_error', thrown);
  decide(cell, 'error', null, errors.describe(thrown, cell, null));
}

function complain(cell, thrown) {
  streams.complain(cell, `Uncaught ${errors.traceback(thrown).replace(/^Uncaught /, '')}`);
}

/* One question to the caller less. */
function answered(cell) {
  cell.questions--;
  finishSoon(cell);
}

/* May it still speak to its caller? */
function isRunning(cell) {
  return cell === running;
}

/* Runs cells that nobody sees, so that the first one finds everything loaded and compiled. */
function warmUp(then, rounds = WARM_ROUNDS) {
  if (rounds === 0) {
    globals.forgetLast();
    streams.unmute();
    then();
    return;
  }
  running = { ...streams.mute(), code: '', wantedNames: 'changes', verdict: null, questions: 0 };
  const cell = running;
  const code = WARM_CELLS[rounds % WARM_CELLS.length];
  answer = (_, verdict) => {
    JSON.stringify(verdict);
    host.setImmediate(warmUp, then, rounds - 1);
  };
  streams.runAs(cell, () => {
    evaluator.evaluate(sources.prepare(0, code), (result) => settle(cell, result));
  });
}

Object.assign(exports, { run, interrupt, conclude, leave, fail, answered, isRunning, warmUp });
