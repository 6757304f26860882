/* What the driver uses of Node.js, held from before the first cell on. */
'use strict';

const { AsyncLocalStorage } = require('node:async_hooks');
const inspector = require('node:inspector');
const Module = require('node:module');
const readline = require('node:readline');
const { Readable, Writable } = require('node:stream');
const util = require('node:util');
const addon = require('./addon.node');

/* Names for what only the C++ side of Node.js knows; null where a future version has no more. */
function binding(name) {
  try {
    return process.binding(name);
  } catch {
    return null;
  }
}

/* A function of the user's realm that calls one of ours. */
function wrapFunction(name, ours) {
  const wrapper = (...args) => ours(...args);
  return Object.defineProperty(wrapper, 'name', { value: name });
}

/* What a failed write gives its callback; `rc` is -errno. */
function errnoError(rc) {
  const code = util.getSystemErrorName(rc);
  return Object.assign(new Error(`write ${code}`), { errno: rc, code, syscall: 'write' });
}

module.exports = {
  addon,
  wrapFunction,
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
  asyncWrap: binding('async_wrap'),
  sources: binding('natives'),
  AsyncLocalStorage,
  Session: inspector.Session,
  post: inspector.Session.prototype.post,
  Module,
  createRequire: Module.createRequire,
  builtinModules: Module.builtinModules,
  readline,
  Readable,
  Writable,
  inspect: util.inspect,
  inspectDefaults: { ...util.inspect.defaultOptions },
  isNativeError: util.types.isNativeError,
  types: { ...util.types },
  bufferFrom: Buffer.from,
  isUint8Array: util.types.isUint8Array,
  mkdir: require('node:fs').mkdirSync,
};
