/* Functions with which the code of a cell explores what is too large to be shown: texts that the
   session holds as contexts, and files of its workspace. They ask the daemon and wait for what it
   says; nothing of a context is in this process unless it is asked for. What goes wrong comes back
   as a value, `[ERROR: …]`, so that a model sees it where it looks.

   They are globals of the user's, as `display` is. */
'use strict';

const cells = load('cells');
const names = load('names');
const streams = load('streams');
const text = load('text');

const { types } = host;
const apply = Reflect.apply;

const MAIN = 'context'; // the context that functions mean if none is named
const SPILLED = '/spill/'; // where the whole output of a cell lies whose answer was cut
const PIECE_CHARS = 200_000; // of a context that is copied
const MAX_NAMES = 100; // that getState() is given
const MAX_ARTIFACTS = 50;
const TOO_LATE = 'this was called by what outlived its cell: nobody can answer it any more';

/* name: the operation, its arguments by their places, the member of its answer that is the value
   (all of it if none is named), and arguments that are always given. */
const FUNCTIONS = {
  contextLen: ['context.get', [], 'chars', { name: MAIN }],
  peek: ['explore.peek', ['n', 'file_path', 'offset'], 'text'],
  grep: ['explore.grep', ['pattern', 'file_path', 'context_lines'], 'lines'],
  chunkContext: ['explore.chunks', ['n_chunks', 'overlap'], 'chunks'],
  listDir: ['explore.list_dir', ['path']],
  fileInfo: ['explore.file_info', ['path']],
  archiveOpen: ['explore.archive_open', ['file_path']],
  archiveFile: ['explore.archive_file', ['member', 'file_path', 'n'], 'text'],
  archiveSearch: ['explore.archive_search', ['query', 'file_path'], 'hits'],
  archiveExtract: ['explore.archive_extract', ['file_path', 'to']],
  webFetch: ['explore.web_fetch', ['url', 'max_chars'], 'text'],
  markFinding: [
    'explore.mark_finding', ['content', 'tags', 'source_file', 'source_page', 'source_section'],
    'id',
  ],
  listFindings: ['explore.list_findings', [], 'findings'],
  markAnalyzed: ['explore.mark', ['node'], 'node', { status: 'analyzed' }],
  markStale: ['explore.mark', ['node'], 'node', { status: 'stale' }],
  getUnanalyzed: ['explore.nodes', [], 'nodes', { which: 'unanalyzed' }],
  listTools: ['toolbox.list', ['name', 'category'], 'tools'],
  getLineage: ['explore.nodes', ['node'], 'nodes', { which: 'lineage' }],
  recall: ['explore.recall', ['query']],
  outcome: [
    'explore.outcome', ['outcome', 'task', 'action', 'gate_failures', 'escalations'],
  ],
};

let send = null; // (cell, operation, arguments): a frame with `result` or `error`
let archive; // the one that was opened last

/* ---- asking ---- */

function call(op, args) {
  const cell = streams.currentCell();
  if (cell === null || !cells.isRunning(cell)) throw host.newError(TOO_LATE);
  return send(cell, op, args);
}

function told({ message, advice }) {
  return advice ? `${message}. ${advice}` : message;
}

/* For what raises as a text would. */
function demand(op, args) {
  const { result, error } = call(op, args);
  if (error !== undefined) throw host.newError(told(error));
  return result;
}

/* ---- arguments ---- */

function plain(value) {
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  if (types.isRegExp(value)) return text.clean(String(value.source));
  return text.clean(String(value)); // of a list: its texts with commas between them
}

function put(args, name, value) {
  if (name === undefined) throw host.newError('there are more arguments than the function has');
  if (value !== undefined && value !== null) args[name] = plain(value);
}

function isNamed(value) {
  return names.isObject(value) && !Array.isArray(value) && !types.isRegExp(value);
}

/* By their places, and by name in an object: peek(500, { offset: 1000 }). The operations have more
   of these than there are places. */
function gather(places, given) {
  const args = {};
  given.forEach((value, index) => {
    if (!isNamed(value)) {
      put(args, places[index], value);
      return;
    }
    for (const [name, one] of Object.entries(value)) {
      put(args, name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), one);
    }
  });
  return args;
}

/* peek(path) and grep(path, pattern), as the note about a cut output says; and archives are those
   that were opened last. */
function complete(op, args, given) {
  if (op === 'explore.peek' && typeof given[0] === 'string') {
    args.file_path = args.n;
    delete args.n;
  }
  const { pattern, file_path: path } = args;
  if (pattern?.startsWith?.(SPILLED) && path && !path.startsWith(SPILLED)) {
    args.pattern = path;
    args.file_path = pattern;
  }
  if (op === 'explore.archive_open') archive = args.file_path;
  if (op.startsWith('explore.archive_')) args.file_path ??= archive;
  return args;
}

function makeFunction(op, places, member, always) {
  return (...given) => {
    const args = complete(op, { ...gather(places, given), ...always }, given);
    const { result, error } = call(op, args);
    if (error === undefined) return member === undefined ? result : result[member];
    const kind = op === 'explore.grep' && error.code === 'invalid' ? 'REGEX ERROR' : 'ERROR';
    const shown = `[${kind}: ${told(error)}]`;
    return op === 'explore.grep' ? host.arrayOf(shown) : shown;
  };
}

/* ---- the context ---- */

function chars() {
  return demand('context.get', { name: MAIN }).chars;
}

function* pieces(start, stop) {
  for (let at = start; at < stop; at += PIECE_CHARS) {
    const args = { context: MAIN, offset: at, n: Math.min(PIECE_CHARS, stop - at), quiet: true };
    yield demand('explore.peek', args).text;
  }
}

