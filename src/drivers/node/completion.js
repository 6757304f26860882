/* How a text could go on at the cursor, and what stands there. No code of the user's runs: names
   are read as names.js does, properties by their descriptors; what only a getter or a proxy could
   tell is not told. */
'use strict';

const names = load('names');
const text = load('text');

const apply = Reflect.apply;
const { types } = host;

const MAX_MATCHES = 500;
const MAX_CHARS = 200;
const MAX_JSON_CHARS = 16 << 10; // of UTF-8 three times as many bytes, at most
const MAX_LINE = 4000;
const MAX_LEVELS = 32;
const MAX_KEYS = 20000;
const MAX_SIGNATURE = 1000;
const MAX_DOC = [4000, 16000];
const MAX_SOURCE = 16000;

const NAME = '[\\p{ID_Start}$_][\\p{ID_Continue}$]*';
const STEP = `(?:\\??\\.${NAME}|\\[(?:\\d+|'[^'\\\\\\n]*'|"[^"\\\\\\n]*")\\])`;
const CHAIN = `${NAME}${STEP}*`;
const APART = '(?<![\\p{ID_Continue}$.])'; // what follows is the beginning of a chain
const MEMBER = new RegExp(`${APART}(${CHAIN})\\s*\\??\\.\\s*([\\p{ID_Continue}$]*)$`, 'u');
const WORD = /(?<![\p{ID_Continue}$.])([\p{ID_Continue}$]*)$/u;
const KEY = new RegExp(`${APART}(${CHAIN})\\[\\s*(['"])([^'"\\n]*)$`, 'u');
const REQUIRE = /(?:\brequire\(\s*|\bfrom\s+|\bimport\s*\(?\s*)(['"])([^'"\n]*)$/;
const OPEN_TEXT = /(['"`])((?:(?!\1)[^\\\n]|\\.)*)$/;
const CALLEE = new RegExp(`${APART}(${CHAIN})\\s*$`, 'u');
const BEFORE = new RegExp(`(?<![\\p{ID_Continue}$])(${CHAIN})\\.?$`, 'u');
const BEHIND = /^[\p{ID_Continue}$]*/u;
const STEPS = new RegExp(`\\??\\.?(${NAME})|\\[(\\d+)\\]|\\[['"]([^'"]*)['"]\\]`, 'uy');
const LIST = '\\([^]*?\\)(?=\\s*\\{)'; // of parameters, before a body
const PARAMETERS = new RegExp('^(?:async\\s+)?(?:' +
  `function\\s*\\*?\\s*[^\\s(]*\\s*${LIST}|[^=]*?=>|[^\\s(]+\\s*${LIST})`);
const CONSTRUCTOR = /\bconstructor\s*(\([^]*?\))\s*\{/;

const KEYWORDS = (
  'async await break case catch class const continue debugger default delete do else export ' +
  'extends false finally for function if import in instanceof let new null return static super ' +
  'switch this throw true try typeof undefined var void while with yield'
).split(' ');

const MISSING = Symbol('not there, or not to be had without code of the user\'s');

/* ---- values ---- */

function ofGlobal(name) {
  const read = names.all().get(name);
  const value = read !== undefined ? read() : property(host.global, name);
  return value === names.UNSET || value === names.ACCESSOR ? MISSING : value;
}

/* Of an object or what a primitive would be wrapped into. */
function descriptorOf(value, key) {
  let at = names.isObject(value) ? value : prototypeOf(value);
  for (let level = 0; names.isObject(at) && level < MAX_LEVELS; level++) {
    if (types.isProxy(at)) return undefined;
    const found = Object.getOwnPropertyDescriptor(at, key);
    if (found !== undefined) return found;
    at = Object.getPrototypeOf(at);
  }
  return undefined;
}

function property(value, key) {
  const found = descriptorOf(value, key);
  return found !== undefined && 'value' in found ? found.value : MISSING;
}

function prototypeOf(value) {
  const makers = { string: 'String', number: 'Number', boolean: 'Boolean', bigint: 'BigInt',
    symbol: 'Symbol' };
  const maker = makers[typeof value];
  return maker === undefined ? null : property(property(host.global, maker), 'prototype');
}

function lookUp(chain) {
  let value = MISSING;
  STEPS.lastIndex = 0;
  for (let first = true; ; first = false) {
    const at = STEPS.lastIndex;
    const match = STEPS.exec(chain);
    if (match === null) return at === chain.length ? value : MISSING;
    const key = match[1] ?? match[2] ?? match[3];
    value = first ? ofGlobal(key) : property(value, key);
    if (value === MISSING) return MISSING;
  }
}

function kindOf(value) {
  if (typeof value !== 'function') return 'variable';
  const type = names.typeOf(value);
  return type === 'class' ? 'class' : 'function';
}

function kindOfMember(descriptor) {
  if (descriptor === undefined) return 'variable';
  return 'value' in descriptor ? kindOf(descriptor.value) : 'property';
}

/* All names of properties, inherited ones too. */
function membersOf(value, prefix) {
  const found = new Map();
  let at = names.isObject(value) ? value : prototypeOf(value);
  for (let level = 0; names.isObject(at) && level < MAX_LEVELS; level++) {
    if (types.isProxy(at)) break;
    const isLong = types.isTypedArray(at) || (Array.isArray(at) && at.length > MAX_KEYS);
    for (const key of isLong ? [] : Object.getOwnPropertyNames(at)) {
      const isName = isIdentifier(key) && key.startsWith(prefix) && !found.has(key);
      if (isName && (prefix.startsWith('_') || !key.startsWith('__'))) {
        found.set(key, kindOfMember(Object.getOwnPropertyDescriptor(at, key)));
      }
    }
    at = Object.getPrototypeOf(at);
  }
  return sorted([...found].map(([key, kind]) => ({ text: key, kind })));
}

const IDENTIFIER = new RegExp(`^${NAME}$`, 'u');

function isIdentifier(key) {
  return key.length <= MAX_CHARS && IDENTIFIER.test(key);
}

function sorted(matches) {
  return matches.sort((a, b) => (a.text < b.text ? -1 : Number(a.text > b.text)));
}

/* ---- how it could go on ---- */

/* Each gives where what is replaced begins, in the line, and the matches; or nothing. */
function modules(line) {
  const match = REQUIRE.exec(line);
  if (match === null) return undefined;
  const [, quote, prefix] = match;
  if (/^[./]/.test(prefix)) return files(line, prefix);
  const found = host.builtinModules.flatMap((name) => [name, `node:${name.replace(/^node:/, '')}`]);
  const matches = [...new Set(found)].filter((name) => name.startsWith(prefix))
    .map((name) => ({ text: name + quote, kind: 'module' }));
  return { start: line.length - prefix.length, matches: sorted(matches) };
}

function keys(line) {
  const match = KEY.exec(line);
  if (match === null) return undefined;
  const value = lookUp(match[1]);
  const nothing = { start: line.length, matches: [] };
  if (!names.isObject(value) || types.isProxy(value) || Array.isArray(value)) return nothing;
  const found = Object.keys(value).slice(0, MAX_KEYS).filter((key) =>
    key.startsWith(match[3]) && !/['"\n\\]/.test(key));
  const matches = found.map((key) => ({ text: key + match[2], kind: 'key' }));
  return { start: line.length - match[3].length, matches };
}

function files(line, typed) {
  const slash = typed.lastIndexOf('/');
  const prefix = typed.slice(slash + 1);
  const where = slash < 0 ? '.' : typed.slice(0, slash + 1);
  const matches = host.readDirectory(where)
    .filter(([name]) => name.startsWith(prefix) && (prefix !== '' || !name.startsWith('.')))
    .map(([name, isDirectory]) => ({ text: isDirectory ? `${name}/` : name, kind: 'path' }));
  return { start: line.length - prefix.length, matches: sorted(matches) };
}

function paths(line) {
  const match = OPEN_TEXT.exec(line);
  if (match === null || match[1] === '`') return undefined;
  const before = line.slice(0, match.index);
  const isOpen = (before.split(match[1]).length - 1) % 2 === 0;
  return isOpen ? files(line, match[2]) : undefined;
}

function members(line) {
  const match = MEMBER.exec(line);
  if (match !== null) {
    const value = lookUp(match[1]);
    const found = value === MISSING || value === null || value === undefined ? []
      : membersOf(value, match[2]);
    return { start: line.length - match[2].length, matches: found };
  }
  const isMember = /[\p{ID_Continue}$\])'"`]\s*\??\.[\p{ID_Continue}$]*$/u.test(line);
  return isMember && !/\d\.\d*$/.test(line) ? { start: line.length, matches: [] } : undefined;
}

function words(line) {
  const match = WORD.exec(line);
  if (match === null || /^\d/.test(match[1])) return { start: line.length, matches: [] };
  const prefix = match[1];
  const found = new Map();
  for (const [name, read] of names.all()) {
    if (name.startsWith(prefix) && isIdentifier(name)) found.set(name, kindOf(read()));
  }
  const own = sorted([...found].map(([name, kind]) => ({ text: name, kind })));
  const given = membersOf(host.global, prefix).filter(({ text: name }) => !found.has(name));
  const reserved = KEYWORDS.filter((word) => word.startsWith(prefix))
    .map((word) => ({ text: word, kind: 'keyword' }));
  return { start: line.length - prefix.length, matches: [...own, ...reserved, ...given] };
}

/* As many as fit; places are numbers of characters, not of UTF-16. */
function bounded(line, before, { start, matches }) {
  const kept = [];
  let size = 0;
  for (const match of matches) {
    const clean = text.clean(match.text);
    if (clean.length > MAX_CHARS) continue;
    size += clean.length + 32;
    if (kept.length === MAX_MATCHES || size > MAX_JSON_CHARS) break;
    kept.push({ text: clean, kind: match.kind });
  }
  const end = [...before].length;
  return {
    start: end - [...line.slice(start)].length, end, matches: kept,
    ...(kept.length < matches.length ? { more: true } : {}),
  };
}

function split(code, cursor) {
  const before = [...code].slice(0, cursor).join('');
  const line = before.slice(before.lastIndexOf('\n') + 1).slice(-MAX_LINE);
  return { before, line };
}

function complete(code, cursor) {
  const { before, line } = split(code, cursor);
  for (const way of [modules, keys, paths, members, words]) {
    try {
      const found = way(line);
      if (found !== undefined) return bounded(line, before, found);
    } catch {
      // the user's realm is not what it was, or there is no such directory
    }
  }
  const end = [...before].length;
  return { start: end, end, matches: [] };
}

/* ---- what stands there ---- */

function callee(before) {
  let depth = 0;
  for (let at = before.length - 1; at >= 0; at--) {
    if (')]}'.includes(before[at])) depth++;
    if ('([{'.includes(before[at]) && --depth < 0) {
      return before[at] === '(' ? CALLEE.exec(before.slice(0, at))?.[1] ?? '' : '';
    }
  }
  return '';
}

function targetAt(code, cursor) {
  const { before, line } = split(code, cursor);
  const behind = BEHIND.exec(code.slice(before.length))[0];
  const match = BEFORE.exec(line);
  const found = match === null ? behind : match[0] + behind;
  return (found || callee(line)).replace(/\.$/, '');
}

function sourceOf(value) {
  return typeof value === 'function' && !types.isProxy(value)
    ? apply(host.functionText, value, []) : '';
}

function signatureOf(name, value) {
  const source = sourceOf(value);
  const last = /[^.]*$/.exec(name)[0];
  if (source === '') return undefined;
  if (source.includes('[native code]')) {
    const count = property(value, 'length');
    return `${last}(${typeof count === 'number' && count > 0 ? `… ${count}` : ''})`;
  }
  const shown = source.startsWith('class')
    ? `new ${last}${CONSTRUCTOR.exec(source)?.[1] ?? '()'}`
    : PARAMETERS.exec(source.slice(0, 4 * MAX_SIGNATURE))?.[0];
  return shown === undefined ? undefined : text.clean(shown.slice(0, MAX_SIGNATURE));
}

/* A comment that stands at the beginning of a function's body is what it has to say of itself. */
function docOf(value, detail) {
  const source = sourceOf(value);
  const comment = /^[^{]*\{\s*(?:\/\*\*?([^]*?)\*\/|((?:\/\/[^\n]*\n\s*)+))/;
  const match = comment.exec(source.slice(0, 32000));
  const doc = (match?.[1] ?? match?.[2] ?? '').replace(/^\s*(?:\*|\/\/) ?/gm, '').trim();
  return doc === '' ? undefined : text.clean(doc.slice(0, MAX_DOC[detail]));
}

function inspect(code, cursor, detail) {
  try {
    const target = targetAt(code, cursor);
    const value = target === '' ? MISSING : lookUp(target);
    if (value === MISSING) return { found: false };
    const source = detail ? sourceOf(value) : '';
    return {
      found: true,
      ...names.describe(target.slice(0, MAX_CHARS), value),
      signature: signatureOf(target, value),
      doc: docOf(value, detail ? 1 : 0),
      source: source === '' ? undefined : text.clean(source.slice(0, MAX_SOURCE)),
    };
  } catch {
    return { found: false };
  }
}

Object.assign(exports, { complete, inspect });
