/* What the user's names lead to, looked at before it is saved, without a call of the user's code.

   v8 writes down data of the language, cycles and shared objects included. It would lose classes,
   hidden properties and what is frozen, call getters, and refuse functions. So beside the values
   there is a list of `fixes`, which put right what it loses, and one of `holes`: properties that
   are empty while it writes, and what belongs there (a `leaf`). What cannot be saved at all leaves
   an empty hole and is told of.

   Names that share an object are of one group, and saved together. */
'use strict';

const advice = load('advice');
const functions = load('functions');
const names = load('names');
const references = load('references');

const apply = Reflect.apply;
const { ownDescriptor, types } = host;
const { isProxy } = types;

const MAX_PATH_CHARS = 100;
const CHECK_EVERY = 1 << 12;
const MAX_ARRAY_FOR_KEYS = 1000;
const HIDDEN_OF_ERRORS = new Set(['stack', 'message', 'cause']);
const OF_PROTOTYPES = new Set(['constructor']);
const OF_FUNCTIONS = new Set(['length', 'name', 'prototype', 'arguments', 'caller']);

class TooMuch extends Error {}

/* One walk through everything. */
class Walk {
  constructor({ deadline, maxBytes }) {
    this.entries = []; // {name, kind, value, parent (of its group), size}
    this.seen = new Map(); // object -> its entry
    this.fixes = new Map(); // object -> {entry, …}
    this.holes = []; // {entry, place, leaf}
    this.functions = new Map(); // function -> its id
    this.rejected = new Set(); // objects that turned out not to be saved
    this.lost = [];
    this.stack = [];
    this.size = 0;
    this.steps = 0;
    this.deadline = deadline;
    this.maxBytes = maxBytes;
  }

  /* Looks at what a name has. Returns its leaf, if it is one. */
  add(name, kind, value) {
    const entry = { name, kind, value, parent: null, size: 0, isLost: false };
    const place = { how: 'root', entry, container: null, key: name, above: null };
    const leaf = this.meet(value, place);
    this.walk();
    if (leaf === null && !entry.isLost) this.entries.push(entry);
    return leaf;
  }

  walk() {
    while (this.stack.length > 0) {
      const { object, brand, place } = this.stack.pop();
      this.scan(object, brand, place);
      if (++this.steps % CHECK_EVERY === 0) this.checkTime();
    }
  }

  checkTime() {
    if (host.addon.workedMs() > this.deadline) throw new TooMuch('time');
  }

  count(entry, bytes) {
    entry.size += bytes;
    this.size += bytes;
    if (this.size > this.maxBytes) throw new TooMuch('size');
  }

  /* A value at its place: a leaf is returned, an object waits to be scanned. */
  meet(value, place) {
    if (!names.isObject(value)) {
      if (typeof value === 'symbol') return this.leafOfSymbol(value, place);
      this.count(place.entry, sizeOf(value));
      return null;
    }
    const owner = this.seen.get(value);
    if (owner !== undefined) {
      join(owner, place.entry);
      return null;
    }
    if (typeof value === 'function') return this.leafOfFunction(value, place);
    const reference = references.find(value);
    if (reference !== undefined) return { ref: reference };
    const brand = this.rejected.has(value) ? null : brandOf(value);
    const fix = brand === null ? null : this.fixOfPrototype(value, brand);
    if (fix === null) return this.reject(place, names.typeOf(value));
    if (fix.problem) return this.reject(place, names.typeOf(value), fix.problem);
    this.seen.set(value, place.entry);
    this.count(place.entry, 16);
    if (fix !== NOTHING) this.fixes.set(value, { entry: place.entry, ...fix });
    this.stack.push({ object: value, brand, place });
    if (fix.proto) this.visit(fix.proto, { ...below(place, value, '__proto__'), how: 'proto' });
    return null;
  }

  /* A child whose place may have to be left empty. */
  visit(value, place) {
    const leaf = this.meet(value, place);
    if (leaf !== null) this.leaveEmpty(place, leaf);
  }

  leaveEmpty(place, leaf) {
    const { how, container, key } = place;
    if (how === 'property' && !ownDescriptor(container, key)?.configurable) {
      this.giveUp(place.above, container);
    } else if (how === 'property' || how === 'value') {
      this.holes.push({ entry: place.entry, place, leaf });
    } else if (how !== 'extra') {
      this.giveUp(place.above, container);
    }
  }

