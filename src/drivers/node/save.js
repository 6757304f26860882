/* The state of the session, written down: declarations (functions, classes, modules, the folder,
   the environment) as JSON, and variables as v8 writes them, one body for each group of names that
   share something. It happens between cells, in the one thread there is: so it is bounded in time.
*/
'use strict';

const advice = load('advice');
const evaluator = load('evaluator');
const globals = load('globals');
const graph = load('graph');
const names = load('names');
const overview = load('overview');
const records = load('records');
const references = load('references');
const text = load('text');

const { addon, ownDescriptor } = host;
const apply = Reflect.apply;

const MAX_MS = 1000; // of work: how busy the machine is does not matter
const MAX_LISTED = 500; // names in the header of a body
const MAX_LOST = 100;
const OVERVIEW_CHARS = 48 << 10; // the daemon reads it where it is, in the database
const SMALL_BYTES = 1024; // such names share one body
const RESOURCES = new Set([
  'Timeout', 'Immediate', 'TCPSocketWrap', 'TCPServerWrap', 'PipeServerWrap', 'ProcessWrap',
  'MessagePort', 'UDPWrap', 'FSEventWrap',
]);

let startEnv = {}; // as the session began

function noteEnvironment() {
  startEnv = { ...host.env };
}

/* ---- names ---- */

/* Which of these names cannot be assigned to. The assignment changes nothing. */
function findConstants(wanted) {
  const code = `[${wanted.map((name) => `() => { ${name} = ${name} }`).join(',')}]`;
  const writers = wanted.length === 0 ? [] : evaluator.evaluateNow(code) ?? [];
  return new Set(wanted.filter((_, index) => {
    try {
      writers[index]();
      return false;
    } catch {
      return true;
    }
  }));
}

/* name -> const, let, var, or global for a property that can be deleted */
function kindsOf(all) {
  const lexical = new Set(evaluator.lexicalNames());
  const constants = findConstants([...all.keys()].filter((name) => lexical.has(name)));
  const kinds = new Map();
  for (const name of all.keys()) {
    if (lexical.has(name)) kinds.set(name, constants.has(name) ? 'const' : 'let');
    else kinds.set(name, isDeletable(name) ? 'global' : 'var');
  }
  return kinds;
}

function isDeletable(name) {
  return ownDescriptor(host.global, name)?.configurable === true;
}

/* Functions first: what else leads to them, then knows them by name. */
function lookAtAll(walk) {
  const all = names.all();
  const kinds = kindsOf(all);
  const bindings = [];
  const later = [];
  for (const [name, read] of all) {
    const value = read();
    if (typeof value === 'function') bind(walk, bindings, name, kinds.get(name), value);
    else later.push([name, value]);
  }
  for (const [name, value] of later) {
    if (value === names.UNSET) continue;
    if (value === names.ACCESSOR) walk.lost.push(advice.lost(name, 'getter'));
    else bind(walk, bindings, name, kinds.get(name), value);
  }
  walk.addFunctionProperties();
  return bindings;
}

/* A name of what is no data: of a function, a module, a symbol. */
function bind(walk, bindings, name, kind, value) {
  const leaf = walk.add(name, kind, value);
  if (leaf !== null && !leaf.gone) bindings.push({ name, kind, leaf: graph.leafCode(leaf) });
}

/* ---- bodies ---- */

function declarations(walk, bindings) {
  const listed = [...walk.functions.values()].map(({ id, description }) => {
    const { source, name, declared } = description;
    return { id, source, name, declared };
  });
  const byLeaf = new Map(listed.map((one) => [`fn:${one.id}`, one]));
  for (const binding of bindings) {
    const made = byLeaf.get(binding.leaf);
    if (made !== undefined && made.declared === `${binding.kind} ${binding.name}`) {
      made.declares = binding.name;
      binding.isDeclared = true;
    }
  }
  for (const one of listed) delete one.declared;
  const { env, unset } = changedEnvironment();
  return { cwd: globals.currentFolder(), env, unset, functions: listed, bindings };
}

function changedEnvironment() {
  const env = {};
  for (const [name, value] of Object.entries(host.env)) {
    if (startEnv[name] !== value) env[name] = value;
  }
  return { env, unset: Object.keys(startEnv).filter((name) => host.env[name] === undefined) };
}

/* Lists of entries; small ones that share nothing are in the first. */
function groupsOf(walk) {
  const groups = new Map();
  for (const entry of walk.entries) {
    const group = graph.groupOf(entry);
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push(entry);
  }
  const small = [];
  const large = [];
  for (const group of groups.values()) {
    const isSmall = group.length === 1 && group[0].size < SMALL_BYTES;
    if (isSmall) small.push(group[0]);
    else large.push(group);
  }
  return small.length > 0 ? [small, ...large] : large;
}

function ofGroup(walk, group) {
  const members = new Set(group.map(graph.groupOf));
  const isMember = ({ entry }) => members.has(graph.groupOf(entry));
  return {
    holes: walk.holes.filter(isMember),
    fixes: [...walk.fixes].filter(([, fix]) => isMember(fix)),
  };
}

