/* What the driver uses of Node.js, held from before the first cell on. */
'use strict';

const { AsyncLocalStorage } = require('node:async_hooks');
const Module = require('node:module');
const path = require('node:path');
const readline = require('node:readline');
const { Readable, Writable } = require('node:stream');
const util = require('node:util');
const { promiseHooks } = require('node:v8');
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

/* What a failed write gives its callback; `rc` is -errno. */
function errnoError(rc) {
  const code = util.getSystemErrorName(rc);
  return Object.assign(new Error(`write ${code}`), { errno: rc, code, syscall: 'write' });
}

module.exports = {
  addon,
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
  onPromiseInit: promiseHooks.onInit,
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
  mkdir: require('node:fs').mkdirSync,
};
