import type { Result } from "./session.js";

/** Something failed: `code` is stable, `message` says what is wrong, `advice` what to do. */
export class CellaError extends Error {
  constructor(message: string, advice?: string, code?: string);
  code: string;
  advice: string;
}
/** The daemon refused a request: docs/ERRORS.md lists the codes. */
export class ApiError extends CellaError {
  constructor(status: number, answer: unknown);
  status: number;
  /** In plan mode it has `refusal`, too. */
  answer: Record<string, any>;
}
/** The daemon went away, or what answers is no daemon. */
export class ConnectionLost extends CellaError {}
/** No daemon runs, and none could be started. */
export class NoDaemon extends CellaError {}
/** The code in a session failed: `result` has all of it. */
export class CodeFailed extends CellaError {
  constructor(message: string, advice: string, result: Result);
  result: Result;
}
