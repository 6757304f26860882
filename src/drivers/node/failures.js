/* Exceptions that nobody caught and rejections that nobody handled, in timers, callbacks and
   promises: reported to the cell that caused them; the session goes on. */
'use strict';

const apply = Reflect.apply;
const noop = () => {};

/* User code has a handler of its own: then that one decides, as in any program. */
function isHandled() {
  const { process } = host;
  return (
    apply(host.listenerCount, process, ['uncaughtException']) > 0 ||
    process.hasUncaughtExceptionCaptureCallback()
  );
}

/* `report` takes what was thrown. */
function install(report) {
  const { process } = host;
  const original = process._fatalException;

  function fatalException(error, isRejection) {
    try {
      if (isHandled()) return apply(original, process, [error, isRejection]) || recover(error);
    } catch (another) {
      return recover(another);
    }
    return recover(error);
  }

  /* As Node.js does after an exception that was handled. */
  function recover(error) {
    report(error);
    host.setImmediate(noop);
    host.asyncWrap.clearAsyncIdStack();
    return true;
  }

  Object.defineProperty(process, '_fatalException', { value: fatalException });
}

Object.assign(exports, { install });
