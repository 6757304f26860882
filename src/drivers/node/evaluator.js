/* Runs code in the session's global scope as a console of the inspector does: declarations may be
   made again, and `await` works everywhere. The inspector speaks JSON; an object that it only names
   is fetched through a slot that its side and ours both know.

   The connection is that below inspector.Session, whose own JavaScript shares the user's realm. */
'use strict';

const GROUP = 'cell';
const TAKE = 'function(value){this.value=value}';
const GIVE = 'function(){return this.value}';

const apply = Reflect.apply;
const { Connection } = host;
const { dispatch, disconnect } = Connection.prototype;

/* How the slot is asked for, of a function that is in the global scope anyway (globals.js). */
const SLOT_KEY = `slot ${Math.random()}`;
const slot = Object.create(null);

let connection;
let lastId = 0;
let callbacks = new Map(); // id of the call -> what takes its answer
let slotId;
let hasObjects = false;
/* What the code under way will resolve. The inspector holds it weakly, and calls back when it is
   collected: within the garbage collector, where nothing may be called. */
let pending = null;

function onMessage(message) {
  const { id, error, result } = JSON.parse(message);
  const callback = callbacks.get(id);
  callbacks.delete(id);
  callback?.(error === undefined ? result : null);
}

/* `callback` takes the result, or null. */
function post(method, params, callback) {
  const id = ++lastId;
  if (callback !== undefined) callbacks.set(id, callback);
  apply(dispatch, connection, [JSON.stringify({ id, method, params })]);
}

/* `giveSlot` is the name of a global function that returns the slot for its key. */
let giveSlot;
function start(name) {
  giveSlot = name;
  connection = new Connection(onMessage);
  callbacks = new Map();
  hasObjects = false;
  pending = null;
  slot.value = undefined;
  const expression = `${giveSlot}(${JSON.stringify(SLOT_KEY)})`;
  post('Runtime.evaluate', { expression, objectGroup: 'driver' }, (answer) => {
    slotId = answer.result.objectId;
  });
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
  post('Runtime.evaluate', params, (answer) => {
    pending = null;
    if (answer === null) callback({});
    else if (answer.exceptionDetails) callback(failure(answer.exceptionDetails));
    else callback({ value: fetch(answer.result) });
  });
  stop();
}

function failure(details) {
  const thrown = details.exception === undefined ? details.text : fetch(details.exception);
  return { thrown, place: { line: details.lineNumber + 1, column: details.columnNumber + 1 } };
}

/* {value} of an expression that waits for nothing, or {thrown}. */
function tryNow(expression) {
  let result = { thrown: undefined };
  post('Runtime.evaluate', { expression, objectGroup: GROUP, silent: true }, (answer) => {
    if (answer?.exceptionDetails) result = failure(answer.exceptionDetails);
    else if (answer !== null) result = { value: fetch(answer.result) };
  });
  return result;
}

/* Likewise; undefined if it throws. */
function evaluateNow(expression) {
  return tryNow(expression).value;
}

/* How the code of a cell says what is in the slot. */
function slotExpression() {
  return `${giveSlot}(${JSON.stringify(SLOT_KEY)}).value`;
}

function propertiesOf(objectId) {
  let found = {};
  post('Runtime.getProperties', { objectId, ownProperties: true }, (answer) => {
    found = answer ?? {};
  });
  return found;
}

/* The names in each of the scopes that a function sees within the global ones; null if nobody
   knows. */
function scopesOf(value) {
  let scopes = null;
  slot.value = value;
  const params = { functionDeclaration: GIVE, objectId: slotId, objectGroup: GROUP, silent: true };
  post('Runtime.callFunctionOn', params, (answer) => {
    hasObjects = true;
    const inner = propertiesOf(answer.result.objectId).internalProperties ?? [];
    scopes = inner.find(({ name }) => name === '[[Scopes]]')?.value.objectId ?? null;
  });
  slot.value = undefined;
  if (scopes === null) return null;
  const inner = propertiesOf(scopes).result.map((scope) => scope.value).filter((scope) =>
    scope?.description !== undefined && !/^(Script|Global)$/.test(scope.description));
  return inner.map(({ objectId }) => propertiesOf(objectId).result.map(({ name }) => name));
}

/* Ends what the inspector keeps for a cell: objects, and the wait for an end that nobody is
   interested in any more. */
function release() {
  if (pending !== null) {
    apply(disconnect, connection, []);
    start(giveSlot);
  } else if (hasObjects) {
    hasObjects = false;
    post('Runtime.releaseObjectGroup', { objectGroup: GROUP });
  }
}

function lexicalNames() {
  let names = [];
  post('Runtime.globalLexicalScopeNames', {}, (answer) => {
    if (answer !== null) names = answer.names;
  });
  return names;
}

Object.assign(exports, {
  SLOT_KEY, slot, slotExpression, start, evaluate, evaluateNow, tryNow, scopesOf, release,
  lexicalNames,
});
