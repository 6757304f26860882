/* Children that inherit the standard streams get those of the cell that starts them, also when that
   is over and descriptors 1 and 2 are the next one's. */
'use strict';

const streams = load('streams');

const apply = Reflect.apply;

function isInherited(entry, number) {
  const stream = number === 1 ? host.process.stdout : host.process.stderr;
  return entry === 'inherit' || entry === number || entry === stream;
}

function redirect(stdio) {
  const list = stdio === 'inherit' ? ['inherit', 'inherit', 'inherit'] : stdio;
  if (!Array.isArray(list)) return stdio;
  return host.arrayOf(...Array.from(list, (entry, index) =>
    (index === 1 || index === 2) && isInherited(entry, index)
      ? streams.descriptorOf(index)
      : entry,
  ));
}

function install() {
  const { prototype } = host.ChildProcess;
  const original = prototype.spawn;
  prototype.spawn = host.wrapMethod('spawn', function (options) {
    const isLate = streams.descriptorOf(1) !== 1;
    if (isLate) options.stdio = redirect(options.stdio);
    return apply(original, this, [options]);
  });
}

Object.assign(exports, { install });
