/* A saved state, put back into a fresh session: first functions, classes and modules, then data.
   What fails is told of by name, and the rest goes on. */
'use strict';

const evaluator = load('evaluator');
const functions = load('functions');
const graph = load('graph');
const names = load('names');
const records = load('records');
const text = load('text');

const { addon } = host;
const apply = Reflect.apply;
const MAX_LOST = 100;

/* One load under way. */
class Restoration {
  constructor() {
    this.functions = new Map(); // id -> function
    this.references = new Map(); // expression -> value
    this.lost = [];
    this.restored = 0;
  }

  fail(name, type, error) {
    const why = text.bound(String(error?.message ?? error), 200);
    this.lost.push({ name, type, advice: `Note: '${name}' (${type}) not restored - ${why}` });
  }

  async run(saved) {
    const bodies = saved.filter(({ header }) => header.rec === 'blob');
    for (const { header, body } of bodies) {
      if (header.kind === 'declarations') await this.declare(JSON.parse(body.toString()));
    }
    for (const { header, body } of bodies) {
      if (header.kind === 'variables') await this.assign(header, body);
    }
    for (const { header } of saved) {
      if (header.rec === 'lost') this.lost.push(header);
    }
  }

  /* ---- declarations ---- */

  async declare({ cwd, env, unset, functions: made, bindings }) {
    this.setSurroundings(cwd, env, unset);
    for (const one of made) await this.define(one);
    const bound = [];
    for (const { name, kind, leaf, isDeclared } of bindings) {
      const value = await this.leafValue(name, leaf);
      if (isDeclared && value !== undefined) this.restored++;
      else if (value !== undefined) bound.push([name, kind, value]);
    }
    await this.bind(bound);
  }

  setSurroundings(cwd, env, unset) {
    Object.assign(host.env, env);
    for (const name of unset) delete host.env[name];
    try {
      apply(host.chdir, host.process, [cwd]);
    } catch (error) {
      this.fail(cwd, 'folder', error);
    }
  }

  async define({ id, source, name, declares }) {
    try {
      let made;
      if (declares === undefined) {
        made = functions.rebuild(source, name);
      } else {
        await evaluate(source);
        made = evaluator.evaluateNow(declares);
      }
      this.functions.set(id, made);
    } catch (error) {
      this.fail(id, 'function', error);
    }
  }

  /* Undefined if it could not be had, which is told of. */
  async leafValue(name, code) {
    const at = code.indexOf(':');
    const what = code.slice(at + 1);
    switch (code.slice(0, at)) {
      case 'fn':
        return this.functions.get(what);
      case 'symbol':
        return graph.symbolOfCode(what);
      default:
        return this.referenceValue(name, what);
    }
  }

  async referenceValue(name, expression) {
    if (!this.references.has(expression)) {
      try {
        this.references.set(expression, await evaluate(expression));
      } catch (error) {
        this.fail(name, 'module', error);
        this.references.set(expression, undefined);
      }
    }
    return this.references.get(expression);
  }

  /* ---- variables ---- */

  async assign({ names }, body) {
    try {
      const [bindings, values, fixes, holes] = host.deserialize(body);
      for (const hole of holes) await this.fill(hole);
      for (const [object, fix] of fixes) await this.mend(object, fix);
      for (const [object, [, , , , frozen]] of fixes) freeze(object, frozen);
      const bound = [];
      bindings.forEach(([name, kind], index) => {
        if (kind === 'properties') this.giveProperties(name, values[index]);
        else bound.push([name, kind, values[index]]);
      });
      await this.bind(bound);
    } catch (error) {
      for (const name of names) this.fail(name, 'variable', error);
    }
  }

  async fill([container, how, key, leaf]) {
    const value = leaf === null ? undefined : await this.leafValue(String(key), leaf);
    if (how === 'value') apply(host.mapSet, container, [key, value]);
    else container[key] = value;
  }

