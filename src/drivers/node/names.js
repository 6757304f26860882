/* The names that user code made in the global scope: what they are, and what a cell changed. No
   code of the user's runs here: getters are not called, proxies not asked. */
'use strict';

const evaluator = load('evaluator');
const text = load('text');

const apply = Reflect.apply;
const { types } = host;

const MAX_ITEMS = 1000;
const MAX_CHARS = 60 << 10; // as JSON; the limit of the whole is 64 KiB
const MAX_CHANGES = 100;
const MAX_FOR_CHANGES = 300;
const MAX_TEXT_CHARS = 80;
const MAX_NAME_CHARS = 200;
const MAX_KEYS_FOR_TEXT = 100;
const SHORT = {
  depth: 0, maxArrayLength: 5, maxStringLength: 60, breakLength: Infinity, compact: true,
  customInspect: false, getters: false, showProxy: false,
};
const UNSET = Symbol('a name without a value yet');
const ACCESSOR = Symbol('a name with a getter');

const mapSize = Object.getOwnPropertyDescriptor(Map.prototype, 'size').get;
const setSize = Object.getOwnPropertyDescriptor(Set.prototype, 'size').get;
const TypedArray = Object.getPrototypeOf(Uint8Array);
const lengthOfTyped = Object.getOwnPropertyDescriptor(TypedArray.prototype, 'length').get;

let original = new Set(); // names that were there before user code
let known = new Map(); // name -> what it was after the last cell
let readers = { names: '', read: [] }; // of the lexical names

function begin() {
  original = new Set(Object.getOwnPropertyNames(host.global));
}

/* One that was given later. */
function give(name) {
  original.add(name);
}

function isUsers(name) {
  return !name.startsWith('_') && name.length <= MAX_NAME_CHARS;
}

/* name -> a function that reads it */
function current(isWanted = isUsers) {
  const found = new Map();
  for (const name of Object.getOwnPropertyNames(host.global)) {
    if (!original.has(name) && isWanted(name)) found.set(name, () => readGlobal(name));
  }
  const lexical = evaluator.lexicalNames();
  const joined = lexical.join();
  if (joined !== readers.names) readers = { names: joined, read: makeReaders(lexical) };
  lexical.forEach((name, index) => {
    if (isWanted(name)) found.set(name, readers.read[index] ?? (() => UNSET));
  });
  return found;
}

/* Those that are to be kept, of which some are hidden from the lists. */
function all() {
  return current(() => true);
}

function readGlobal(name) {
  const descriptor = Object.getOwnPropertyDescriptor(host.global, name);
  if (descriptor === undefined) return UNSET;
  return 'value' in descriptor ? descriptor.value : ACCESSOR;
}

/* The names are of the inspector's telling: identifiers, safe to be written into code. */
function makeReaders(lexical) {
  if (lexical.length === 0) return [];
  const made = evaluator.evaluateNow(`[${lexical.map((name) => `() => ${name}`).join(',')}]`);
  if (made === undefined) return [];
  return lexical.map((name, index) => () => {
    try {
      return made[index]();
    } catch {
      return UNSET; // it was declared, and what should have set it failed
    }
  });
}

