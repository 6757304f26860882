export * from "./client.js";
export * from "./errors.js";
export * from "./session.js";
export { Operations } from "./operations.js";
export type * as shapes from "./operations.js";

/** The data directory, by the rules of the command line (Node.js). */
export function dataDir(given?: string): string;
/** The program `cella`: beside this package, or on PATH (Node.js). */
export function findProgram(): string | undefined;
