/* The session: takes frames, answers them.

     ready -> setup -> exec … done -> exec … done -> …

   While a cell runs, it may send display frames, each of which waits for its acknowledgement, and a
   question for input, whose answer arrives like any frame. */
'use strict';

const cells = load('cells');
const children = load('children');
const completeness = load('completeness');
const completion = load('completion');
const displays = load('displays');
const evaluator = load('evaluator');
const exits = load('exits');
const exploring = load('exploring');
const failures = load('failures');
const globals = load('globals');
const names = load('names');
const overview = load('overview');
const restoring = load('restore');
const saving = load('save');
const signals = load('signals');
const sources = load('sources');
const stdin = load('stdin');
const streams = load('streams');
const text = load('text');

const { addon } = host;
const apply = Reflect.apply;
const DEFAULT_NAMES = 1000;

let backlog = []; // frames that came while a display waited for its acknowledgement

function send(frame) {
  addon.send(JSON.stringify(frame));
}

function fatal(message) {
  send({ ev: 'fatal', message: text.clean(message) });
  addon.exit(1);
}

/* ---- what the daemon asks ---- */

const OPERATIONS = {
  __proto__: null,
  exec,
  input: (frame) => stdin.answer(frame),
  names: (frame) => send({ ev: 'names', names: names.manifest(frame.max ?? DEFAULT_NAMES) }),
  declarations: () => send({ ev: 'declarations', ...overview.describe() }),
  is_complete: ({ code }) => send({ ev: 'is_complete', ...completeness.describe(code) }),
  complete: ({ code, cursor }) => send({ ev: 'complete', ...completion.complete(code, cursor) }),
  inspect: ({ code, cursor, detail }) =>
    send({ ev: 'inspect', ...completion.inspect(code, cursor, detail) }),
  setup,
  checkpoint,
  save: (frame) => saving.save(frame),
  load: (frame) => restoring.restore(frame, send),
};

function onFrame(payload) {
  const frame = JSON.parse(payload);
  OPERATIONS[frame.op]?.(frame);
}

function exec(frame) {
  if (frame.explore) exploring.install(call);
  cells.run(frame, done);
}

function setup({ cwd, env }) {
  try {
    if (cwd !== null && cwd !== undefined) {
      host.mkdir(cwd, { recursive: true });
      apply(host.chdir, host.process, [cwd]);
    }
  } catch (error) {
    fatal(`cannot use ${cwd} as cwd: ${error.message}`);
  }
  for (const [name, value] of Object.entries(env ?? {})) host.env[name] = value;
  saving.noteEnvironment();
  send({ ev: 'set' });
}

function checkpoint({ id }) {
  addon.close(addon.takeDescriptor());
  const reason = 'Node.js cannot be forked; its saved copy is used';
  send({ ev: 'checkpoint', id, forked: false, threads: 1, reason });
}

/* ---- what a cell says ---- */

function done(cell, verdict) {
  stdin.forget(cell);
  send({ ev: 'done', id: cell.id, ...verdict });
}

function display(cell, output) {
  send({ ev: 'display', id: cell.id, output });
  for (;;) {
    const frame = JSON.parse(addon.receive());
    if (frame.op === 'ack') return;
    keep(frame);
  }
}

/* What an operation of the daemon answers, about this session: a frame with `result` or `error`, of
   which what is made for the user is in the user's realm. A cell that is interrupted ends here. */
function call(cell, op, args) {
  const question = JSON.stringify({ ev: 'call', id: cell.id, op, args });
  addon.shield(true);
  addon.send(question);
  for (;;) {
    const payload = addon.receiveInCell();
    if (payload === undefined) {
      addon.shield(false);
      for (;;); // until V8 has noticed that the cell is to end
    }
    const frame = JSON.parse(payload);
    if (frame.op === 'result' && frame.id === cell.id) {
      if ('result' in frame) frame.result = host.parseJSON(payload).result;
      addon.shield(false);
      return frame;
    }
    keep(frame);
  }
}

function keep(frame) {
  if (backlog.push(frame) === 1) host.setImmediate(takeBacklog);
}

function takeBacklog() {
  const frames = backlog;
  backlog = [];
  for (const frame of frames) OPERATIONS[frame.op]?.(frame);
}

function ask(cell, prompt) {
  send({ ev: 'input', id: cell.id, prompt: prompt === ' ' ? '' : prompt, password: false });
}

/* ---- its start ---- */

/* See interrupts.h. */
function tidyAsyncIds() {
  const wrap = host.asyncWrap;
  const { kCheck, kStackLength, kExecutionAsyncId, kTriggerAsyncId } = wrap.constants;
  const indices = Uint32Array.of(kCheck, kStackLength, kExecutionAsyncId, kTriggerAsyncId);
  addon.tidy(wrap.async_hook_fields, wrap.async_id_fields, indices);
}

function install() {
  globals.install();
  evaluator.start(sources.IMPORT);
  streams.install();
  children.install();
  displays.install(display);
  stdin.install({ ask, isRunning: cells.isRunning, drop: cells.answered });
  signals.install();
  exits.install(cells.leave);
  failures.install(cells.fail);
  names.begin();
  saving.noteEnvironment();
}

function start(fd) {
  try {
    install();
    if (!addon.start(fd, onFrame, cells.interrupt)) {
      throw new Error('this Node.js does not let itself be interrupted');
    }
    tidyAsyncIds();
    cells.warmUp(() => send({ ev: 'ready' }));
  } catch (error) {
    fatal(`the session could not start: ${error.message}`);
  }
}

Object.assign(exports, { start });