function isObject(value) {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

function sizeOf(value) {
  if (typeof value === 'string') return value.length;
  if (!isObject(value) || types.isProxy(value)) return undefined;
  if (Array.isArray(value)) return value.length;
  if (types.isTypedArray(value)) return apply(lengthOfTyped, value, []);
  if (types.isMap(value)) return apply(mapSize, value, []);
  if (types.isSet(value)) return apply(setSize, value, []);
  return undefined;
}

function bytesOf(value) {
  const hasBytes = types.isTypedArray(value) || types.isAnyArrayBuffer(value);
  return hasBytes ? value.byteLength : undefined;
}

/* What a later value is compared with. Objects are not kept alive for it. */
function mark(value) {
  return { of: isObject(value) ? new WeakRef(value) : value, size: sizeOf(value) };
}

function isSame(marked, value) {
  const was = marked.of instanceof WeakRef ? marked.of.deref() : marked.of;
  return Object.is(was, value) && marked.size === sizeOf(value);
}

/* What a cell changed; the whole state is remembered for the next. */
function changes() {
  const found = current();
  const total = found.size;
  if (total > MAX_FOR_CHANGES) return { total };
  const added = [];
  const changed = [];
  const next = new Map();
  for (const [name, read] of found) {
    const value = read();
    if (value === UNSET) continue; // `const q = …` failed: nobody can use it
    const before = known.get(name);
    if (before === undefined) added.push(name);
    else if (!isSame(before, value)) changed.push(name);
    next.set(name, before !== undefined && isSame(before, value) ? before : mark(value));
  }
  const removed = [...known.keys()].filter((name) => !next.has(name));
  known = next;
  return { total, ...bounded({ added, changed, removed }) };
}

function bounded(lists) {
  const kept = {};
  for (const [kind, list] of Object.entries(lists)) {
    if (list.length > 0) kept[kind] = list.slice(0, MAX_CHANGES);
    if (list.length > MAX_CHANGES) kept.more = true;
  }
  return kept;
}

function classOf(value) {
  for (let at = value; at !== null; at = Object.getPrototypeOf(at)) {
    if (types.isProxy(at)) return 'Proxy';
    const maker = Object.getOwnPropertyDescriptor(at, 'constructor')?.value;
    if (typeof maker === 'function' && !types.isProxy(maker)) {
      const name = Object.getOwnPropertyDescriptor(maker, 'name')?.value;
      if (typeof name === 'string' && name !== '') return name;
    }
  }
  return 'Object';
}

function typeOf(value) {
  if (value === UNSET) return 'uninitialized';
  if (value === ACCESSOR) return 'getter';
  if (value === null) return 'null';
  if (!isObject(value)) return typeof value;
  if (types.isProxy(value)) return 'Proxy';
  if (typeof value === 'object') return classOf(value);
  const isClass = Object.getOwnPropertyDescriptor(value, 'prototype')?.writable === false;
  return isClass ? 'class' : 'function';
}

function shortText(value) {
  if (value === UNSET || value === ACCESSOR) return undefined;
  if (isObject(value) && !types.isProxy(value) && sizeOf(value) === undefined) {
    if (Object.keys(value).length > MAX_KEYS_FOR_TEXT) return undefined;
  }
  try {
    const shown = text.clean(host.inspect(value, SHORT)).replace(/\s+/g, ' ');
    return shown.length <= MAX_TEXT_CHARS ? shown : `${shown.slice(0, MAX_TEXT_CHARS - 3)}...`;
  } catch {
    return undefined;
  }
}

/* JSON leaves out what is undefined. */
function describe(name, value) {
  return {
    name: text.clean(name),
    type: text.clean(text.bound(typeOf(value), MAX_NAME_CHARS)),
    len: sizeOf(value),
    bytes: bytesOf(value),
    text: shortText(value),
  };
}

/* All of them, as far as `max` and the limits go. */
function manifest(max) {
  const found = current();
  const items = [];
  let size = 0;
  for (const [name, read] of found) {
    const item = describe(name, read());
    size += JSON.stringify(item).length * 3; // of UTF-8, at most
    if (items.length >= Math.min(max, MAX_ITEMS) || size > MAX_CHARS * 3) break;
    items.push(item);
  }
  return { total: found.size, items, ...(items.length < found.size ? { more: true } : {}) };
}

/* What there is now is nobody's change: it was brought back. */
function settle() {
  changes();
}

/* The `names` of a verdict: `wanted` is none, changes or full. */
function report(wanted) {
  if (wanted === 'changes') return changes();
  if (wanted === 'full') return { ...changes(), ...manifest(MAX_ITEMS) };
  return undefined;
}

Object.assign(exports, {
  UNSET, ACCESSOR, begin, give, all, typeOf, isObject, describe, manifest, report, settle,
});
