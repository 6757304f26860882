// What Node.js imports: the same as a browser, and the daemon of this machine.
export * from "./browser.js";
export { dataDir, findProgram } from "./node.js";
