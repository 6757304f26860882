/* SIGINT belongs to the driver: Node.js must not set a handler of its own for it when user code
   listens, nor the default action when it listens no more, which would end the session. Listeners
   are called when a cell is interrupted; the cell ends all the same. */
'use strict';

const apply = Reflect.apply;

function install() {
  const { process } = host;
  for (const event of ['newListener', 'removeListener']) {
    for (const listener of process.rawListeners(event)) {
      process.removeListener(event, listener);
      process.on(event, host.wrapMethod(listener.name, function (type, ...rest) {
        if (type !== 'SIGINT') apply(listener, this, [type, ...rest]);
      }));
    }
  }
}

function tellListeners() {
  const { process } = host;
  if (apply(host.listenerCount, process, ['SIGINT']) === 0) return null;
  try {
    apply(host.emit, process, ['SIGINT', 'SIGINT', 2]);
    return null;
  } catch (error) {
    return { error };
  }
}

Object.assign(exports, { install, tellListeners });
