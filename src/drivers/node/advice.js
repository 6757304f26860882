/* What to tell about something that cannot be saved: by its type, what to do about it. */
'use strict';

const ADVICE = {
  __proto__: null,
  Promise: 'await it and keep the result',
  Proxy: 'make it again around its target',
  symbol: 'use Symbol.for(), or make it again',
  closure: 'it uses variables of the function that made it: make it again',
  function: 'define it again',
  class: 'define it again',
  getter: 'define it again',
  Generator: 'recreate it, or keep its values in an array',
  AsyncGenerator: 'recreate it, or keep its values in an array',
  WeakMap: 'fill it again',
  WeakSet: 'fill it again',
  WeakRef: 'make it again',
  SharedArrayBuffer: 'copy it into an ArrayBuffer, or make it again',
  Timeout: 'start the timer again',
  Immediate: 'start it again',
  Socket: 'connect again',
  TCPSocketWrap: 'connect again',
  TCPServerWrap: 'start the server again',
  Server: 'start the server again',
  ProcessWrap: 'start the process again',
  ChildProcess: 'start the process again',
  Worker: 'start the worker again',
  MessagePort: 'open it again',
  ReadStream: 'open the file again',
  WriteStream: 'open the file again',
  FileHandle: 'open the file again',
  URL: 'keep its text (href) and make it again',
  deep: 'it is nested too deeply: keep it in an array',
  private: 'its class has private fields (#name): keep its data and make it again',
};

/* `kind` where the reason is another than the type. */
function lost(name, type, kind = type) {
  const advice = ADVICE[kind] ?? 'make it again';
  return { name, type, advice: `Note: '${name}' (${type}) not persisted - ${advice}` };
}

Object.assign(exports, { lost });