  /* A container without which it cannot be. */
  giveUp(place, container) {
    this.fixes.delete(container);
    this.seen.delete(container);
    this.rejected.add(container);
    this.holes = this.holes.filter((hole) => hole.place.container !== container);
    const leaf = this.reject(place, names.typeOf(container));
    if (place.how !== 'root') this.leaveEmpty(place, leaf);
  }

  reject(place, type, kind) {
    if (place.how === 'root') place.entry.isLost = true;
    this.lost.push(advice.lost(pathOf(place), type, kind));
    return { gone: true };
  }

  /* ---- leaves ---- */

  leafOfSymbol(value, place) {
    const key = codeOfSymbol(value);
    return key === null ? this.reject(place, 'symbol') : { symbol: key };
  }

  leafOfFunction(value, place) {
    const id = this.functions.get(value)?.id;
    if (id !== undefined) return { fn: id };
    const description = functions.describe(value);
    if (description.problem === undefined) {
      return { fn: this.addFunction(value, description, place) };
    }
    const reference = references.find(value);
    if (reference !== undefined) return { ref: reference };
    return this.reject(place, names.typeOf(value), description.problem);
  }

  /* Classes come after those that they extend. */
  addFunction(value, description, place) {
    const above = Object.getPrototypeOf(value);
    if (typeof above === 'function' && above !== host.functionPrototype && !isProxy(above)) {
      if (!this.functions.has(above) && functions.describe(above).problem === undefined) {
        this.addFunction(above, functions.describe(above), below(place, value, 'super'));
      }
    }
    const id = pathOf(place);
    this.functions.set(value, { id, description });
    return id;
  }

  /* ---- prototypes ---- */

  /* What is to be put right about an object's prototype; null if nothing can be. */
  fixOfPrototype(value, brand) {
    const proto = Object.getPrototypeOf(value);
    if (proto === plain || usualPrototypes[brand].has(proto)) return NOTHING;
    if (proto === null) return { isBare: true };
    if (isProxy(proto)) return null;
    const maker = ownDescriptor(proto, 'constructor')?.value;
    if (typeof maker === 'function') return this.fixOfInstance(proto, maker);
    const isData = brand === 'Object' && brandOf(proto) === 'Object';
    return isData && references.find(proto) === undefined ? { proto } : null;
  }

  fixOfInstance(proto, maker) {
    if (ownDescriptor(maker, 'prototype')?.value !== proto) return null;
    const description = functions.describe(maker);
    if (description.problem !== undefined) return null;
    if (hasPrivateFields(maker)) return { problem: 'private' };
    const entry = { name: description.name ?? 'class', parent: null };
    const place = { how: 'root', entry, key: entry.name, above: null };
    return { maker: this.leafOfFunction(maker, place).fn };
  }

  /* ---- what is inside ---- */

  scan(object, brand, place) {
    this.noteFrozen(object, place);
    switch (brand) {
      case 'Array':
        this.scanArray(object, place);
        return;
      case 'Map':
        for (const [key, value] of apply(mapEntries, object, [])) {
          this.visit(key, { ...below(place, object, 'key'), how: 'member' });
          this.visit(value, { ...below(place, object, key), how: 'value' });
        }
        break;
      case 'Set':
        for (const value of apply(setValues, object, [])) {
          this.visit(value, { ...below(place, object, 'member'), how: 'member' });
        }
        break;
      case 'Memory':
        this.count(place.entry, object.byteLength);
        break;
      case 'View':
        this.meetMemory(object.buffer, place.entry);
        return;
      case 'RegExp':
        if (object.lastIndex !== 0) this.fix(object, place).lastIndex = object.lastIndex;
        return;
      case 'Boxed':
        return;
      default:
        break;
    }
    this.scanProperties(object, brand, place);
  }

  meetMemory(memory, entry) {
    const owner = this.seen.get(memory);
    if (owner !== undefined) {
      join(owner, entry);
    } else if (memory.byteLength !== host.Buffer.poolSize) {
      this.seen.set(memory, entry);
      this.count(entry, memory.byteLength);
    }
  }

  scanArray(array, place) {
    if (array.length <= MAX_ARRAY_FOR_KEYS) {
      this.scanProperties(array, 'Array', place);
      return;
    }
    for (let index = 0; index < array.length; index++) {
      const value = array[index];
      if (typeof value === 'number') continue;
      if (typeof value === 'string') this.count(place.entry, value.length);
      else this.visit(value, below(place, array, index));
      if (index % CHECK_EVERY === 0) this.checkTime();
    }
    this.count(place.entry, array.length * 4);
  }

