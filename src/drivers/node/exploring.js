/* Functions with which the code of a cell explores what is too large to be shown: texts that the
   session holds as contexts, and files of its workspace. They ask the daemon and wait for what it
   says; nothing of a context is in this process unless it is asked for. What goes wrong comes back
   as a value, `[ERROR: …]`, so that a model sees it where it looks.

   They are globals of the user's, as `display` is. */
'use strict';

const cells = load('cells');
const evaluator = load('evaluator');
const names = load('names');
const streams = load('streams');
const text = load('text');

const { types } = host;
const apply = Reflect.apply;

const MAIN = 'context'; // the context that functions mean if none is named
const SPILLED = '/spill/'; // where the whole output of a cell lies whose answer was cut
const PIECE_CHARS = 200_000; // of a context that is copied
const PATTERN_CHARS = 10_000; // of a text that is searched for by the daemon
const MAX_NAMES = 100; // that getState() is given
const MAX_ARTIFACTS = 50;
const TOO_LATE = 'this was called by what outlived its cell: nobody can answer it any more';

/* name: the operation, its arguments by their places, what of its answer is the value (a member, or
   what a function makes of it; all of it if nothing is named), and arguments that are always given.
 */
const FUNCTIONS = {
  contextLen: ['context.get', [], 'chars', { name: MAIN }],
  peek: ['explore.peek', ['n', 'file_path', 'offset'], wholeText],
  grep: ['explore.grep', ['pattern', 'file_path', 'context_lines'], 'lines'],
  chunkContext: ['explore.chunks', ['n_chunks', 'overlap'], withTexts],
  summarizeChunks: ['explore.summarize_chunks', ['task', 'n_chunks', 'overlap'], 'chunks'],
  codeSearch: ['explore.code_search', ['query', 'limit', 'corpus']],
  docSearch: ['explore.doc_search', ['query', 'limit', 'corpus']],
  listDir: ['explore.list_dir', ['path']],
  fileInfo: ['explore.file_info', ['path']],
  archiveOpen: ['explore.archive_open', ['file_path']],
  archiveFile: ['explore.archive_file', ['member', 'file_path', 'n'], notedText],
  archiveSearch: ['explore.archive_search', ['query', 'file_path'], notedHits],
  archiveExtract: ['explore.archive_extract', ['file_path', 'to']],
  webFetch: ['explore.web_fetch', ['url', 'max_chars'], notedText],
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

/* ---- values ---- */

function countChars(part) {
  let n = 0;
  for (const _ of part) n += 1;
  return n;
}

/* An answer holds a megabyte: what of the text did not fit is asked for, until it is there. */
function wholeText(first, args) {
  const parts = [first.text];
  let { left, offset } = first;
  for (let last = first.text; left > 0 && last !== ''; last = parts.at(-1)) {
    offset += countChars(last);
    const next = demand('explore.peek', { ...args, n: left, offset, quiet: true });
    parts.push(next.text);
    ({ left } = next);
  }
  return parts.join('');
}

/* The getter of a chunk's text. It is saved with the chunk, as its source, so it is made where the
   user's functions are: what is made here sees more than can be saved. */
const CHUNK_TEXT = '(function text() { return context.slice(this.start, this.end); })';

function withTexts({ chunks }) {
  const { value: get } = evaluator.tryNow(CHUNK_TEXT);
  for (const chunk of chunks) {
    Object.defineProperty(chunk, 'text', { configurable: true, enumerable: true, get });
  }
  return chunks;
}

/* What is not in it stands in its last line. */
function notedText({ text: shown, note }) {
  if (note === undefined) return shown;
  return `${shown}${shown === '' || shown.endsWith('\n') ? '' : '\n'}${note}`;
}

function notedHits({ hits, note }) {
  return note === undefined ? hits : Object.assign(hits, { note });
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

function makeFunction(op, places, value, always) {
  return (...given) => {
    const args = complete(op, { ...gather(places, given), ...always }, given);
    const { result, error } = call(op, args);
    if (error === undefined) {
      if (value === undefined) return result;
      return typeof value === 'function' ? value(result, args) : result[value];
    }
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
    yield wholeText(demand('explore.peek', args), args);
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
  if (!part.includes('\n') && part.length <= PATTERN_CHARS) {
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

/* The research tree, or the exploration log, which also says what the exploration was like. */
function makeResearch(member) {
  const research = host.parseJSON('{}');
  const worth = (part) => () => demand('explore.research', {}).worth[part];
  const methods = {
    toDict: () => demand('explore.research', {})[member],
    fromDict: (kept) => {
      demand('explore.set_research', { [member]: JSON.parse(JSON.stringify(kept ?? null)) });
      return research;
    },
    ...member === 'log' && { strategy: worth('strategy'), efficiency: worth('efficiency') },
  };
  for (const [name, ours] of Object.entries(methods)) {
    Object.defineProperty(research, name, { value: host.wrapFunction(name, ours) });
  }
  return research;
}

const getResearch = () => makeResearch('tree');
const getExplorationLog = () => makeResearch('log');

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
  const made = {
    getResearch, getExplorationLog, getState, FINAL, FINAL_VAR, STUCK,
    toolCall, TOOL, CALL, llmCall, llmBatch,
  };
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
