import { Operations } from "./operations.js";

/** What is sent as the bytes of a file: whole, or piece by piece. */
export type Data = string | Uint8Array | ArrayBuffer | Blob | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

export interface CallOptions {
  /** Leaves the call: the connection is closed. */
  signal?: AbortSignal;
}
export interface TunnelOptions extends CallOptions {
  method?: string;
  /** Behind the port. */
  path?: string;
  headers?: Record<string, string>;
  data?: Data;
}
/** What a server in a session answered. */
export interface Reply {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Uint8Array;
}
export interface CellaEvent {
  name: string;
  data: Record<string, any>;
}
/** Events of a call as they come, the last of which is "result". Leaving early ends the call. */
export class Events implements AsyncIterableIterator<CellaEvent> {
  [Symbol.asyncIterator](): this;
  next(): Promise<IteratorResult<CellaEvent>>;
  return(value?: any): Promise<IteratorResult<CellaEvent>>;
}
/** Messages both ways: strings are text, bytes are binary. */
export interface WebSocketLike extends AsyncIterable<string | Uint8Array> {
  send(message: string | Uint8Array): void;
  close(): void;
}
export interface ClientOptions {
  /** http://HOST:PORT of a daemon; without it the one of this user (Node.js). */
  url?: string;
  key?: string;
  /** The data directory of the daemon. */
  data?: string;
  /** Which agent of the daemon's configuration it speaks for. */
  agent?: string;
  /** The program that starts a daemon. */
  program?: string;
  /** false: none is started. */
  start?: boolean;
  /** How long calls that run no code may be silent. */
  timeoutMs?: number;
}
/** Every operation of the daemon as a method. */
export class Client extends Operations {
  constructor(options?: ClientOptions);
  agent: string | undefined;
  timeoutMs: number;
  /** Closes the connections; sessions go on. */
  close(): void;
}
