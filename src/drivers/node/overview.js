/* What the session defined, by its source, and what could not be saved: for people to read. No code
   of the user's runs here, so of what could not be saved only those are told that are so by
   themselves. */
'use strict';

const advice = load('advice');
const functions = load('functions');
const globals = load('globals');
const names = load('names');
const references = load('references');
const text = load('text');

const { types } = host;

const MAX_ITEMS = 1000; // of each list
const MAX_CHARS = 120 << 10; // of the whole, as JSON
const MAX_NAME_CHARS = 200;
const MAX_ASKED_CHARS = 200;

/* The type of what cannot be saved, or null. */
function problemOf(value) {
  if (typeof value === 'symbol') return Symbol.keyFor(value) === undefined ? 'symbol' : null;
  if (!names.isObject(value)) return null;
  if (types.isProxy(value)) return 'Proxy';
  if (types.isPromise(value)) return 'Promise';
  if (types.isGeneratorObject(value)) return 'Generator';
  if (types.isWeakMap(value)) return 'WeakMap';
  if (types.isWeakSet(value)) return 'WeakSet';
  return null;
}

class Lists {
  constructor(maxChars) {
    this.left = maxChars;
    this.more = false;
  }

  add(list, item) {
    const size = JSON.stringify(item).length + 1;
    if (list.length === MAX_ITEMS || size > this.left) {
      this.more = true;
    } else {
      this.left -= size;
      list.push(item);
    }
  }
}

function look(lists, name, value, definitions, lost) {
  if (value === names.UNSET) return;
  if (value === names.ACCESSOR) {
    lists.add(lost, advice.lost(name, 'getter'));
    return;
  }
  const problem = problemOf(value);
  if (problem !== null) {
    lists.add(lost, advice.lost(name, problem));
  } else if (typeof value === 'function' && references.find(value) === undefined) {
    const { source, isClass, problem: reason } = functions.describe(value);
    const kind = isClass ? 'class' : 'function';
    if (reason !== undefined) lists.add(lost, advice.lost(name, 'function', reason));
    else lists.add(definitions, { name, kind, code: text.clean(source) });
  }
}

/* Modules as they were asked for, whatever name they were given. */
function imports(lists) {
  const found = [];
  for (const [, args] of globals.imported) {
    const asked = `import(${args.map((arg) => JSON.stringify(arg)).join(', ')})`;
    if (asked.length <= MAX_ASKED_CHARS) lists.add(found, text.clean(asked));
  }
  return found;
}

function describe(maxChars = MAX_CHARS) {
  const lists = new Lists(maxChars);
  const definitions = [];
  const lost = [];
  try {
    references.look();
    for (const [name, read] of names.all()) {
      if (name.length <= MAX_NAME_CHARS) look(lists, name, read(), definitions, lost);
    }
  } catch {
    lists.more = true; // the user has changed what this takes
  }
  const told = { imports: imports(lists), definitions, lost };
  return lists.more ? { ...told, more: true } : told;
}

Object.assign(exports, { describe });
