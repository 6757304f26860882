/* process.exit(): ends the cell that calls it, and the session goes on. Its listeners have been
   called by then: what is replaced is the last step, which would end the process. */
'use strict';

const { addon } = host;
const apply = Reflect.apply;

/* `leave` takes the exit code, and says whether it is the process that is to end. */
function install(leave) {
  const { process } = host;
  const { reallyExit } = process;
  process.reallyExit = host.wrapMethod('reallyExit', (code) => {
    if (leave(code & 0xff)) apply(reallyExit, process, [code]);
    for (;;); // until V8 has noticed that the cell is to end
  });
  /* Without the stacks of native code and of the driver that Node.js would print. */
  process.abort = host.wrapMethod('abort', () => addon.abort());
}

/* What a process that ended by itself would end with; undefined if nobody said. */
function current() {
  try {
    return host.process.exitCode;
  } catch {
    return undefined;
  }
}

/* The process goes on, also after listeners that failed. */
function goOn() {
  try {
    if (host.process._exiting) host.process._exiting = false;
  } catch {
    // user code made it something else
  }
}

/* As if nobody had exited. `code` is what current() was. */
function forget(code) {
  goOn();
  try {
    host.process.exitCode = code;
  } catch {
    // likewise
  }
}

Object.assign(exports, { install, current, goOn, forget });
