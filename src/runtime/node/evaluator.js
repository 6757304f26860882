/* Runs code in the session's global scope as a console of the inspector does: declarations may be
   made again, and `await` works everywhere. The inspector speaks JSON; an object that it only names
   is fetched through a slot that its side and ours both know. */
'use strict';

const GROUP = 'cell';
const SLOT_NAME = Symbol('slot').toString();
const TAKE = 'function(value){this.value=value}';

const apply = Reflect.apply;
const slot = Object.create(null);
let session;
let slotId;
let hasObjects = false;
/* What the code under way will resolve. The inspector holds it weakly, and calls back when it is
   collected: within the garbage collector, where nothing may be called. */
let pending = null;

function post(method, params, callback) {
  apply(host.post, session, [method, params, callback]);
}

function start() {
  session = new host.Session();
  session.connect();
  hasObjects = false;
  pending = null;
  slot.value = undefined;
  host.global[SLOT_NAME] = slot;
  const expression = `globalThis[${JSON.stringify(SLOT_NAME)}]`;
  post('Runtime.evaluate', { expression, objectGroup: 'driver' }, (error, answer) => {
    slotId = answer.result.objectId;
  });
  delete host.global[SLOT_NAME];
}

/* The value itself, of what the inspector describes. */
function fetch(remote) {
  if (remote.objectId !== undefined) {
    hasObjects = true;
    return fetchObject(remote.objectId);
  }
  switch (remote.unserializableValue) {
    case undefined:
      return remote.value;
    case '-0':
      return -0;
    case 'NaN':
    case 'Infinity':
    case '-Infinity':
      return Number(remote.unserializableValue);
    default:
      return BigInt(remote.unserializableValue.slice(0, -1));
  }
}

function fetchObject(objectId) {
  post('Runtime.callFunctionOn', {
    functionDeclaration: TAKE, objectId: slotId, arguments: [{ objectId }], silent: true,
  });
  const { value } = slot;
  slot.value = undefined;
  return value;
}

/* Calls back once with {value} or {thrown, place} or {} if the code was terminated; or never, if it
   never comes to an end. */
function evaluate(expression, callback) {
  const params = { expression, replMode: true, awaitPromise: true, objectGroup: GROUP };
  let isFirst = true;
  const stop = host.onPromiseInit((promise) => {
    if (isFirst) pending = promise;
    isFirst = false;
  });
  post('Runtime.evaluate', params, (error, answer) => {
    pending = null;
    if (error) callback({});
    else if (answer.exceptionDetails) callback(failure(answer.exceptionDetails));
    else callback({ value: fetch(answer.result) });
  });
  stop();
}

/* The value of an expression that waits for nothing; undefined if it throws. */
function evaluateNow(expression) {
  let value;
  post('Runtime.evaluate', { expression, objectGroup: GROUP, silent: true }, (error, answer) => {
    if (!error && !answer.exceptionDetails) value = fetch(answer.result);
  });
  return value;
}

function failure(details) {
  const thrown = details.exception === undefined ? details.text : fetch(details.exception);
  return { thrown, place: { line: details.lineNumber + 1, column: details.columnNumber + 1 } };
}

/* Ends what the inspector keeps for a cell: objects, and the wait for an end that nobody is
   interested in any more. */
function release() {
  if (pending !== null) {
    session.disconnect();
    start();
  } else if (hasObjects) {
    hasObjects = false;
    post('Runtime.releaseObjectGroup', { objectGroup: GROUP });
  }
}

function lexicalNames() {
  let names = [];
  post('Runtime.globalLexicalScopeNames', {}, (error, answer) => {
    if (!error) names = answer.names;
  });
  return names;
}

Object.assign(exports, { start, evaluate, evaluateNow, release, lexicalNames });
