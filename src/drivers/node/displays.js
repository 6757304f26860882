/* display(value): a typed output of the running cell, in its place between what the cell prints:
   the daemon has taken everything before it when it acknowledges. */
'use strict';

const cells = load('cells');
const outputs = load('outputs');
const streams = load('streams');

const { addon } = host;

let send = null; // (cell, output): returns when it was acknowledged

function show(output) {
  const cell = streams.currentCell();
  if (cell === null || !cells.isRunning(cell)) {
    streams.print(`${output.text ?? `<an output of type ${output.type}>`}\n`);
    return;
  }
  addon.shield(true);
  try {
    send(cell, output);
  } finally {
    addon.shield(false);
  }
}

function install(sender) {
  send = sender;
  const display = host.wrapFunction('display', (...values) => {
    for (const value of values) show(outputs.displayOf(value));
  });
  for (const [kind, make] of Object.entries(outputs.KINDS)) {
    display[kind] = host.wrapFunction(kind, (content) => show(make(content)));
  }
  Object.defineProperty(host.global, 'display', {
    configurable: true, enumerable: false, writable: true, value: display,
  });
}

Object.assign(exports, { install });
