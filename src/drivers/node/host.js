/* What the driver uses of Node.js, held from before the first cell on. */
'use strict';

const { AsyncLocalStorage } = require('node:async_hooks');
const Module = require('node:module');
const path = require('node:path');
const readline = require('node:readline');
const { Readable, Writable } = require('node:stream');
const util = require('node:util');
const v8 = require('node:v8');
const addon = require('./addon.node');

/* Node.js itself calls pop() of this one by name. */
function armAsyncWrap(wrap) {
  Object.defineProperty(wrap.execution_async_resources, 'pop', { value: Array.prototype.pop });
  return wrap;
}

/* A module of Node.js's own (--expose-internals); null where a version has no such. */
function internal(id) {
  try {
    return require(id);
  } catch {
    return null;
  }
}

const { internalBinding } = require('internal/test/binding');

/* Whatever becomes of its class, which calls its methods by name. */
function newLocalStorage() {
  const local = new AsyncLocalStorage();
  return Object.defineProperties(
    local, Object.getOwnPropertyDescriptors(AsyncLocalStorage.prototype),
  );
}

/* The symbols of what Node.js hangs on promises; none where it has other ways. */
function promiseSymbols(local) {
  const symbols = internal('internal/async_hooks')?.symbols;
  if (!symbols || !local.kResourceStore) return [];
  return [symbols.async_id_symbol, symbols.trigger_async_id_symbol, local.kResourceStore];
}

/* Without those that --expose-internals adds. */
function publicModules() {
  const names = Module.builtinModules.filter((name) => !name.startsWith('internal/'));
  Module.builtinModules = Object.freeze(names);
  return names;
}

/* Also what a worker threw, which arrives as an object of the same class. */
function isError(value) {
  try {
    return util.types.isNativeError(value) || value instanceof Error;
  } catch {
    return false;
  }
}

/* A function of the user's realm that calls one of ours. */
function wrapFunction(name, ours) {
  const wrapper = (...args) => ours(...args);
  return Object.defineProperty(wrapper, 'name', { value: name });
}

/* Likewise, with `this`. */
function wrapMethod(name, ours) {
  const wrapper = function (...args) {
    return Reflect.apply(ours, this, args);
  };
  return Object.defineProperty(wrapper, 'name', { value: name });
}

/* import() as a module in that folder has it. */
function makeImport(folder) {
  const filename = path.join(folder, '[cell].cjs');
  const module = new Module(filename);
  module.filename = filename;
  module.paths = Module._nodeModulePaths(folder);
  const body = 'module.exports = (id, options) => options ? import(id, options) : import(id)';
  module._compile(body, filename);
  return module.exports;
}

/* ---- objects as bytes ---- */

const VIEWS = [
  Buffer, Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array,
  Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array, DataView,
];
const COPIED = 0;
const SHARED = 1;

function kindOfView(view) {
  const name = view[Symbol.toStringTag];
  if (name === 'Uint8Array' && Buffer.isBuffer(view)) return 0;
  return name === undefined ? VIEWS.indexOf(DataView) : VIEWS.findIndex((v) => v.name === name);
}

/* Small Buffers are cut from a large piece of memory that nobody meant to share. */
function isPooled(view) {
  return Buffer.isBuffer(view) && view.buffer.byteLength === Buffer.poolSize &&
    view.byteLength < Buffer.poolSize;
}

/* Views of the same memory stay that. */
class StateSerializer extends v8.Serializer {
  constructor() {
    super();
    this._setTreatArrayBufferViewsAsHostObjects(true);
  }

  _writeHostObject(view) {
    const kind = kindOfView(view);
    if (!ArrayBuffer.isView(view) || kind < 0) throw new Error('not an object of the language');
    this.writeUint32(kind);
    this.writeUint32(isPooled(view) ? COPIED : SHARED);
    if (isPooled(view)) {
      this.writeUint32(view.byteLength);
      this.writeRawBytes(view);
      return;
    }
    this.writeDouble(view.byteOffset);
    this.writeDouble(view.length ?? view.byteLength);
    this.writeValue(view.buffer);
  }
}

