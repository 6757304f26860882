/* Up to version 22, Node.js follows promises for AsyncLocalStorage by properties that it sets on
   each of them, and that console.log(promise) would show. They are kept in private fields instead,
   which nobody sees. */
'use strict';

class Returned {
  constructor(object) {
    return object; // so that fields of a derived class are added to it
  }
}

class Tracked extends Returned {
  #values = [undefined, undefined, undefined];

  static get(object, index) {
    return #values in object ? object.#values[index] : undefined;
  }

  static set(object, index, value) {
    if (!(#values in object)) new Tracked(object);
    object.#values[index] = value;
  }
}

/* `symbols`, at most three, become accessors of every promise. */
function hide(symbols) {
  symbols.forEach((symbol, index) => {
    Object.defineProperty(host.promisePrototype, symbol, {
      configurable: true,
      get() {
        return Tracked.get(this, index);
      },
      set(value) {
        Tracked.set(this, index, value);
      },
    });
  });
}

Object.assign(exports, { hide });
