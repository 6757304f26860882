/* A session of Node.js, in a process of its own:

     node --no-warnings --expose-internals main.js       descriptor 3: the session's socket

   The driver's modules run in a realm of their own: a context with its own Array, JSON, Map and so
   on, where a cell that replaces or freezes the built-in objects breaks its own code and not ours.
   What they need of Node.js is handed to them as `host`, taken before any user code runs. */
'use strict';

const SESSION_FD = 3;

/* In the order in which they build on each other. */
const MODULES = [
  'text', 'hidden', 'streams', 'children', 'evaluator', 'sources', 'errors', 'outputs', 'failures',
  'signals', 'exits', 'globals', 'names', 'stdin', 'cells', 'displays', 'exploring', 'advice',
  'references', 'functions', 'graph', 'records', 'overview', 'save', 'restore', 'completeness',
  'completion', 'session',
];

/* What the modules use of the language, as parameters of theirs: in a context every look-up of a
   global goes through C++. */
const BUILTINS = [
  'Array', 'BigInt', 'Error', 'FinalizationRegistry', 'JSON', 'Map', 'Math', 'Number', 'Object',
  'Promise', 'Reflect', 'RegExp', 'Set', 'String', 'Symbol', 'Uint32Array', 'WeakMap', 'WeakRef',
];

function load(host) {
  const fs = require('node:fs');
  const path = require('node:path');
  const vm = require('node:vm');
  const realm = vm.createContext(Object.create(null), { name: 'cella' });
  const modules = vm.runInContext('({})', realm);
  const builtins = BUILTINS.map((name) => vm.runInContext(name, realm));
  const find = vm.compileFunction('return modules[name]', ['modules', 'name'], {
    parsingContext: realm,
  }).bind(null, modules);
  for (const name of MODULES) {
    const filename = path.join(__dirname, `${name}.js`);
    const run = vm.compileFunction(
      fs.readFileSync(filename, 'utf8'), ['exports', 'load', 'host', ...BUILTINS],
      { filename, parsingContext: realm },
    );
    const exports = vm.runInContext('({})', realm);
    run(exports, find, host, ...builtins);
    modules[name] = exports;
  }
  return modules;
}

function forgetUs(Module) {
  for (const file of Object.keys(Module._cache)) delete Module._cache[file];
  process.argv = [process.argv[0]];
  process.execArgv = [];
  process.mainModule = undefined;
}

function main() {
  const host = require('./host.js');
  forgetUs(host.Module);
  load(host).session.start(SESSION_FD);
}

main();
