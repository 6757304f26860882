/* Values as typed outputs, all bounded. */
'use strict';

const text = load('text');

const MAX_TEXT_CHARS = 1 << 20;

/* As the REPL of Node.js shows it. */
function textOf(value) {
  try {
    const shown = String(host.inspect(value, { ...host.inspectDefaults, showProxy: true }));
    return text.clean(text.bound(shown, MAX_TEXT_CHARS));
  } catch (error) {
    return '<a value that cannot be shown>';
  }
}

function valueOf(value) {
  return { type: 'text', text: textOf(value) };
}

Object.assign(exports, { textOf, valueOf });