function bodyOf(walk, group) {
  const { holes, fixes } = ofGroup(walk, group);
  const root = [
    group.map(({ name, kind }) => [name, kind]),
    group.map(({ value }) => value),
    fixes.map(([object, fix]) => [object, encodeFix(fix)]),
    holes.map(({ place: { container, how, key }, leaf }) =>
      [container, how, key, graph.leafCode(leaf)]),
  ];
  return withHoles(holes, () => host.serialize(root));
}

function encodeFix({ isBare, maker, proto, extras, frozen, lastIndex }) {
  return [isBare ?? false, maker, proto, extras, frozen ?? 0, lastIndex];
}

/* While v8 writes, what it could not write is not there. */
function withHoles(holes, call) {
  const undo = [];
  try {
    for (const { place: { container, how, key } } of holes) undo.push(empty(container, how, key));
    return call();
  } finally {
    for (const fill of undo.reverse()) fill();
  }
}

function empty(container, how, key) {
  if (how === 'value') {
    const value = apply(Map.prototype.get, container, [key]);
    apply(host.mapSet, container, [key, undefined]);
    return () => apply(host.mapSet, container, [key, value]);
  }
  const descriptor = ownDescriptor(container, key);
  Object.defineProperty(container, key, {
    value: undefined, enumerable: true, configurable: true, writable: true,
  });
  return () => Object.defineProperty(container, key, descriptor);
}

/* ---- the whole ---- */

/* The records after the first. */
function makeRecords(maxBytes) {
  const walk = new graph.Walk({ deadline: addon.workedMs() + MAX_MS, maxBytes });
  const bindings = lookAtAll(walk);
  const head = declarations(walk, bindings);
  const made = [{
    header: { rec: 'blob', kind: 'declarations', names: listed(bindings) },
    body: host.bufferFrom(JSON.stringify(head)),
  }, {
    header: { rec: 'blob', kind: 'overview', names: [] },
    body: host.bufferFrom(JSON.stringify(overview.describe(OVERVIEW_CHARS))),
  }];
  for (const group of groupsOf(walk)) {
    try {
      const header = { rec: 'blob', kind: 'variables', names: listed(group) };
      made.push({ header, body: bodyOf(walk, group) });
    } catch {
      for (const { name, value } of group) {
        walk.lost.push(advice.lost(name, names.typeOf(value), 'deep'));
      }
    }
  }
  noteResources(walk);
  if (made.reduce((sum, { body }) => sum + body.length, 0) > maxBytes) {
    throw new graph.TooMuch('size');
  }
  for (const lost of walk.lost.slice(0, MAX_LOST)) made.push({ header: cleanLost(lost) });
  return made;
}

function listed(items) {
  const wanted = items.filter(({ kind }) => kind !== 'properties').slice(0, MAX_LISTED);
  return wanted.map(({ name }) => text.clean(text.bound(name, 100)));
}

function cleanLost({ name, type, advice: note }) {
  return {
    rec: 'lost', name: text.clean(text.bound(name, 200)), type: text.clean(text.bound(type, 100)),
    advice: text.clean(text.bound(note, 400)),
  };
}

/* What runs without a name. */
function noteResources(walk) {
  const active = new Set(apply(host.activeResources, host.process, []));
  for (const kind of active) {
    if (RESOURCES.has(kind)) walk.lost.push(advice.lost('(running)', kind));
  }
}

function failureOf(error, maxBytes) {
  if (error instanceof graph.TooMuch && error.message === 'time') {
    return `The state takes longer than ${MAX_MS} ms to save: keep fewer objects, ` +
      'or large data in typed arrays or files';
  }
  if (error instanceof graph.TooMuch) {
    return `State is more than STATE_MAX_SIZE_MB = ${Math.floor(maxBytes / (1 << 20))}: ` +
      'keep large data in files';
  }
  return text.clean(text.bound(`The state cannot be saved: ${String(error?.message)}`, 500));
}

function write(fd, { format, max_bytes: maxBytes }) {
  addon.write(fd, 's');
  if (format !== 'state') {
    const message = `Node.js saves its state in the format "state", not "${format}"`;
    records.put(fd, { rec: 'failed', message: text.clean(text.bound(message, 200)) });
    return;
  }
  records.put(fd, { rec: 'begin', format, runtime: 'node', version: host.version.slice(1) });
  try {
    references.look();
    for (const { header, body } of makeRecords(maxBytes ?? Infinity)) records.put(fd, header, body);
    records.put(fd, { rec: 'end' });
  } catch (error) {
    records.put(fd, { rec: 'failed', message: failureOf(error, maxBytes) });
  }
}

function save(frame) {
  const fd = addon.takeDescriptor();
  addon.shield(true);
  try {
    write(fd, frame);
  } catch {
    // nobody reads it
  } finally {
    evaluator.release();
    addon.close(fd);
    addon.shield(false);
  }
}

Object.assign(exports, { noteEnvironment, save });
