// What can go wrong, as errors that say what to do.

/** Something failed: `code` is stable, `message` says what is wrong, `advice` what to do. */
export class CellaError extends Error {
  constructor(message, advice = "", code = "error") {
    super(advice ? `${message}\n${advice}` : message);
    this.name = new.target.name;
    this.code = code;
    this.advice = advice;
  }
}

/** The daemon refused a request: docs/ERRORS.md lists the codes. */
export class ApiError extends CellaError {
  constructor(status, answer) {
    const error = answer?.error ?? {};
    super(error.message ?? `HTTP status ${status}`, error.advice ?? "", error.code ?? "error");
    this.status = status;
    this.answer = answer ?? {};
  }
}

/** The daemon went away, or what answers is no daemon. */
export class ConnectionLost extends CellaError {
  constructor(message, advice = "", code = "connection_lost") {
    super(message, advice, code);
  }
}

/** No daemon runs, and none could be started. */
export class NoDaemon extends CellaError {
  constructor(message, advice = "") {
    super(message, advice, "no_daemon");
  }
}

/** The code in a session failed: `result` has all of it. */
export class CodeFailed extends CellaError {
  constructor(message, advice, result) {
    super(message, advice, "code_failed");
    this.result = result;
  }
}
