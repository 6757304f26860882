/* What was thrown, as the user should see it: the stack of the user's code, no frame of the
   driver's, everything bounded. */
'use strict';

const text = load('text');

const MAX_MESSAGE_CHARS = 16 << 10;
const MAX_TRACEBACK_CHARS = 64 << 10;
const CELL = /<cell:(\d+)>/g;
const FRAME = /^ {4,}at /;
const BRACE = / \{$/; // after the last frame: properties of the error follow

/* Frames of the driver's. */
function isOurs(line) {
  return line.includes(host.here);
}

/* Frames of Node.js. Above the user's they tell what was called, below them nothing. */
function isInternal(line) {
  return /[( ]node:|\(<anonymous>\)/.test(line);
}

/* Leaves out what is not the user's, stack by stack: causes and aggregates bring their own. */
function filterStack(shown) {
  const lines = [];
  let stack = [];
  for (const line of shown.split('\n')) {
    if (FRAME.test(line)) {
      stack.push(line);
      continue;
    }
    endStack(lines, stack);
    stack = [];
    lines.push(line);
  }
  endStack(lines, stack);
  return lines.join('\n').replace(CELL, '<cell $1>');
}

function endStack(lines, stack) {
  if (stack.length === 0) return;
  const last = stack.findLastIndex((line) => !isOurs(line) && !isInternal(line));
  const below = last >= 0 ? last + 1 : stack.findIndex(isOurs);
  const frames = below >= 0 ? stack.slice(0, below) : stack;
  lines.push(...frames.filter((line) => !isOurs(line)));
  if (BRACE.test(stack.at(-1)) && !BRACE.test(lines.at(-1))) lines[lines.length - 1] += ' {';
}

function inspectThrown(thrown) {
  try {
    return String(host.inspect(thrown, host.inspectDefaults));
  } catch {
    return field(thrown, 'stack', 'an error that cannot be shown');
  }
}

function field(thrown, name, otherwise) {
  try {
    const value = thrown[name];
    return typeof value === 'string' ? value : otherwise;
  } catch {
    return otherwise;
  }
}

function traceback(thrown) {
  const shown = filterStack(inspectThrown(thrown));
  const prefix = host.isError(thrown) ? '' : 'Uncaught ';
  return text.clean(text.bound(prefix + shown, MAX_TRACEBACK_CHARS)) + '\n';
}

/* The line and column of the innermost frame in a cell. */
function placeIn(id, trace) {
  const match = new RegExp(`<cell ${id}>:(\\d+):(\\d+)`).exec(trace);
  return match === null ? null : { line: Number(match[1]), column: Number(match[2]) };
}

/* The end of the code, where that is incomplete: what follows it is not the user's. */
function clamp(place, code) {
  const lines = code.split('\n');
  if (place.line <= lines.length) return place;
  return { line: lines.length, column: lines.at(-1).length + 1 };
}

function arrow(id, code, place) {
  const line = code.split('\n')[place.line - 1];
  if (line.length > 200) return `<cell ${id}>:${place.line}\n`;
  return `<cell ${id}>:${place.line}\n${line}\n${' '.repeat(place.column - 1)}^\n\n`;
}

/* The `error` member of a verdict. `place` is where the code could not be compiled, or null. */
function describe(thrown, cell, place) {
  const isError = host.isError(thrown);
  const name = isError ? field(thrown, 'name', 'Error') : 'Uncaught';
  const message = isError ? field(thrown, 'message', '') : inspectThrown(thrown);
  let trace = traceback(thrown);
  let where = placeIn(cell.id, trace);
  if (where === null && name === 'SyntaxError' && place !== null) {
    where = clamp(place, cell.code);
    trace = text.clean(arrow(cell.id, cell.code, where)) + trace;
  }
  const error = {
    name: text.clean(text.bound(name, 200)),
    message: text.clean(text.bound(message, MAX_MESSAGE_CHARS)),
    traceback: trace,
  };
  return where === null ? error : { ...error, line: where.line, column: where.column };
}

const INTERRUPTED = {
  name: 'Interrupted',
  message: 'the cell was interrupted',
  traceback: 'Interrupted: the cell was interrupted\n',
};

Object.assign(exports, { describe, traceback, INTERRUPTED });