  async mend(object, [isBare, maker, proto, extras, , lastIndex]) {
    if (isBare) Object.setPrototypeOf(object, null);
    if (proto !== undefined) Object.setPrototypeOf(object, proto);
    if (maker !== undefined) {
      const made = this.functions.get(maker);
      if (made === undefined) throw new Error(`its class ${maker} is missing`);
      Object.setPrototypeOf(object, made.prototype);
    }
    if (lastIndex !== undefined) object.lastIndex = lastIndex;
    for (const extra of extras ?? []) await this.giveExtra(object, extra);
  }

  async giveExtra(object, [code, flags, value, leaf, get, set]) {
    const key = graph.keyOfCode(code);
    const part = (one) => (one ? this.leafValue(String(key), one) : undefined);
    const usual = {
      enumerable: (flags & graph.ENUMERABLE) !== 0,
      configurable: (flags & graph.CONFIGURABLE) !== 0,
    };
    if (get !== undefined || set !== undefined) {
      const descriptor = { ...usual, get: await part(get), set: await part(set) };
      Object.defineProperty(object, key, descriptor);
      return;
    }
    const given = leaf === null ? value : await part(leaf);
    const writable = (flags & graph.WRITABLE) !== 0;
    Object.defineProperty(object, key, { ...usual, value: given, writable });
  }

  /* f:name of a function itself, p:name of its prototype */
  giveProperties(id, box) {
    const made = this.functions.get(id);
    if (made === undefined) return;
    for (const key of Object.keys(box)) {
      const owner = key.startsWith('f:') ? made : made.prototype;
      try {
        owner[key.slice(2)] = box[key];
      } catch (error) {
        this.fail(`${id}.${key.slice(2)}`, 'property', error);
      }
    }
  }

  /* ---- names ---- */

  /* As cells would have declared them. */
  async bind(bound) {
    const declared = bound.filter(([, kind]) => kind !== 'global');
    for (const [name, kind, value] of bound) if (kind === 'global') this.setGlobal(name, value);
    if (await this.bindAll(declared)) return;
    for (const one of declared) {
      if (!(await this.bindAll([one]))) this.fail(one[0], 'name', 'it cannot be declared');
    }
  }

  async bindAll(bound) {
    if (bound.length === 0) return true;
    const from = evaluator.slotExpression();
    const code = bound.map(([name, kind], index) => `${kind} ${name} = ${from}[${index}];`);
    evaluator.slot.value = bound.map(([, , value]) => value);
    try {
      await evaluate(`${code.join('\n')}\nundefined`);
      this.restored += bound.length;
      return true;
    } catch {
      return false;
    } finally {
      evaluator.slot.value = undefined;
    }
  }

  setGlobal(name, value) {
    const descriptor = { value, writable: true, enumerable: true, configurable: true };
    Object.defineProperty(host.global, name, descriptor);
    this.restored++;
  }
}

function freeze(object, level) {
  if (level === graph.FIXED) Object.preventExtensions(object);
  else if (level === graph.SEALED) Object.seal(object);
  else if (level === graph.FROZEN) Object.freeze(object);
}

function evaluate(expression) {
  return new Promise((resolve, reject) => {
    evaluator.evaluate(expression, (result) => {
      if ('value' in result) resolve({ value: result.value });
      else reject(result.thrown ?? new Error('it was ended'));
    });
  }).then(({ value }) => value);
}

function cleanLost({ name, type, advice: note }) {
  return {
    name: text.clean(text.bound(name, 200)), type: text.clean(text.bound(type, 100)),
    advice: text.clean(text.bound(note, 400)),
  };
}

/* `answer` takes the frame when all is done. */
function restore({ id }, answer) {
  const fd = addon.takeDescriptor();
  const restoration = new Restoration();
  const end = (message) => {
    names.settle();
    evaluator.release();
    const lost = restoration.lost.slice(0, MAX_LOST).map(cleanLost);
    answer({ ev: 'loaded', id, restored: restoration.restored, lost, message });
  };
  let saved;
  try {
    saved = records.takeAll(fd);
  } catch (error) {
    end(text.clean(error.message));
    return;
  } finally {
    addon.close(fd);
  }
  restoration.run(saved).then(() => end(null), (error) => end(text.clean(String(error?.message))));
}

Object.assign(exports, { restore });