  scanProperties(object, brand, place) {
    const isFrozen = this.fixes.get(object)?.frozen === FROZEN;
    for (const key of Reflect.ownKeys(object)) {
      if (brand === 'Array' && key === 'length') continue;
      if (brand === 'Error' && HIDDEN_OF_ERRORS.has(key)) continue;
      const descriptor = ownDescriptor(object, key);
      this.scanProperty(object, brand, key, descriptor, isFrozen, place);
    }
  }

  scanProperty(object, brand, key, descriptor, isFrozen, place) {
    const { enumerable, writable, configurable } = descriptor;
    const { value } = descriptor;
    const isWritten = enumerable && typeof key === 'string' && WRITTEN.has(brand);
    if (isWritten && writable && configurable && !isLink(value)) {
      this.count(place.entry, key.length + sizeOf(value));
      return;
    }
    const where = below(place, object, key);
    if (!('value' in descriptor)) {
      this.scanAccessor(object, key, descriptor, isWritten, where);
    } else if (!isWritten || (!isFrozen && !(writable && configurable))) {
      this.addExtra(object, key, descriptor, isWritten, where);
    } else {
      this.visit(descriptor.value, where);
    }
  }

  /* v8 does not write it, or not all about it. */
  addExtra(object, key, descriptor, isWritten, where) {
    const code = codeOfKey(key);
    if (code === null) return;
    if (isWritten) this.visit(descriptor.value, where);
    const leaf = this.meet(descriptor.value, { ...where, how: 'extra' });
    const flags = flagsOf(descriptor);
    const value = leaf === null ? descriptor.value : undefined;
    this.addTo(object, where, [code, flags, value, leafCode(leaf)]);
  }

  scanAccessor(object, key, descriptor, isWritten, where) {
    const code = codeOfKey(key);
    const leaves = [descriptor.get, descriptor.set].map((part) =>
      part === undefined ? null : this.leafOfFunction(part, { ...where, how: 'extra' }));
    if (isWritten) this.leaveEmpty(where, { gone: true });
    if (code === null || leaves.some((leaf) => leaf?.gone)) return;
    const flags = flagsOf(descriptor);
    const extra = [code, flags, undefined, null, ...leaves.map(leafCode)];
    this.addTo(object, where, extra);
  }

  addTo(object, where, extra) {
    const fix = this.fix(object, where);
    fix.extras ??= [];
    fix.extras.push(extra);
  }

  fix(object, { entry }) {
    if (!this.fixes.has(object)) this.fixes.set(object, { entry });
    return this.fixes.get(object);
  }

  noteFrozen(object, place) {
    if (Object.isExtensible(object)) return;
    const isSealed = Object.isSealed(object);
    const level = Object.isFrozen(object) ? FROZEN : isSealed ? SEALED : FIXED;
    this.fix(object, place).frozen = level;
  }

  /* ---- what functions have as properties ---- */

  /* As an entry for each of them; those may lead to more functions. */
  addFunctionProperties() {
    const done = new Set();
    for (const [value, { id, description }] of this.functions) { // grows meanwhile
      if (done.has(id)) continue;
      done.add(id);
      const box = Object.create(null);
      collect(box, 'f:', value, description, OF_FUNCTIONS);
      const proto = ownDescriptor(value, 'prototype')?.value;
      if (names.isObject(proto) && !isProxy(proto)) {
        collect(box, 'p:', proto, description, OF_PROTOTYPES);
      }
      if (Object.keys(box).length > 0) this.add(id, 'properties', box);
    }
  }
}

const NOTHING = {}; // to be put right
const plain = host.prototypes.Object[0];
/* As lists of ours, whose methods are ours too. */
const usualPrototypes = Object.fromEntries(
  Object.entries(host.prototypes).map(([brand, list]) => [brand, new Set(list)]),
);
const WRITTEN = new Set(['Object', 'Array']); // whose properties v8 writes
const FIXED = 1;
const SEALED = 2;
const FROZEN = 3;
const INDEX = /^(0|[1-9]\d*)$/;
const mapEntries = Map.prototype.entries;
const setValues = Set.prototype.values;

/* Those that its source does not bring. */
function collect(box, prefix, owner, { source }, isUsual) {
  for (const key of Object.getOwnPropertyNames(owner)) {
    const value = ownDescriptor(owner, key)?.value;
    if (isUsual.has(key) || value === undefined) continue;
    const isOfSource = typeof value === 'function' &&
      source.includes(apply(host.functionText, value, []));
    if (!isOfSource) box[prefix + key] = value;
  }
}

