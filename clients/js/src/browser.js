// What a browser imports: a daemon is reached at its URL.
export { Client, Events } from "./client.js";
export { ApiError, CellaError, CodeFailed, ConnectionLost, NoDaemon } from "./errors.js";
export { Operations } from "./operations.js";
export { Checkpoint, Files, Image, Output, Result, Session, Try } from "./session.js";
