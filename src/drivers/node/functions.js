/* Functions and classes by their source: those that see nothing but the global scope are the same
   again when they are evaluated there. */
'use strict';

const evaluator = load('evaluator');
const sources = load('sources');

const { ownDescriptor } = host;
const apply = Reflect.apply;
const MAX_CHARS = 1 << 20;
const NATIVE = /\{\s*\[native code\]\s*\}\s*$/;
const DECLARATION = /^(async\s+)?function\b|^class\b/;

/* function -> what is said of it; neither its text nor its scopes ever change */
const described = new WeakMap();

/* Does it use the `this` of where it was made? */
function usesOuterThis(tree) {
  const rest = [tree];
  while (rest.length > 0) {
    const node = rest.pop();
    if (node.type === 'ThisExpression' || node.type === 'Super') return true;
    if (/^(FunctionExpression|FunctionDeclaration|ClassBody)$/.test(node.type)) continue;
    for (const key of Object.keys(node)) {
      const child = node[key];
      if (child !== null && typeof child === 'object') rest.push(child);
    }
  }
  return false;
}

function hasPrivateNames(tree) {
  for (const node of sources.nodesOf(tree)) {
    if (node.type === 'PrivateIdentifier' || node.type === 'PrivateName') return true;
  }
  return false;
}

/* One that sees its own name in a scope made for that brings it along. */
function isClosure(value, name) {
  const scopes = evaluator.scopesOf(value);
  return scopes === null || scopes.some((seen) => seen.some((one) => one !== name));
}

function ownName(value) {
  const name = ownDescriptor(value, 'name')?.value;
  return typeof name === 'string' ? name : null;
}

function describeNew(value) {
  if (host.types.isProxy(value)) return { problem: 'Proxy' };
  const source = apply(host.functionText, value, []);
  if (NATIVE.test(source) || source.length > MAX_CHARS) return { problem: 'function' };
  const name = ownName(value);
  if (isClosure(value, name)) return { problem: 'closure' };
  const tree = sources.parse(`(${source})`);
  const expression = tree?.body[0].expression;
  if (expression?.type === 'ArrowFunctionExpression' && usesOuterThis(expression)) {
    return { problem: 'closure' };
  }
  const isClass = /^class\b/.test(source);
  const hasPrivate = isClass && (tree === null ? source.includes('#') : hasPrivateNames(tree));
  return { source, isClass, hasPrivate, name, declared: declaredBy(source, isClass) };
}

/* {source, isClass, hasPrivate, name, declared}, or {problem} */
function describe(value) {
  let description = described.get(value);
  if (description === undefined) {
    description = describeNew(value);
    described.set(value, description);
  }
  return description;
}

/* What the text declares where a statement stands: "var f", "let K"; or null. */
function declaredBy(source, isClass) {
  if (!DECLARATION.test(source)) return null;
  const name = sources.parse(source)?.body[0]?.id?.name;
  return name === undefined ? null : `${isClass ? 'let' : 'var'} ${name}`;
}

/* The function again; throws what its evaluation does. Methods and accessors have a text that is no
   expression. */
function rebuild(source, name) {
  let made = evaluator.tryNow(`(${source}\n)`);
  if ('thrown' in made) {
    const holder = evaluator.tryNow(`({${source}\n})`);
    if ('thrown' in holder) throw made.thrown;
    const key = Reflect.ownKeys(holder.value)[0];
    const { value, get, set } = ownDescriptor(holder.value, key);
    made = { value: value ?? get ?? set };
  }
  if (name !== null && ownName(made.value) !== name) {
    Object.defineProperty(made.value, 'name', { value: name, configurable: true });
  }
  return made.value;
}

Object.assign(exports, { describe, rebuild });
