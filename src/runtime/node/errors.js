/* What was thrown, as the user should see it: the stack of the user's code, no frame of the
   driver's, everything bounded. */
'use strict';

const text = load('text');

const MAX_MESSAGE_CHARS = 16 << 10;
const MAX_TRACEBACK_CHARS = 64 << 10;
const CELL = /<cell:(\d+)>/g;
const FRAME = /^ {4}at /;

/* Frames of the driver, and what of Node.js lies below the user's first frame. */
function isOurs(line) {
  return line.includes(host.here) || line.includes('node:inspector');
}

function isInternal(line) {
  return line.includes('node:internal/') || /^ {4}at new Promise \(<anonymous>\)$/.test(line);
}

function filterStack(stack) {
  const lines = [];
  for (const line of stack.split('\n')) {
    if (FRAME.test(line)) {
      if (!isOurs(line)) lines.push(line);
      continue;
    }
    dropInternalTail(lines);
    lines.push(line);
  }
  dropInternalTail(lines);
  return lines.join('\n').replace(CELL, '<cell $1>');
}

function dropInternalTail(lines) {
  while (lines.length > 0 && FRAME.test(lines.at(-1)) && isInternal(lines.at(-1))) lines.pop();
}

function inspectThrown(thrown) {
  try {
    return String(host.inspect(thrown, host.inspectDefaults));
  } catch {
    return 'an error that cannot be shown';
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
  const prefix = host.isNativeError(thrown) ? '' : 'Uncaught ';
  return text.clean(text.bound(prefix + shown, MAX_TRACEBACK_CHARS)) + '\n';
}

/* The line and column of the innermost frame in a cell. */
function placeIn(id, trace) {
  const match = new RegExp(`<cell ${id}>:(\\d+):(\\d+)`).exec(trace);
  return match === null ? null : { line: Number(match[1]), column: Number(match[2]) };
}

function arrow(id, code, place) {
  const line = code.split('\n')[place.line - 1] ?? '';
  if (line.length > 200) return `<cell ${id}>:${place.line}\n`;
  return `<cell ${id}>:${place.line}\n${line}\n${' '.repeat(place.column - 1)}^\n\n`;
}

/* The `error` member of a verdict. `place` is where the code could not be compiled, or null. */
function describe(thrown, cell, place) {
  const isError = host.isNativeError(thrown);
  const name = isError ? field(thrown, 'name', 'Error') : 'Uncaught';
  const message = isError ? field(thrown, 'message', '') : inspectThrown(thrown);
  let trace = traceback(thrown);
  let where = placeIn(cell.id, trace);
  if (where === null && name === 'SyntaxError' && place !== null) {
    where = place;
    trace = text.clean(arrow(cell.id, cell.code, place)) + trace;
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
