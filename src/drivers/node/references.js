/* Values that another session has too, and how they are called there: the global objects, modules
   that are loaded, and what these have as members. */
'use strict';

const globals = load('globals');
const names = load('names');
const { IMPORT } = load('sources');

const { ownDescriptor } = host;
const builtinModules = Array.from(host.builtinModules);
const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;

/* Those of the language, which are in our realm too, and the usual ones of Node.js. To look at some
   of the others would load half of it. */
const GLOBALS = [
  ...Object.getOwnPropertyNames(globalThis).filter((name) => name !== 'globalThis'),
  'console', 'require', 'setTimeout', 'setInterval', 'setImmediate', 'clearTimeout',
  'clearInterval', 'clearImmediate', 'queueMicrotask',
];

let known = new Map(); // value -> the expression that gives it

function add(value, expression) {
  if (names.isObject(value) && !known.has(value)) known.set(value, expression);
}

/* Without a call of a getter. Some values are made at the first look, by code of Node.js that may
   find the language changed. */
function ownValue(owner, key) {
  try {
    return ownDescriptor(owner, key)?.value;
  } catch {
    return undefined;
  }
}

function addMembers(owner, expression, isWanted) {
  if (!names.isObject(owner) || host.types.isProxy(owner)) return;
  for (const key of Object.getOwnPropertyNames(owner)) {
    const value = ownValue(owner, key);
    if (IDENTIFIER.test(key) && isWanted(value)) add(value, `${expression}.${key}`);
  }
}

const isFunction = (value) => typeof value === 'function';
const isAny = () => true;

function addGlobals() {
  add(host.global, 'globalThis');
  add(host.process, 'process');
  add(host.env, 'process.env');
  add(host.Buffer, 'Buffer');
  for (const name of GLOBALS) {
    const value = ownValue(host.global, name);
    add(value, name);
    addMembers(value, name, isFunction);
  }
  addMembers(host.process, 'process', isFunction);
  addMembers(host.Buffer, 'Buffer', isFunction);
}

/* Node.js makes the list with methods that user code may have replaced. */
function loadedModules() {
  const list = host.loadedModules();
  return Array.isArray(list) ? list : [];
}

function exportsOf(name) {
  try {
    return host.requireBuiltin(`node:${name}`);
  } catch {
    return undefined;
  }
}

function addBuiltins() {
  const isLoaded = new Set(Array.from(loadedModules(), (entry) => entry.split(' ')[1]));
  for (const name of builtinModules) {
    if (!isLoaded.has(name)) continue;
    const exported = exportsOf(name);
    const expression = `require(${JSON.stringify(name)})`;
    add(exported, expression);
    addMembers(exported, expression, isAny);
  }
}

/* Data that a module exports is the user's to change, and saved by what it is now. */
function addFiles() {
  for (const file of Object.keys(host.Module._cache)) {
    const exported = ownValue(host.Module._cache[file], 'exports');
    const expression = `require(${JSON.stringify(file)})`;
    add(exported, expression);
    addMembers(exported, expression, isFunction);
  }
}

function addImports() {
  for (const [namespace, args] of globals.imported) {
    const call = `(await ${IMPORT}(${args.map((arg) => JSON.stringify(arg)).join(', ')}))`;
    known.set(namespace, call);
    addMembers(namespace, call, isFunction);
  }
}

let lookedAt = ''; // what there was at the last look

/* Before a save: what there is now. */
function look() {
  const files = Object.keys(host.Module._cache);
  const there = `${loadedModules().length} ${globals.imported.size} ${files.join()}`;
  if (there === lookedAt) return;
  lookedAt = there;
  known = new Map();
  addGlobals();
  addBuiltins();
  addFiles();
  addImports();
}

/* The expression, or undefined. */
function find(value) {
  return known.get(value);
}

Object.assign(exports, { look, find });