function place(given, usual, total) {
  const wanted = Math.trunc(Number(given ?? usual)) || 0;
  return Math.min(Math.max(wanted < 0 ? wanted + total : wanted, 0), total);
}

/* Of characters, as the daemon counts them: one outside of the basic plane is one. */
function slice(start, stop) {
  const total = chars();
  return [...pieces(place(start, 0, total), place(stop, total, total))].join('');
}

function includes(wanted) {
  const part = text.clean(String(wanted));
  if (part === '') return true;
  if (!part.includes('\n')) {
    const args = { context: MAIN, pattern: part, literal: true, case: true, quiet: true };
    return demand('explore.grep', { ...args, context_lines: 0, max_results: 1 }).count > 0;
  }
  let rest = ''; // what is searched for by lines has none of their ends
  for (const piece of pieces(0, chars())) {
    if ((rest + piece).includes(part)) return true;
    rest = (rest + piece).slice(1 - part.length);
  }
  return false;
}

function* lines() {
  let rest = '';
  for (const piece of pieces(0, chars())) {
    const parts = (rest + piece).split('\n');
    rest = parts.pop();
    yield* parts;
  }
  if (rest !== '') yield rest;
}

/* A text that the daemon holds: length, slice(), includes() and iteration by lines fetch what they
   need of it, String() all. */
function makeContext() {
  const context = host.parseJSON('{}');
  const define = (key, value) => Object.defineProperty(context, key, { value });
  const methods = { slice, includes, toString: () => slice() };
  for (const [name, ours] of Object.entries(methods)) define(name, host.wrapFunction(name, ours));
  define(Symbol.iterator, host.wrapFunction('lines', lines));
  const inspect = host.symbolFor('nodejs.util.inspect.custom');
  define(inspect, host.wrapFunction('inspect', () => `<${MAIN}: ${chars()} chars>`));
  return Object.defineProperty(context, 'length', { get: host.wrapFunction('length', chars) });
}

/* ---- what came of it ---- */

function shortOf(value) {
  return text.clean(typeof value === 'string' ? value : host.inspect(value)).slice(0, 200);
}

function artifacts() {
  const kept = host.global.artifacts;
  return names.isObject(kept) && !types.isProxy(kept) ? kept : {};
}

/* ---- tools ---- */

/* Arguments of a tool are values, of which JSON has a form. */
function useTool(via, name, args, whole) {
  const given = JSON.parse(JSON.stringify(args ?? {}));
  const asked = { name: text.clean(String(name)), args: given, via, whole: whole === true };
  const { result, error } = call('toolbox.call', asked);
  return error === undefined ? result.result : `[ERROR: ${told(error)}]`;
}

const toolCall = (name, args, whole) => useTool('tool_call', name, args, whole);
const llmCall = (prompt, options) => useTool('llm_call', 'llm_call', { prompt, ...options }, true);
const llmBatch = (prompts, options) =>
  useTool('llm_batch', 'llm_batch', { prompts, ...options }, true);
const TOOL = (name, args) => useTool('TOOL', name, args, false);

function CALL(json) {
  let given;
  try {
    given = JSON.parse(String(json));
  } catch {
    given = null;
  }
  if (typeof given?.name !== 'string') {
    return '[ERROR: CALL() takes JSON: {"name": "calculate", "args": {…}}]';
  }
  return useTool('CALL', given.name, given.args ?? given.arguments, false);
}

function getState() {
  const variables = names.manifest(MAX_NAMES).items
    .filter(({ name }) => name !== 'artifacts')
    .map(({ name, type, text: shown }) => ({ name, type, text: shown }));
  const kept = Object.entries(artifacts()).slice(0, MAX_ARTIFACTS)
    .map(([name, value]) => ({ name: text.clean(name.slice(0, 80)), text: shortOf(value) }));
  const { result, error } = call('explore.tell', { variables, artifacts: kept });
  return error === undefined ? result.text : `[ERROR: ${told(error)}]`;
}

/* The cell ends with it. */
function end(op, args) {
  demand(op, args);
  cells.conclude();
}

function FINAL(answer) {
  if (typeof answer === 'function') {
    throw host.newError('FINAL() takes the answer itself, not a function: call it first');
  }
  const shown = typeof answer === 'string' ? answer : host.inspect(answer);
  end('explore.final', { answer: text.clean(shown) });
}

function FINAL_VAR(name) {
  const kept = artifacts();
  if (!Object.hasOwn(kept, name)) {
    const there = Object.keys(kept).slice(0, 20).join(', ') || 'nothing';
    throw host.newError(`artifacts has no '${name}'; it has: ${there}`);
  }
  FINAL(kept[name]);
}

function STUCK(reason = '') {
  end('explore.stuck', { reason: text.clean(String(reason)) });
}

/* ---- before the first cell that may explore ---- */

/* A name that the user has taken stays the user's. */
function define(name, value, isGiven) {
  if (Object.hasOwn(host.global, name)) return;
  Object.defineProperty(host.global, name, {
    configurable: true, enumerable: !isGiven, writable: true, value,
  });
  if (isGiven) names.give(name);
}

function install(sender) {
  if (send !== null) return;
  send = sender;
  const made = { getState, FINAL, FINAL_VAR, STUCK, toolCall, TOOL, CALL, llmCall, llmBatch };
  for (const [name, entry] of Object.entries(FUNCTIONS)) {
    made[name] = apply(makeFunction, null, entry);
  }
  for (const [name, ours] of Object.entries(made)) {
    define(name, host.wrapFunction(name, ours), true);
  }
  define(MAIN, makeContext(), true);
  define('artifacts', host.parseJSON('{}'), false);
}

Object.assign(exports, { install });
