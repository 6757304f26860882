/* Values that another session has too, and how they are called there: the global objects, modules
   that are loaded, and what these have as members. */
'use strict';

const globals = load('globals');
const names = load('names');
const { IMPORT } = load('sources');

const { ownDescriptor } = host;
const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;

let known = new Map(); // value -> the expression that gives it

function add(value, expression) {
  if (names.isObject(value) && !known.has(value)) known.set(value, expression);
}

/* Without a call of a getter. */
function addMembers(owner, expression, isWanted) {
  if (!names.isObject(owner) || host.types.isProxy(owner)) return;
  for (const key of Object.getOwnPropertyNames(owner)) {
    const value = ownDescriptor(owner, key)?.value;
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
  for (const name of names.originals()) {
    const value = ownDescriptor(host.global, name)?.value;
    if (!IDENTIFIER.test(name) || name === 'module' || name === 'exports') continue;
    add(value, name);
    addMembers(value, name, isFunction);
  }
  addMembers(host.process, 'process', isFunction);
  addMembers(host.Buffer, 'Buffer', isFunction);
}

function addBuiltins() {
  const isLoaded = new Set(Array.from(host.loadedModules(), (entry) => entry.split(' ')[1]));
  for (const name of host.builtinModules) {
    if (!isLoaded.has(name)) continue;
    const exported = host.requireBuiltin(`node:${name}`);
    const expression = `require(${JSON.stringify(name)})`;
    add(exported, expression);
    addMembers(exported, expression, isAny);
  }
}

/* Data that a module exports is the user's to change, and saved by what it is now. */
function addFiles() {
  for (const file of Object.keys(host.Module._cache)) {
    const exported = ownDescriptor(host.Module._cache[file], 'exports')?.value;
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
  const there = `${host.loadedModules().length} ${globals.imported.size} ${files.join()}`;
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