class StateDeserializer extends v8.Deserializer {
  _readHostObject() {
    const View = VIEWS[this.readUint32()];
    if (this.readUint32() === COPIED) return Buffer.from(this.readRawBytes(this.readUint32()));
    const offset = this.readDouble();
    const length = this.readDouble();
    const memory = this.readValue();
    return View === Buffer ? Buffer.from(memory, offset, length) : new View(memory, offset, length);
  }
}

function serialize(value) {
  const serializer = new StateSerializer();
  serializer.writeHeader();
  serializer.writeValue(value);
  return serializer.releaseBuffer();
}

function deserialize(bytes) {
  const deserializer = new StateDeserializer(bytes);
  deserializer.readHeader();
  return deserializer.readValue();
}

/* What objects of each kind have as their prototype, unless user code gave them another. */
const PROTOTYPES = {
  Object: [Object.prototype],
  Array: [Array.prototype],
  Map: [Map.prototype],
  Set: [Set.prototype],
  Date: [Date.prototype],
  RegExp: [RegExp.prototype],
  Boxed: [Number.prototype, String.prototype, Boolean.prototype, BigInt.prototype],
  Memory: [ArrayBuffer.prototype],
  View: VIEWS.map((View) => View.prototype),
  Error: [
    Error.prototype, EvalError.prototype, RangeError.prototype, ReferenceError.prototype,
    SyntaxError.prototype, TypeError.prototype, URIError.prototype,
  ],
};

const { readdirSync } = require('node:fs');

/* Names and whether they are directories. */
function readDirectory(where) {
  const entries = readdirSync(where, { withFileTypes: true });
  return entries.map((entry) => [entry.name, entry.isDirectory()]);
}

/* What a failed write gives its callback; `rc` is -errno. */
function errnoError(rc) {
  const code = util.getSystemErrorName(rc);
  return Object.assign(new Error(`write ${code}`), { errno: rc, code, syscall: 'write' });
}

module.exports = {
  addon,
  newError: (message) => new Error(message),
  parseJSON: JSON.parse,
  wrapFunction,
  wrapMethod,
  makeImport,
  arrayOf: Array.of.bind(Array),
  ChildProcess: require('node:child_process').ChildProcess,
  errnoError,
  here: __dirname,
  global: globalThis,
  process,
  cwd: process.cwd,
  chdir: process.chdir,
  env: process.env,
  nextTick: process.nextTick,
  setImmediate,
  activeResources: process.getActiveResourcesInfo,
  emit: process.emit,
  listenerCount: process.listenerCount,
  asyncWrap: armAsyncWrap(internalBinding('async_wrap')),
  loadParser: () => internal('internal/deps/acorn/acorn/dist/acorn'),
  newLocalStorage,
  promisePrototype: Promise.prototype,
  promiseSymbols,
  onPromiseInit: v8.promiseHooks.onInit,
  Connection: internalBinding('inspector').Connection,
  Module,
  createRequire: Module.createRequire,
  builtinModules: publicModules(),
  readline,
  Readable,
  Writable,
  inspect: util.inspect,
  inspectDefaults: { ...util.inspect.defaultOptions },
  isError,
  questionSymbol: internal('internal/readline/interface')?.kQuestionCallback,
  types: { ...util.types },
  bufferFrom: Buffer.from,
  bufferToString: Buffer.prototype.toString,
  isUint8Array: util.types.isUint8Array,
  bufferAlloc: Buffer.allocUnsafe,
  Buffer,
  serialize,
  deserialize,
  prototypes: PROTOTYPES,
  /* Some properties of Node.js's own are made when they are first looked at, in its own realm. */
  ownDescriptor: Object.getOwnPropertyDescriptor,
  functionPrototype: Function.prototype,
  functionText: Function.prototype.toString,
  mapSet: Map.prototype.set,
  newBytes: (length) => new Uint8Array(length),
  subarray: Uint8Array.prototype.subarray,
  then: Promise.prototype.then,
  requireBuiltin: require,
  loadedModules: () => process.moduleLoadList,
  symbolFor: Symbol.for,
  symbols: Symbol,
  version: process.version,
  mkdir: require('node:fs').mkdirSync,
  readDirectory,
};
