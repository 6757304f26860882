/* The session: takes frames, answers them. */
'use strict';

const cells = load('cells');
const evaluator = load('evaluator');
const failures = load('failures');
const globals = load('globals');
const streams = load('streams');
const text = load('text');

const { addon } = host;

function send(frame) {
  addon.send(JSON.stringify(frame));
}

function done(cell, verdict) {
  send({ ev: 'done', id: cell.id, ...verdict });
}

function setup(frame) {
  try {
    if (frame.cwd !== null && frame.cwd !== undefined) {
      host.mkdir(frame.cwd, { recursive: true });
      Reflect.apply(host.chdir, host.process, [frame.cwd]);
    }
  } catch (error) {
    send({ ev: 'fatal', message: text.clean(`cannot use ${frame.cwd} as cwd: ${error.message}`) });
    addon.exit(1);
  }
  for (const [name, value] of Object.entries(frame.env ?? {})) host.env[name] = value;
  send({ ev: 'set' });
}

const OPERATIONS = {
  __proto__: null,
  exec: (frame) => cells.run(frame.id, frame.code, done),
  setup,
};

function onFrame(payload) {
  const frame = JSON.parse(payload);
  OPERATIONS[frame.op]?.(frame);
}

function start(fd) {
  try {
    evaluator.start();
    globals.install();
    streams.install();
    failures.install(cells.fail);
    if (!addon.start(fd, onFrame, cells.interrupt)) {
      throw new Error('this Node.js does not let itself be interrupted');
    }
    const wrap = host.asyncWrap;
    if (wrap) addon.relax(wrap.async_hook_fields, wrap.constants.kCheck);
  } catch (error) {
    send({ ev: 'fatal', message: text.clean(`the session could not start: ${error.message}`) });
    addon.exit(1);
  }
  send({ ev: 'ready' });
}

Object.assign(exports, { start });