function sizeOf(value) {
  return typeof value === 'string' ? value.length + 8 : 8;
}

/* Is it more than itself? */
function isLink(value) {
  return names.isObject(value) || typeof value === 'symbol';
}

function below(place, container, key) {
  return { how: 'property', entry: place.entry, container, key, above: place };
}

function keyText(key) {
  if (typeof key === 'number') return `[${key}]`;
  if (names.isObject(key)) return '.(object)';
  const text = String(key);
  return INDEX.test(text) ? `[${text}]` : `.${text}`;
}

/* As in a program: list[3].name */
function pathOf(place) {
  let text = '';
  let at = place;
  for (; at.above !== null && text.length < MAX_PATH_CHARS; at = at.above) {
    text = keyText(at.key) + text;
  }
  return at.above === null ? `${at.key}${text}` : `${at.entry.name}…${text}`;
}

/* ---- groups of entries ---- */

function groupOf(entry) {
  let at = entry;
  while (at.parent !== null) at = at.parent;
  return at;
}

function join(a, b) {
  const first = groupOf(a);
  const second = groupOf(b);
  if (first !== second) second.parent = first;
}

/* ---- kinds of objects ---- */

/* What v8 can write, by how it does; null for all else. */
function brandOf(value) {
  if (isProxy(value)) return null;
  if (Object.getPrototypeOf(value) === plain) return 'Object'; // nearly all there are
  if (Array.isArray(value)) return 'Array';
  if (types.isMap(value)) return 'Map';
  if (types.isSet(value)) return 'Set';
  if (types.isDate(value)) return 'Date';
  if (types.isRegExp(value)) return 'RegExp';
  if (types.isNativeError(value)) return 'Error';
  if (types.isArrayBufferView(value)) return isShared(value) ? null : 'View';
  if (types.isArrayBuffer(value)) return 'Memory';
  if (types.isBoxedPrimitive(value)) return types.isSymbolObject(value) ? null : 'Boxed';
  return isExotic(value) ? null : 'Object';
}

function isShared(view) {
  return types.isSharedArrayBuffer(view.buffer);
}

function isExotic(value) {
  return types.isPromise(value) || types.isGeneratorObject(value) || types.isWeakMap(value) ||
    types.isWeakSet(value) || types.isSharedArrayBuffer(value) || types.isExternal(value) ||
    types.isMapIterator(value) || types.isSetIterator(value) ||
    types.isModuleNamespaceObject(value);
}

/* Also of what it extends. */
function hasPrivateFields(maker) {
  for (let at = maker; typeof at === 'function'; at = Object.getPrototypeOf(at)) {
    if (isProxy(at)) return true; // who knows
    if (functions.describe(at).hasPrivate) return true;
  }
  return false;
}

/* ---- codes ---- */

function codeOfSymbol(symbol) {
  const key = Symbol.keyFor(symbol);
  if (key !== undefined) return `for:${key}`;
  const known = Object.getOwnPropertyNames(host.symbols).find((name) =>
    ownDescriptor(host.symbols, name).value === symbol);
  return known === undefined ? null : `of:${known}`;
}

function symbolOfCode(code) {
  return code.startsWith('for:') ? host.symbolFor(code.slice(4)) : host.symbols[code.slice(3)];
}

function codeOfKey(key) {
  if (typeof key === 'string') return `k:${key}`;
  const code = codeOfSymbol(key);
  return code === null ? null : `s:${code}`;
}

function keyOfCode(code) {
  return code.startsWith('k:') ? code.slice(2) : symbolOfCode(code.slice(2));
}

const ENUMERABLE = 1;
const WRITABLE = 2;
const CONFIGURABLE = 4;

function flagsOf({ enumerable, writable, configurable }) {
  return (enumerable ? ENUMERABLE : 0) | (writable ? WRITABLE : 0) |
    (configurable ? CONFIGURABLE : 0);
}

/* A leaf as v8 can write it. */
function leafCode(leaf) {
  if (leaf === null || leaf === undefined || leaf.gone) return null;
  const [[kind, text]] = Object.entries(leaf);
  return `${kind}:${text}`;
}

Object.assign(exports, {
  Walk, TooMuch, groupOf, leafCode, symbolOfCode, keyOfCode, ENUMERABLE, WRITABLE, CONFIGURABLE,
  FIXED, SEALED, FROZEN,
});
