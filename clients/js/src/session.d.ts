import type { CellaEvent, Client, ClientOptions, Data } from "./client.js";
import type {
  Answer, CellError, Checkpoint as CheckpointShape, DeletedFile, FileEntry, FilePut, FolderMade,
  Name, Names, NotebookExportArgs, Output as OutputShape, Restored, Session as SessionShape,
  SessionCreateArgs, SessionExecArgs, Suspended, TryEnd,
} from "./operations.js";

/** One thing that a cell displayed, or its value: docs/OUTPUTS.md has the types. */
export class Output {
  told: OutputShape;
  readonly type: string;
  readonly text: string;
  readonly html: string | undefined;
  toString(): string;
}
/** A picture; `data` is its bytes, `format` says png, jpeg or gif. */
export class Image extends Output {
  data: Uint8Array;
  readonly format: string;
  readonly width: number;
  readonly height: number;
  /** For the src of an <img>. */
  toDataURL(): string;
}
/** What a cell gave. As a string it reads as a terminal would show it. */
export class Result {
  told: Answer;
  value: Output | undefined;
  outputs: Output[];
  /** ok, error, interrupted, timeout, died; or running, queued, input_required,
   * tool_call_required. */
  readonly status: string;
  readonly ok: boolean;
  readonly isFinished: boolean;
  readonly number: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly text: string | undefined;
  readonly images: Image[];
  readonly error: CellError | undefined;
  readonly prompt: string | undefined;
  readonly checkpoint: number | undefined;
  readonly names: Names;
  readonly seconds: number;
  readonly isTruncated: boolean;
  /** Itself if the code succeeded, else throws CodeFailed. */
  check(): this;
  toString(): string;
}
/** A function that the code of a cell calls: TOOL("name", {…}). */
export type Handed = ((args: any) => unknown) | {
  call: (args: any) => unknown;
  description?: string;
  /** A JSON Schema whose type is "object", or what each parameter takes by its name. */
  parameters?: Record<string, any>;
  read_only?: boolean;
  allowed_callers?: ("direct" | "chain")[];
};
export interface RunOptions extends Omit<SessionExecArgs, "session_id" | "code" | "tools"> {
  /** In seconds. */
  timeout?: number;
  /** After so many seconds the result is told also if the cell still runs. */
  wait?: number;
  onOutput?: (stream: "stdout" | "stderr", text: string) => void;
  /** Answers what the cell asks. */
  input?: ((prompt: string) => string | null | Promise<string | null>) | Iterable<string>;
  /** Answers what the cell calls: functions by their names. */
  tools?: Record<string, Handed>;
  /** Throws CodeFailed if the code fails. */
  check?: boolean;
  /** Ends the cell. */
  signal?: AbortSignal;
}
export interface SessionOptions extends ClientOptions, Omit<SessionCreateArgs, "agent"> {
  client?: Client;
}
/** A live interpreter in a sandbox of its own; starts with its first use. */
export class Session {
  constructor(options?: SessionOptions);
  /** One that exists, by its id or name; close() leaves it alive. */
  static attach(session: string, options?: ClientOptions & { client?: Client }): Session;
  client: Client;
  files: Files;
  readonly id: string;
  start(): Promise<this>;
  end(options?: { keepNotebook?: boolean }): Promise<void>;
  close(): Promise<void>;
  run(code: string, options?: RunOptions): Promise<Result>;
  stream(code: string, options?: Omit<SessionExecArgs, "session_id" | "code"> & {
    signal?: AbortSignal;
  }): AsyncGenerator<CellaEvent, void>;
  wait(result: Result, seconds?: number): Promise<Result>;
  input(text: string | null): Promise<Result>;
  interrupt(): Promise<boolean>;
  undo(to?: number | Checkpoint): Promise<Restored>;
  redo(): Promise<Restored>;
  checkpoints(): Promise<Checkpoint[]>;
  branch(at?: number): Promise<Session>;
  branches(count: number, at?: number): Promise<Session[]>;
  try(code: string, options?: { timeout?: number }): Promise<Try>;
  info(): Promise<SessionShape>;
  names(): Promise<Record<string, Name>>;
  export(format?: NotebookExportArgs["format"]): Promise<Uint8Array>;
  suspend(): Promise<Suspended>;
}
/** A point in a session's past. */
export class Checkpoint {
  session: Session;
  told: CheckpointShape;
  number: number;
  restore(): Promise<Restored>;
  branch(): Promise<Session>;
}
/** A cell that was tried: `result` is what it gave. */
export class Try {
  session: Session;
  result: Result;
  number: number | undefined;
  keep(): Promise<TryEnd | undefined>;
  drop(): Promise<TryEnd | undefined>;
}
/** The files of a session, below /workspace. */
export class Files {
  put(path: string, data: Data): Promise<FilePut>;
  get(path: string): Promise<Uint8Array>;
  readText(path: string): Promise<string>;
  list(path?: string, options?: { recursive?: boolean; pattern?: string }): Promise<FileEntry[]>;
  stat(path: string): Promise<FileEntry>;
  delete(path: string, options?: { recursive?: boolean }): Promise<DeletedFile>;
  mkdir(path: string): Promise<FolderMade>;
  move(path: string, to: string, options?: { replace?: boolean }): Promise<FileEntry>;
  copy(path: string, to: string, options?: { replace?: boolean }): Promise<FileEntry>;
}
