/* What a cell finds in its global scope, as in the REPL of Node.js: require, module, exports, the
   built-in modules by name, and the last value as `_`. */
'use strict';

const { SLOT_KEY, slot } = load('evaluator');
const { IMPORT } = load('sources');

const MAX_IMPORTED = 1000;

const apply = Reflect.apply;

function define(name, descriptor) {
  Object.defineProperty(host.global, name, {
    configurable: true, enumerable: false, ...descriptor,
  });
}

/* What make(folder) makes, of the folder that the session is in now. */
function perFolder(make) {
  let made;
  let madeIn = null;
  return () => {
    const cwd = currentFolder();
    if (cwd !== madeIn) made = make(cwd);
    madeIn = cwd;
    return made;
  };
}

function currentFolder() {
  try {
    return apply(host.cwd, host.process, []);
  } catch {
    return '/'; // it was removed
  }
}

const currentRequire = perFolder((cwd) => host.createRequire(`${cwd}/<cell>`));
const currentImport = perFolder(host.makeImport);

function makeRequire() {
  const require = host.wrapFunction('require', (id) => currentRequire()(id));
  require.resolve = host.wrapFunction('resolve', (...args) => currentRequire().resolve(...args));
  require.resolve.paths = host.wrapFunction('paths', (id) => currentRequire().resolve.paths(id));
  require.main = undefined;
  require.extensions = host.Module._extensions;
  require.cache = host.Module._cache;
  return require;
}

/* Namespaces of modules, and how they were asked for. */
const imported = new Map();

function rememberImport(args) {
  return apply(host.then, currentImport()(...args), [
    (namespace) => {
      if (imported.size < MAX_IMPORTED) imported.set(namespace, args);
      return namespace;
    },
  ]);
}

/* Loaded when first used; user code may define the name anew. */
function defineBuiltin(name, require) {
  const set = (value) => define(name, { value, writable: true });
  define(name, {
    get: () => {
      const value = require(name);
      set(value);
      return value;
    },
    set,
  });
}

/* `_`, until user code takes the name for something else. */
const last = { _: undefined, _error: undefined };
function defineLast(name) {
  define(name, {
    get: () => last[name],
    set: (value) => define(name, { value, writable: true }),
  });
}

function setLast(name, value) {
  last[name] = value;
}

function forgetLast() {
  for (const name of Object.keys(last)) last[name] = undefined;
}

function install() {
  const require = makeRequire();
  const module = new host.Module('<cell>');
  module.require = require;
  define('require', { value: require, writable: true });
  define('module', { value: module, writable: true });
  define('exports', { value: module.exports, writable: true });
  for (const name of host.builtinModules) {
    if (!/[/:]|^_/.test(name) && !(name in host.global)) defineBuiltin(name, require);
  }
  for (const name of Object.keys(last)) defineLast(name);
  const importOrSlot = (...args) => (args[0] === SLOT_KEY ? slot : rememberImport(args));
  define(IMPORT, { value: host.wrapFunction('import', importOrSlot), configurable: false });
}

Object.assign(exports, { imported, currentFolder, install, setLast, forgetLast });
