/* A cell's code, made ready for the evaluator.

   - It gets a name, so that stacks tell where they were.
   - `import(…)` does not work in what the inspector evaluates, `import … from` not in a script:
     both become calls of a function in the global scope whose name is as long, so that columns
     stay what they are.
   - A cell that is an object literal, rather than a block, is one, as in the REPL.

   What the parser does not understand is left as it is. */
'use strict';

const IMPORT = '$mport';
const OBJECT = /^\s*\{[^]*[^;\s]\s*$/;
const PARSER_OPTIONS = {
  ecmaVersion: 'latest',
  sourceType: 'script',
  allowAwaitOutsideFunction: true,
  allowImportExportEverywhere: true,
  allowHashBang: true,
};

let parser;

function acorn() {
  parser ??= host.loadParser();
  return parser;
}

/* The tree of some code, or null. */
function parse(code) {
  try {
    return acorn().parse(code, PARSER_OPTIONS);
  } catch {
    return null;
  }
}

/* A sourceURL cannot have a space in it; what is shown has one (errors.js). */
function nameOf(id) {
  return `<cell:${id}>`;
}

function prepare(id, code) {
  let ready = code;
  if (OBJECT.test(code) && parse(`(${code}\n)`) !== null) ready = `(${code}\n)`;
  if (ready.includes('import')) ready = rewriteImports(ready);
  return `${ready}\n//# sourceURL=${nameOf(id)}`;
}

function rewriteImports(code) {
  const tree = parse(code);
  if (tree === null) return code;
  const edits = [];
  for (const node of nodesOf(tree)) {
    if (node.type === 'ImportExpression') {
      edits.push({ start: node.start, end: node.start + IMPORT.length, text: IMPORT });
    } else if (node.type === 'ImportDeclaration') {
      edits.push({ start: node.start, end: node.end, text: declaration(node, code) });
    }
  }
  return applyEdits(code, edits);
}

function* nodesOf(tree) {
  const rest = [tree];
  while (rest.length > 0) {
    const node = rest.pop();
    if (typeof node.type === 'string') yield node;
    for (const key of Object.keys(node)) {
      const child = node[key];
      if (child !== null && typeof child === 'object') rest.push(child);
    }
  }
}

function applyEdits(code, edits) {
  let edited = code;
  for (const { start, end, text } of edits.sort((a, b) => b.start - a.start)) {
    edited = edited.slice(0, start) + text + edited.slice(end);
  }
  return edited;
}

/* As many lines as the statement had. */
function declaration(node, code) {
  const call = `await ${IMPORT}(${node.source.raw}${optionsOf(node)})`;
  const names = [];
  let whole = null;
  for (const specifier of node.specifiers) {
    const local = specifier.local.name;
    if (specifier.type === 'ImportNamespaceSpecifier') whole = local;
    else names.push(`${importedName(specifier)}: ${local}`);
  }
  const lines = '\n'.repeat(code.slice(node.start, node.end).split('\n').length - 1);
  const pattern = `{ ${names.join(', ')} }`;
  if (whole !== null) {
    return `const ${whole} = ${call}${names.length ? `, ${pattern} = ${whole}` : ''};${lines}`;
  }
  return node.specifiers.length > 0 ? `const ${pattern} = ${call};${lines}` : `${call};${lines}`;
}

function importedName(specifier) {
  if (specifier.type === 'ImportDefaultSpecifier') return 'default';
  const { imported } = specifier;
  return imported.type === 'Literal' ? imported.raw : imported.name;
}

/* import … with { type: 'json' }, where the parser knows it */
function optionsOf(node) {
  const attributes = node.attributes ?? [];
  if (attributes.length === 0) return '';
  const pairs = attributes.map(({ key, value }) => `${key.raw ?? key.name}: ${value.raw}`);
  return `, { with: { ${pairs.join(', ')} } }`;
}

Object.assign(exports, { IMPORT, PARSER_OPTIONS, acorn, parse, nodesOf, prepare });
