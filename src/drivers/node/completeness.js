/* Is a text a whole piece of code, or would its author go on? Decided as the REPL of Node.js does:
   what fails to parse at its very end may become whole by what follows. Nothing of it runs. */
'use strict';

const sources = load('sources');

const LINE_CONTINUED = /\\(?:\r\n?|\n|\u2028|\u2029)$/;

function makeProbe(Parser, eof) {
  return class extends Parser {
    nextToken() {
      super.nextToken();
      if (this.type === eof) this.isAtEnd = true;
    }

    raise(pos, message) {
      const token = this.input.slice(this.lastTokEnd, this.pos);
      const isOpen = message === 'Unterminated template' || message === 'Unterminated comment' ||
        (message === 'Unterminated string constant' && LINE_CONTINUED.test(token));
      if (isOpen) this.isAtEnd = true;
      super.raise(pos, message);
    }
  };
}

let Probe;

function status(code) {
  const { Parser, tokTypes } = sources.acorn();
  Probe ??= makeProbe(Parser, tokTypes.eof);
  const probe = new Probe(sources.PARSER_OPTIONS, code);
  try {
    probe.parse();
    return 'complete';
  } catch {
    return probe.isAtEnd ? 'incomplete' : 'invalid';
  }
}

function describe(code) {
  try {
    return { status: status(code) };
  } catch {
    return { status: 'unknown' }; // no parser, or the user's realm is not what it was
  }
}

Object.assign(exports, { describe });
