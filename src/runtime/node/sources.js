/* A cell's code, made ready for the evaluator: named, so that stacks tell where they were. */
'use strict';

/* A sourceURL cannot have a space in it; what is shown has one (errors.js). */
function nameOf(id) {
  return `<cell:${id}>`;
}

function prepare(id, code) {
  return `${code}\n//# sourceURL=${nameOf(id)}`;
}

Object.assign(exports, { nameOf, prepare });
