// Made by packaging/pages.py from the program's table of operations: do not edit.

import type { CallOptions, Data, Events, Reply, TunnelOptions, WebSocketLike } from "./client.js";

// The objects of answers; what is empty is left out.

/** The answer to a request that failed. */
export interface Failure {
  /** What went wrong. */
  error: Error;
  /** In plan mode: what was refused. */
  refusal?: Refusal;
  /** The revision that a cell has which was changed meanwhile. */
  revision?: number;
}

/** Why a request failed. */
export interface Error {
  /** Its name: docs/ERRORS.md lists them. */
  code: string;
  /** What is wrong. */
  message: string;
  /** What to do about it. */
  advice?: string;
}

/** Why something was not run in plan mode. */
export interface Refusal {
  /** What was not run. */
  tool_name: string;
  /** What kind of tool that is. */
  tool_kind: string;
  /** How plan mode is left. */
  hint: string;
  /** Since when plan mode is on. */
  entered_at: string;
  /** Why. */
  entered_reason?: string | null;
}

/** What a cell gave. */
export interface Answer {
  /** Its id in the notebook. */
  cell_id?: string;
  /** The cell's number in its session, from 1. */
  number: number;
  /** Why the notebook does not have it. */
  unrecorded?: string;
  /** ok, error, interrupted, timeout, died, queued, running, input_required or tool_call_required. */
  status: string;
  /** What it waits for. */
  input?: Input;
  /** Calls of tools that were handed in: exec.tool_results answers them. */
  tool_calls?: ToolCall[];
  /** What it wrote. */
  stdout?: string;
  /** What it wrote. */
  stderr?: string;
  /** Its last expression. */
  value?: Output;
  /** What it displayed. */
  outputs?: Output[];
  /** Why it failed. */
  error?: CellError;
  /** What to do about what it wrote, if it did not fail. */
  advice?: string;
  /** If it left, or its process ended. */
  exit_code?: number;
  /** bash: the status of the last command. */
  last_status?: number;
  /** Of a !command that failed. */
  command_status?: number;
  /** System calls that were refused. */
  denied?: Denied[];
  /** What it did to names. */
  names?: Names;
  /** How long it ran. */
  duration_ms?: number;
  /** What undo goes back to. */
  checkpoint?: number;
  /** The code did not compile; it ran without typographic signs, and these were replaced. */
  replaced?: string;
  /** The cell called FINAL: the agent's task has its answer. */
  is_final?: boolean;
  /** That answer. */
  final_answer?: string;
  /** The cell called STUCK: why there is none. */
  stuck?: string;
  /** Its output was too long: explore.peek and explore.grep look into this file. */
  spill?: Spill;
  /** Of a structured cell that calls tools: how they were called. */
  tool_chains?: ToolChains;
  /** The last cell whose effects are safe on disk. */
  saved_through?: number;
  /** The checkpoint that a crash took the session back to. */
  rolled_back_to?: number;
  /** The cells that this undid. */
  rolled_back_cells?: number[];
  /** process or durable. */
  restored_from?: string;
  /** What could not be taken back. */
  not_undone?: NotUndone[];
  /** What did not come back. */
  lost?: Lost[];
  /** Files that are lost. */
  files_lost?: string[];
  /** The session came back from disk. */
  resumed?: Resumed;
  /** What earlier cells wrote after their end. */
  late?: Late[];
  /** Why it is not safe on disk, though that was asked for. */
  durable_error?: string;
  /** What could not be saved. */
  not_saved?: Lost[];
  /** Why files could not be saved. */
  files_not_saved?: string;
  /** Of a try: its number, to keep it or take it back. */
  try_id?: number;
  /** Files that it made, changed or removed. */
  files?: Files;
  /** What it did to files could not be told. */
  files_unknown?: boolean;
  /** Something was left out to fit the budget. */
  truncated?: boolean;
  /** How much was left out of what. */
  omitted?: Omitted;
  /** Of events that the client was too slow for. */
  dropped_bytes?: number;
}

/** The line that a cell waits for. */
export interface Input {
  /** What it asks. */
  prompt: string;
  /** Whether what is typed should not be seen. */
  password?: boolean;
}

/** A call that waits for its result. */
export interface ToolCall {
  /** What exec.tool_results answers it by. */
  id: string;
  /** The tool, as it was handed in. */
  name: string;
  /** Its arguments, which have passed its schema. */
  args: any;
}

/** A typed output of a cell. */
export interface Output {
  /** text, html, markdown, latex, svg, image, json, dataframe or error: docs/OUTPUTS.md. */
  type: string;
  /** What a terminal shows. */
  text?: string;
  /** In a notebook, text that was written: stdout or stderr. */
  stream?: string;
  /** As HTML. */
  html?: string;
  /** As Markdown. */
  markdown?: string;
  /** As LaTeX. */
  latex?: string;
  /** As SVG. */
  svg?: string;
  /** As JSON. */
  json?: any | null;
  /** Of an image: png, jpeg, gif. */
  format?: string;
  /** The image, as base64. */
  data?: string;
  /** Pixels. */
  width?: number | null;
  /** Pixels. */
  height?: number | null;
  /** How large the image is. */
  bytes?: number;
  /** Where it can be had. */
  url?: string;
  /** Its name: notebook://SESSION/cell/CELL/image/N. */
  ref?: string;
  /** Of a table. */
  rows?: number;
  /** Of a table. */
  columns?: number;
  /** The columns. */
  dtypes?: Dtype[];
  /** Its first rows, lists of texts. */
  head?: any;
  /** By which a later output may replace it. */
  display_id?: string;
  /** Its other forms, by media type. */
  mime?: Record<string, any>;
  /** What is known of its forms, by media type. */
  metadata?: Record<string, any>;
  /** It was shown after the cell's value. */
  late?: boolean;
  /** In a notebook: it is the value of the cell. */
  value?: boolean;
  /** Bytes that were left out of it. */
  omitted?: number;
  /** Why there is no more of it. */
  note?: string;
  /** Of an imported cell: when it was shown, as its file has it. */
  timestamp?: string;
  /** Of an error. */
  name?: string;
  /** Of an error. */
  message?: string;
  /** Of an error. */
  traceback?: string | null;
  /** Of an error. */
  line?: number | null;
  /** Of an error. */
  column?: number | null;
  /** Of an error. */
  advice?: string | null;
  /** In a notebook, of an error: the lines that ran, with their numbers. */
  code?: string;
}

/** A column of a table. */
export interface Dtype {
  /** The column. */
  name: string;
  /** Its type. */
  dtype: string;
}

/** Why code failed. */
export interface CellError {
  /** ZeroDivisionError, TimedOut, Killed … */
  name: string;
  /** What it says. */
  message: string;
  /** Where it happened. */
  traceback?: string;
  /** The line of the cell, from 1. */
  line?: number;
  /** The column of a syntax error. */
  column?: number;
  /** What to do about it. */
  advice?: string;
}

/** A system call that the sandbox refused. */
export interface Denied {
  /** The system call. */
  call: string;
  /** How often. */
  count: number;
}

/** What a cell did to the names of its session. */
export interface Names {
  /** How many names there are. */
  total?: number;
  /** New ones. */
  added?: string[];
  /** Those with another value. */
  changed?: string[];
  /** Those that are gone. */
  removed?: string[];
  /** All of them. */
  items?: Name[];
  /** There are more than are listed. */
  more?: boolean;
}

/** A name that the code of a session made. */
export interface Name {
  /** The name. */
  name: string;
  /** The type of its value. */
  type: string;
  /** Number of elements. */
  len?: number;
  /** Of an array or a table. */
  shape?: number[];
  /** Of an array. */
  dtype?: string;
  /** Of memory. */
  bytes?: number;
  /** The value, short. */
  text?: string;
}

/** The output of a cell, as a file. */
export interface Spill {
  /** The file_path for explore.peek and explore.grep. */
  path: string;
  /** How many characters the output has. */
  chars: number;
  /** How many lines. */
  lines: number;
}

/** The calls of a structured cell. */
export interface ToolChains {
  /** As toolbox.log has it: twelve letters. */
  chain_id: string;
  /** chain, or direct if the code has one call only. */
  caller_type: "direct" | "chain";
  /** What it calls, in the order of the code. */
  tools: string[];
  /** How long that took. */
  elapsed_ms: number;
  /** All of it was called, and no call failed. */
  success: boolean;
  /** toolbox.chain_mode of the configuration. */
  mode_requested: "legacy" | "seq" | "dep";
  /** seq: one after the other; dep: in waves, each when it has what it needs; parallel_read_only: all at once, because they only read. */
  mode_used: "seq" | "dep" | "parallel_read_only";
  /** The code is more than calls of tools: its interpreter ran it. */
  fallback_to_seq: boolean;
  /** toolbox.parallel_mutations of the configuration. */
  parallel_mutations_enabled: boolean;
  /** How many there were; 0 in a fallback. */
  waves: number;
  /** How many calls were made. */
  steps: number;
}

/** An effect that could not be taken back. */
export interface NotUndone {
  /** process, socket, network … */
  what: string;
  /** More about it. */
  detail?: string;
  /** How many of the kind there were; left out: one. */
  count?: number;
}

/** What could not be saved, or came not back. */
export interface Lost {
  /** The variable. */
  name: string;
  /** The type of its value. */
  type?: string;
  /** What to do instead. */
  advice?: string;
  /** Why. */
  reason?: string;
}

/** How a session came back from disk. */
export interface Resumed {
  /** durable: from disk. */
  restored_from: string;
  /** How many names came back. */
  restored?: number;
  /** The last cell whose effects are there. */
  through?: number;
  /** What did not come back. */
  lost?: Lost[];
  /** Why files are not as they were. */
  files_reason?: string;
  /** Files that are lost. */
  files_lost?: string[];
}

/** What an earlier cell wrote after its end. */
export interface Late {
  /** The cell that wrote it. */
  number: number;
  /** What it wrote. */
  stdout?: string;
  /** What it wrote. */
  stderr?: string;
  /** Bytes that were left out. */
  omitted_bytes?: number;
}

/** What a cell did to files. */
export interface Files {
  /** New files. */
  added?: string[];
  /** Files with other content. */
  changed?: string[];
  /** Files that are gone. */
  removed?: string[];
  /** There are more than are listed. */
  more?: boolean;
}

/** Bytes that were left out of an answer. */
export interface Omitted {
  /** Of stdout. */
  stdout?: number;
  /** Of stderr. */
  stderr?: number;
  /** Of outputs. */
  outputs?: number;
  /** Of the traceback. */
  traceback?: number;
  /** Of the error's message. */
  message?: number;
}

/** The cell that the events are about. */
export interface Accepted {
  /** Its id in the notebook. */
  cell_id?: string;
  /** Its number in the session. */
  number: number;
}

/** A piece of what a cell writes. */
export interface OutputEvent {
  /** stdout or stderr. */
  stream: string;
  /** What was written. */
  text: string;
}

/** What was shown so far goes. */
export interface ClearEvent {
  /** Not before something takes its place. */
  wait?: boolean;
}

/** What code that ran once gave. */
export interface Run {
  /** What it wrote. */
  stdout: string;
  /** What it wrote. */
  stderr: string;
  /** 0, or how it failed. */
  exit_code: number;
  /** The variables, if they were asked for. */
  state?: string | null;
  /** Files that it made. */
  files: RunFile[];
  /** Why it failed. */
  error?: string | null;
  /** How long it ran. */
  execution_time_ms: number;
  /** Typographic signs without which the code ran. */
  replaced?: string;
  /** What could not be saved, or loaded. */
  state_errors?: any;
  /** How large the state is that was kept. */
  state_bytes?: number;
  /** Until when; left out: for ever. */
  state_expires_at?: string;
  /** How many more files there were. */
  files_omitted?: number;
  /** Why files could not be kept. */
  files_error?: string;
  /** What it displayed. */
  outputs?: Output[];
  /** Something was left out to fit the budget. */
  truncated?: boolean;
  /** Of events that the client was too slow for. */
  dropped_bytes?: number;
}

/** A file that code left. */
export interface RunFile {
  /** Its name. */
  name: string;
  /** Where it was. */
  path: string;
  /** How large it is. */
  size: number;
  /** Where it can be had for a time. */
  url: string;
}

/** Whether a cell was interrupted. */
export interface Interrupted {
  /** false: nothing ran. */
  interrupted: boolean;
}

/** A page of output. */
export interface OutputPage {
  /** The session. */
  session_id: string;
  /** The cell; left out: all of them. */
  number?: number;
  /** stdout or stderr. */
  stream: string;
  /** What was written. */
  text: string;
  /** Where the text begins. */
  offset: number;
  /** Where the next page begins. */
  next_offset: number;
  /** How many bytes were written. */
  end: number;
  /** Bytes that were asked for and are not kept any more. */
  dropped?: number;
}

/** The names of a session. */
export interface NameList {
  /** How many there are. */
  total: number;
  /** The names. */
  items: Name[];
  /** There are more than are listed. */
  more?: boolean;
  /** After which cell. */
  as_of?: number;
  /** A cell runs meanwhile. */
  busy?: boolean;
}

/** A file that was put into a workspace. */
export interface FilePut {
  /** The file. */
  path: string;
  /** How large it is. */
  bytes: number;
  /** Whether it is new. */
  created: boolean;
}

/** A file that is gone. */
export interface DeletedFile {
  /** The file. */
  path: string;
  /** true. */
  deleted: boolean;
}

/** A page of what is in a folder. */
export interface FileList {
  /** The folder itself. */
  entry: FileEntry;
  /** What is in it. */
  entries: FileEntry[];
  /** Where the next page goes on: given as after. The last page has none. */
  next?: string;
}

/** A file or folder of a workspace. */
export interface FileEntry {
  /** Below /workspace; empty for that itself. */
  path: string;
  /** What it is. */
  type: "file" | "folder" | "link" | "other";
  /** Of a file; else 0. */
  bytes: number;
  /** Its permissions, as chmod takes them. */
  mode: string;
  /** When it was last changed. */
  modified_at: string;
  /** Where a link leads to. */
  target?: string;
}

/** A folder that is there now. */
export interface FolderMade {
  /** The folder. */
  path: string;
  /** Whether it is new. */
  created: boolean;
}

/** An archive that was unpacked. */
export interface Unpacked {
  /** The folder; empty for the workspace. */
  path: string;
  /** How many files it had. */
  files: number;
  /** How many folders. */
  folders: number;
  /** Of all its files. */
  bytes: number;
}

/** The folder, or the session, is gone. */
export interface FilesWatched {
  /** How many there were. */
  events: number;
}

/** What changed since the last event. */
export interface FileNews {
  /** 200 at most. */
  changes: FileChange[];
  /** How many more there were. */
  left_out?: number;
  /** There are more names than are watched. */
  too_many?: boolean;
}

/** One change of a file. */
export interface FileChange {
  /** What happened. */
  change: "created" | "changed" | "deleted";
  /** Below /workspace. */
  path: string;
  /** What it is or was. */
  type: "file" | "folder" | "other";
  /** Of a file that is there. */
  bytes?: number;
}

/** A text that is explored without being read. */
export interface Context {
  /** Its name. */
  name: string;
  /** How large it is. */
  bytes: number;
  /** How many characters it has. */
  chars: number;
  /** How many lines. */
  lines: number;
}

/** The contexts of a session. */
export interface Contexts {
  /** The contexts. */
  contexts: Context[];
}

/** A context that is gone. */
export interface ContextDeleted {
  /** Its name. */
  name: string;
  /** True. */
  deleted: boolean;
}

/** Some characters of a text. */
export interface Peek {
  /** The characters. */
  text: string;
  /** How many come before. */
  offset: number;
  /** How many the whole text has. */
  chars: number;
  /** Fewer than asked for: an answer holds a megabyte. */
  is_cut?: boolean;
  /** How many of those asked for are missing, then. */
  left?: number;
  /** Of a file in an archive: that it has more, as a line. */
  note?: string;
}

/** Lines that match. */
export interface Grep {
  /** Matches as `12: text`, the lines around them as `11- text`. */
  lines: string[];
  /** How many matches are shown. */
  count: number;
  /** There are more. */
  truncated: boolean;
}

/** A text in pieces of about the same size. */
export interface Chunks {
  /** The pieces, in order. */
  chunks: Chunk[];
}

/** A piece of a text: explore.peek shows any of it, however long it is. */
export interface Chunk {
  /** Which one, from 0. */
  index: number;
  /** How many characters come before. */
  start: number;
  /** Where it ends, likewise. */
  end: number;
  /** The piece, if it was asked for. */
  text?: string;
  /** Only its beginning: an answer holds a megabyte in all. */
  is_cut?: boolean;
  /** How many characters it has. */
  char_count: number;
}

/** What fits a question best. */
export interface Search {
  /** The best first. */
  results: Found[];
  /** What was searched: code or docs. */
  index: string;
  /** What was asked. */
  query: string;
  /** How many files were not searched, and why. */
  skipped?: SearchSkipped;
  /** What the encoder of the configuration could not do. */
  notes?: string;
  /** All of it as TOON. */
  toon?: string;
}

/** A part of a file that was found. */
export interface Found {
  /** Where it is, below /workspace. */
  file: string;
  /** Its first and last line: "12-40". */
  lines: string;
  /** How well it fits: comparable within one answer. */
  score: number;
  /** What it is: "function:NAME", "method:CLASS.NAME", "class:NAME", "section:TITLE", "block:FILE" and the like. */
  unit: string;
  /** How it begins, up to 100 characters; of a section the titles that lead to it. */
  signature: string;
}

/** Files that were not searched. */
export interface SearchSkipped {
  /** Files of more than 1 MiB. */
  too_large?: number;
  /** Files whose beginning has a NUL. */
  binary?: number;
  /** Files beyond 20000, or beyond 512 MiB together. */
  too_many?: number;
  /** Files that could not be read. */
  unreadable?: number;
}

/** A text in pieces, each with what it is. */
export interface ChunkSummaries {
  /** The pieces, in order. */
  chunks: ChunkSummary[];
  /** What the summaries are made by. */
  note: string;
}

/** What is known of a piece of a text. */
export interface ChunkSummary {
  /** Which one, from 0. */
  index: number;
  /** How many characters come before. */
  start: number;
  /** Where it ends, likewise. */
  end: number;
  /** How many characters it has. */
  char_count: number;
  /** How many lines. */
  line_count: number;
  /** The first that is not empty; its beginning. */
  first_line: string;
  /** How many the model has read: the first ones. */
  read_chars?: number;
  /** What the model says; without one, all of that. */
  summary: string;
}

/** What is in an archive. */
export interface Archive {
  /** zip, tar.gz and so on. */
  format: string;
  /** What is in it. */
  files: ArchiveMember[];
  /** How many there are. */
  total: number;
  /** All of this as TOON. */
  toon?: string;
}

/** A file of an archive. */
export interface ArchiveMember {
  /** As the archive has it. */
  name: string;
  /** Bytes, as far as the archive says. */
  size?: number;
  /** file, folder, link or other. */
  type: string;
  /** Where a link leads to. */
  target?: string;
  /** Why it is not unpacked. */
  note?: string;
}

/** What was found in an archive. */
export interface ArchiveHits {
  /** The lines. */
  hits: ArchiveHit[];
  /** There are more. */
  is_cut: boolean;
  /** How many files are text. */
  files_searched: number;
  /** Those that were not searched, and why. */
  skipped: any;
  /** What is not among the hits, as lines for a model. */
  note?: string;
  /** All of this as TOON. */
  toon?: string;
}

/** A line of a file in an archive. */
export interface ArchiveHit {
  /** The archive. */
  archive: string;
  /** The file in it. */
  file: string;
  /** Its line, from 1 on. */
  line: number;
  /** That line, at most 200 characters. */
  match: string;
}

/** An archive that was unpacked. */
export interface Extracted {
  /** How many were made. */
  files: number;
  /** Likewise folders. */
  folders: number;
  /** What was not unpacked, and why. */
  left_out?: any;
}

/** A page of the web. */
export interface Page {
  /** Where it was found at last. */
  url: string;
  /** What the server answered: 200. */
  status: number;
  /** What it says that it is. */
  content_type?: string | null;
  /** Of a page of HTML. */
  title?: string | null;
  /** Its text. */
  text: string;
  /** How many characters that has in all. */
  chars: number;
  /** There are more than are shown. */
  is_cut: boolean;
  /** That, as a line. */
  note?: string;
}

/** What is in a folder. */
export interface Dir {
  /** The folder. */
  path: string;
  /** What is in it, folders first; at most 100. */
  files: DirEntry[];
  /** How many there are. */
  total: number;
  /** There are more than that. */
  more?: boolean;
  /** All of this as TOON. */
  toon?: string;
}

/** A file or a folder in a folder. */
export interface DirEntry {
  /** Its name in the folder. */
  name: string;
  /** What it is. */
  type: "dir" | "file";
  /** Of a file; else 0. */
  size: number;
}

/** What is known of a file. */
export interface FileInfo {
  /** As it was asked for. */
  path: string;
  /** Whether there is such a file or folder. */
  exists: boolean;
  /** What it is. */
  type?: "dir" | "file";
  /** Of a file; else 0. */
  size?: number;
  /** When it was last changed. */
  modified?: string;
  /** The end of its name: .csv */
  extension?: string;
  /** All of this as TOON. */
  toon?: string;
}

/** Something that was worth keeping. */
export interface Finding {
  /** F1, F2 and so on. */
  id: string;
  /** What was found. */
  content: string;
  /** Words to find it by. */
  tags?: string[];
  /** Where: the file, */
  source_file?: string;
  /** its page, */
  source_page?: number;
  /** its section. */
  source_section?: string;
  /** When it was noted. */
  at: string;
}

/** What was found so far. */
export interface Findings {
  /** The oldest first. */
  findings: Finding[];
}

/** That the answer was taken. */
export interface Final {
  /** True: the task has its answer. */
  final: boolean;
}

/** That there is no way on. */
export interface Stuck {
  /** True: it was noted. */
  stuck: boolean;
}

/** What was explored so far. */
export interface ExploreState {
  /** What a model should read of it: contexts, names, the research tree. */
  text: string;
  /** How often what was called, and what it cost. */
  log: any;
  /** What is known of each context, by its name. */
  contexts?: any;
  /** As explore.list_findings has them. */
  findings?: any;
  /** What the last grep found: at most 20. */
  hits?: any;
  /** The answer, or why there is none. */
  final?: any;
  /** Outputs of cells that are files, the oldest first. */
  spills?: any;
  /** The research tree: version, nodes, counters. */
  tree?: any;
}

/** What was explored so far, as a text. */
export interface ExploreText {
  /** What a model should read. */
  text: string;
}

/** The tools that code can call. */
export interface Toolbox {
  /** By their category. */
  tools: ToolEntry[];
  /** How many. */
  total: number;
}

/** A tool that code can call. */
export interface ToolEntry {
  /** What it is called by. */
  name: string;
  /** What it is for. */
  category: string;
  /** What it does. */
  description: string;
  /** By name: `type`, `required`, `default` and bounds, as JSON Schema has them. */
  parameters: any;
  /** What it answers. */
  returns: string;
  /** local_exec, calls_llm, modifies_files, network_access, system_state, read_only. */
  side_effects: string[];
  /** What it needs: network, filesystem, shell, compute. */
  permissions: string[];
  /** direct, chain. */
  allowed_callers: string[];
  /** It can destroy what was there. */
  destructive: boolean;
  /** Arguments of calls. */
  examples?: any;
  /** Of an upstream server, or a caller: all that it says of its arguments. */
  schema?: any;
}

/** What a tool answers. */
export interface ToolboxResult {
  /** Which one. */
  tool: string;
  /** What it answers, as its entry says. */
  result: any;
  /** How long it took. */
  elapsed_ms: number;
}

/** The calls of tools in a session. */
export interface Invocations {
  /** The oldest first. */
  calls: Invocation[];
  /** How many are kept: at most 1000. */
  total: number;
}

/** A call of a tool. */
export interface Invocation {
  /** The tool. */
  tool_name: string;
  /** The agent on whose behalf. */
  role?: string;
  /** direct or chain. */
  caller_type: string;
  /** The chain that it was in, */
  chain_id?: string;
  /** and where. */
  chain_index?: number;
  /** The beginning of its arguments, as JSON. */
  args: string;
  /** It has answered. */
  success: boolean;
  /** The beginning of what it answered, as JSON. */
  result?: string;
  /** Why it failed. */
  error?: string;
  /** How long it took. */
  elapsed_ms: number;
  /** When it ended. */
  at: string;
}

/** That exploring begins anew. */
export interface ExploreReset {
  /** True: nothing is known any more. */
  reset: boolean;
}

/** Nodes of the research tree. */
export interface Nodes {
  /** Their ids, the first one first. */
  nodes: string[];
}

/** What was explored, to be kept elsewhere. */
export interface Research {
  /** The research tree: version, nodes, counters. */
  tree: any;
  /** The exploration log: total_events, function_counts, total_tokens. */
  log: any;
  /** What the log says: strategy (with strategy_type) and efficiency (efficiency_ratio). */
  worth: any;
}

/** A node of the research tree that was marked. */
export interface Mark {
  /** Its id. */
  node: string;
  /** What it is now. */
  status: "analyzed" | "stale";
}

/** What was learnt from similar tasks. */
export interface Recall {
  /** At most 5, the best first, of the 20 most similar with a similarity of 0.3 or more. */
  results: Recalled[];
  /** How the first one was explored. */
  best_action: string | null;
  /** Its combined_score; 0: there is none. */
  confidence: number;
  /** All of it as TOON. */
  toon?: string;
}

/** A similar task that was explored before. */
export interface Recalled {
  /** What was to be found. */
  task: string;
  /** What became of it, the last time; open: it was not told. */
  outcome: "open" | "success" | "partial" | "failure";
  /** How it was explored. */
  action: string;
  /** How well that went so far: 0 to 1, 0.5 before the first outcome. */
  q_value: number;
  /** Of the tasks, up to 1. */
  similarity: number;
  /** 0.7 of q_value and 0.3 of similarity. */
  combined_score: number;
}

/** What was learnt from an exploration. */
export interface Outcome {
  /** The memory's id. */
  memory: string;
  /** What was to be found. */
  task: string;
  /** How it was explored. */
  action: string;
  /** What became of it. */
  outcome: "open" | "success" | "partial" | "failure";
  /** How well this way went so far: 0 to 1. */
  q_value: number;
  /** How many it has learnt from. */
  outcomes: number;
  /** How many memories were forgotten to make room. */
  dropped?: number;
}

/** What the code of a session declared. */
export interface Declarations {
  /** Import statements that are run again. */
  imports?: string[];
  /** Made again from their source. */
  definitions?: Definition[];
  /** What could not be saved. */
  lost?: Lost[];
  /** Whether this tells of what was saved, or of what would be. */
  saved?: boolean;
  /** There is more than is listed. */
  more?: boolean;
  /** After which cell. */
  as_of?: number;
  /** A cell runs meanwhile. */
  busy?: boolean;
}

/** Something that code defined. */
export interface Definition {
  /** function, class … */
  kind?: string;
  /** What it is called. */
  name: string;
  /** Its source. */
  code?: string;
}

/** Whether a text is whole. */
export interface Completeness {
  /** complete, incomplete, invalid or unknown. */
  status: string;
  /** Whether another line may belong to it. */
  goes_on?: boolean;
  /** By how many blanks the next line should begin. */
  indent?: number;
}

/** How a text could go on. */
export interface Completions {
  /** Where what is replaced begins, in characters. */
  start: number;
  /** Where it ends. */
  end: number;
  /** The best first. */
  matches: Match[];
  /** Whether there are more than are told. */
  more?: boolean;
  /** Names alone: the interpreter could not be asked in full. */
  partial?: boolean;
}

/** A way to go on. */
export interface Match {
  /** What would stand there. */
  text: string;
  /** What it is: variable, function, key, path. */
  kind: string;
}

/** What stands at a place of a text. */
export interface Meaning {
  /** Whether there is something; else that is all. */
  found: boolean;
  /** What stands there, or is called there. */
  name?: string;
  /** Its type. */
  type?: string;
  /** Its value, in short. */
  text?: string;
  /** How many elements it has. */
  len?: number;
  /** How large it is. */
  bytes?: number;
  /** Of an array or a table. */
  shape?: number[];
  /** How it is called. */
  signature?: string;
  /** Its documentation. */
  doc?: string;
  /** Where it was defined. */
  file?: string;
  /** Where in that file. */
  line?: number;
  /** Its source, if details were asked for. */
  source?: string;
  /** Likewise how a value is shown; of a table columns and first rows. */
  preview?: string;
  /** The interpreter could not be asked in full. */
  partial?: boolean;
}

/** What a reference stands for. */
export interface Reference {
  /** Its whole name. */
  uri: string;
  /** png, jpeg, gif, svg … */
  format: string;
  /** Pixels. */
  width?: number;
  /** Pixels. */
  height?: number;
  /** How large the file is. */
  bytes?: number;
  /** Where it can be had. */
  url: string;
  /** The image, as base64. */
  data?: string;
}

/** A session's checkpoints. */
export interface CheckpointList {
  /** The oldest first. */
  checkpoints: Checkpoint[];
  /** The one that the present state came from. */
  current: number;
  /** Cells that were run since. */
  cells_since?: number;
  /** How many there are. */
  count: number;
}

/** A point that a session can go back to. */
export interface Checkpoint {
  /** Its number. */
  id: number;
  /** The one before it; 0: the beginning. */
  parent: number;
  /** The last cell before it. */
  cell?: number;
  /** The cells since its parent. */
  cells?: number[];
  /** When it was made. */
  at?: string;
  /** Memory that it holds. */
  memory_bytes?: number;
  /** none, recording, covered or torn: whether it has the files. */
  files?: string;
  /** Why it has not. */
  files_reason?: string;
  /** process, durable or no: how it can be gone back to. */
  restore?: string;
  /** Why it cannot. */
  reason?: string;
  /** Whether it is on disk. */
  saved?: boolean;
  /** How many threads ran. */
  threads?: number;
}

/** Where a session was taken to, and what that undid. */
export interface Restored {
  /** The session. */
  session_id: string;
  /** The checkpoint that it was at. */
  from?: number;
  /** The checkpoint that it is at; 0: the beginning. */
  to?: number;
  /** process: a copy that still lived; durable: from disk. */
  restored_from?: string;
  /** The cells that were taken back, by their number. */
  cells?: number[];
  /** How many more there were. */
  more_cells?: number;
  /** restored, or not_covered: the files are as they were. */
  files?: string;
  /** How many files were put back. */
  files_changed?: number;
  /** Why the files are not as they were. */
  files_reason?: string;
  /** Files that could not be put back. */
  files_lost?: string[];
  /** Names that are gone, as they were, or back. */
  names?: Names;
  /** How many processes were ended. */
  ended_processes?: number;
  /** What could not be taken back. */
  not_undone?: NotUndone[];
}

/** Cells that a session ran. */
export interface RanCells {
  /** The oldest first. */
  cells: RanCell[];
  /** How many there are. */
  count: number;
}

/** A cell that a session ran. */
export interface RanCell {
  /** Its id. */
  cell_id: string;
  /** Its number. */
  number: number;
  /** What it ran. */
  code: string;
  /** How it ended. */
  status: string;
  /** When. */
  executed_at?: string;
  /** How long it ran. */
  duration_ms?: number;
}

/** Copies of a session. */
export interface Branches {
  /** The checkpoint that they begin at. */
  at: number;
  /** The branches. */
  sessions: Session[];
  /** How many. */
  count: number;
  /** Why there are fewer than were asked for. */
  trouble?: string;
}

/** A session. */
export interface Session {
  /** Its id. */
  session_id: string;
  /** What it can be called instead. */
  name?: string;
  /** By which it is found. */
  labels?: Record<string, string>;
  /** starting, idle, busy, suspended or dead. */
  state: string;
  /** python, node or bash. */
  runtime: string;
  /** What was imported. */
  profile?: string;
  /** Whose it is; left out: the agent default's. */
  agent?: string;
  /** The inbound binding that it was made through. */
  binding?: string;
  /** The agent's user for whom it was made. */
  user?: string;
  /** The session whose sandbox it shares. */
  joined?: string;
  /** When it last worked. */
  used_at?: string;
  /** When it was made. */
  spawned_at?: string;
  /** How many cells it was given. */
  exec_count?: number;
  /** Cells that wait for their turn. */
  queued?: number;
  /** Memory that its processes use. */
  memory_bytes?: number;
  /** Processor time that they have used. */
  cpu_ms?: number;
  /** Of one that has ended. */
  exit_code?: number;
  /** Where it began to work. */
  cwd?: string;
  /** Bytes that its cells wrote. */
  output_len?: number;
  /** What it may use. */
  limits?: Limits;
  /** Whether its processes may trace each other. */
  debug?: boolean;
  /** After how long without use it is suspended; 0: never. */
  idle_timeout_secs?: number;
  /** How long it may live; 0: for ever. */
  max_age_secs?: number;
  /** When checkpoints are made: auto, every or off. */
  checkpoints?: string;
  /** The number that the next checkpoint gets. */
  checkpoint?: number;
  /** How long its cells may run that name no time; if set. */
  timeout_ms?: number;
  /** Bytes of output in answers that name no budget; if set. */
  budget?: number;
  /** reference or inline, where a cell does not say; if set. */
  images?: string;
  /** Its code has the functions that explore. */
  explore?: boolean;
  /** Its cells are: see structured of session.exec. */
  structured?: boolean;
  /** shared, or per_cell: each cell has a fresh process. */
  isolation?: string;
  /** auto: what it has is kept on disk; off: it is not. */
  durable?: string;
  /** The last cell whose effects are safe on disk. */
  saved_through?: number;
  /** Whether that is all there is. */
  all_saved?: boolean;
  /** Why something could not be saved. */
  not_saved?: string;
  /** If in plan mode. */
  plan?: Plan;
  /** Why it ended. */
  reason?: string;
}

/** What a session may use. */
export interface Limits {
  /** Memory, in MiB. */
  memory_mb: number;
  /** Processor time; 100 is one core. */
  cpu_percent: number;
  /** Processes and threads. */
  pids: number;
  /** /workspace, in MiB. */
  disk_mb: number;
  /** Memory for checkpoints besides, in MiB; the oldest are given up first. */
  checkpoint_mb: number;
  /** Processor time of each process, in seconds; 0 is no limit. */
  cpu_seconds: number;
}

/** Plan mode. */
export interface Plan {
  /** Why it was entered, if that was said. */
  reason?: string;
  /** Since when. */
  entered_at: string;
}

/** How a try ended. */
export interface TryEnd {
  /** The session. */
  session_id: string;
  /** The try. */
  try_id: number;
  /** committed or discarded. */
  outcome: string;
  /** The checkpoint that it was at. */
  from?: number;
  /** The checkpoint that it is at; 0: the beginning. */
  to?: number;
  /** process: a copy that still lived; durable: from disk. */
  restored_from?: string;
  /** The cells that were taken back, by their number. */
  cells?: number[];
  /** How many more there were. */
  more_cells?: number;
  /** restored, or not_covered: the files are as they were. */
  files?: string;
  /** How many files were put back. */
  files_changed?: number;
  /** Why the files are not as they were. */
  files_reason?: string;
  /** Files that could not be put back. */
  files_lost?: string[];
  /** Names that are gone, as they were, or back. */
  names?: Names;
  /** How many processes were ended. */
  ended_processes?: number;
  /** What could not be taken back. */
  not_undone?: NotUndone[];
}

/** A list of sessions. */
export interface SessionList {
  /** The sessions. */
  sessions: Session[];
  /** How many are listed. */
  count: number;
  /** How many there are. */
  total: number;
  /** The cursor of the next page. */
  next?: string;
}

/** A session that was suspended. */
export interface Suspended {
  /** The session. */
  session_id: string;
  /** suspended. */
  state: string;
  /** The last cell whose effects are safe on disk. */
  saved_through?: number;
  /** What the next cell will not find. */
  lost?: Lost[];
  /** Why files could not be saved. */
  files_not_saved?: string;
}

/** A session that was resumed. */
export interface Awake {
  /** The session. */
  session_id: string;
  /** idle, or busy. */
  state: string;
  /** What came back; none if it was there. */
  resumed?: Resumed;
}

/** A session that was ended. */
export interface Killed {
  /** The session. */
  session_id: string;
  /** true. */
  killed: boolean;
  /** What became of its notebook, if it had one: kept or deleted. */
  notebook?: string;
}

/** A change of a notebook. */
export interface CellChange {
  /** The notebook. */
  notebook_id: string;
  /** The cell as it is now. */
  cell?: Cell;
  /** The id of the cell that is gone. */
  deleted_cell_id?: string;
  /** How many cells there are. */
  cell_count: number;
}

/** A cell of a notebook. */
export interface Cell {
  /** Its id. */
  cell_id: string;
  /** Of its last run, from 1: N of In [N]; left out: it did not run. */
  number?: number;
  /** Its place, from 0. */
  index: number;
  /** code, markdown or raw. */
  kind: string;
  /** What it says. */
  code?: string;
  /** idle, queued, running, ok, error, timeout, interrupted or died. */
  status: string;
  /** What it did was taken back. */
  undone?: boolean;
  /** The number that it had where it was imported from. */
  execution_count?: number;
  /** When it was made. */
  created_at?: string;
  /** When it last ran. */
  executed_at?: string;
  /** How long. */
  duration_ms?: number;
  /** Counts its changes. */
  revision?: number;
  /** What it showed. */
  outputs?: Output[];
  /** What callers keep with it. */
  metadata?: Record<string, any>;
}

/** The cells of a notebook. */
export interface CellList {
  /** The notebook. */
  notebook_id: string;
  /** The cells. */
  cells: Cell[];
  /** Where the page begins. */
  offset: number;
  /** How many cells there are. */
  count: number;
}

/** Cells of a notebook that were run. */
export interface NotebookRun {
  /** The notebook. */
  notebook_id: string;
  /** Those that ran. */
  cells: Ran[];
  /** How many. */
  ran: number;
  /** The first cell that failed and was not meant to. */
  failed_cell_id?: string;
}

/** A cell that was run. */
export interface Ran {
  /** The cell. */
  cell_id: string;
  /** Of its run. */
  number?: number;
  /** Its place, from 0. */
  index: number;
  /** How it ended. */
  status: string;
  /** bash: the status of the last command. */
  last_status?: number;
  /** If it left. */
  exit_code?: number;
  /** Typographic signs without which it ran. */
  replaced?: string;
}

/** The end of a stream of events. */
export interface Watched {
  /** The notebook. */
  notebook_id: string;
  /** How many events there were. */
  events: number;
}

/** The beginning of a stream. */
export interface Watching {
  /** The notebook. */
  notebook_id: string;
}

/** A cell that is new or has changed. */
export interface CellEvent {
  /** Counts the events of a notebook. */
  seq: number;
  /** The cell. */
  cell: Cell;
}

/** Something happened to a cell. */
export interface IdEvent {
  /** Counts the events of a notebook. */
  seq: number;
  /** The cell. */
  cell_id?: string;
  /** Of its last run. */
  number?: number;
  /** Its new place. */
  index?: number;
  /** Not before something takes its place. */
  wait?: boolean;
}

/** A cell showed something. */
export interface NotebookOutput {
  /** Counts the events of a notebook. */
  seq: number;
  /** The cell. */
  cell_id: string;
  /** Of its run. */
  number?: number;
  /** stdout or stderr. */
  stream?: string;
  /** What was written. */
  text?: string;
  /** What was shown. */
  output?: Output;
  /** It is the value of the cell. */
  value?: boolean;
  /** It takes the place of what has its display_id. */
  update?: boolean;
}

/** Something was removed. */
export interface CellsCleared {
  /** Counts the events of a notebook. */
  seq: number;
  /** outputs or cells. */
  what?: string;
}

/** What cells did was taken back. */
export interface CellsUndone {
  /** Counts the events of a notebook. */
  seq: number;
  /** Cells with a larger number are undone, */
  after: number;
  /** but for these. */
  redone: number[];
}

/** A notebook was described anew. */
export interface NotebookChanged {
  /** Counts the events of a notebook. */
  seq: number;
  /** What it is called. */
  title?: string;
  /** What callers keep with it. */
  metadata?: Record<string, any>;
}

/** Events that the client was too slow for. */
export interface Lagged {
  /** How many. */
  dropped: number;
}

/** The notebook is gone. */
export interface NotebookDeleted {
  /** Counts the events of a notebook. */
  seq: number;
}

/** A notebook that was reset. */
export interface Reset {
  /** The notebook. */
  notebook_id: string;
  /** Whether there was an interpreter. */
  reset: boolean;
  /** How many processes were ended. */
  ended_processes?: number;
}

/** A notebook. */
export interface Notebook {
  /** Its id, which is its session's. */
  notebook_id: string;
  /** What it is called. */
  title?: string;
  /** The agent whose it is. */
  user?: string;
  /** What runs it. */
  runtime?: string;
  /** Of its session; left out: there is none. */
  state?: string;
  /** How many cells it has. */
  cell_count?: number;
  /** How many were run. */
  execution_count?: number;
  /** When it was made. */
  created_at?: string;
  /** When it changed. */
  updated_at?: string;
  /** What callers keep with it. */
  metadata?: Record<string, any>;
  /** A page of its cells. */
  cells?: Cell[];
  /** Where that page begins. */
  offset?: number;
  /** How many cells there are. */
  count?: number;
  /** Cells of a file that got another id. */
  renamed_ids?: number;
}

/** Notebooks. */
export interface NotebookList {
  /** The newest first. */
  notebooks: Notebook[];
  /** How many there are. */
  count: number;
}

/** A notebook that is gone. */
export interface DeletedNotebook {
  /** The notebook. */
  notebook_id: string;
  /** true. */
  deleted: boolean;
}

/** Whether the daemon is ready. */
export interface Health {
  /** ok or starting. */
  status: string;
  /** Of the daemon. */
  version: string;
  /** How many there are. */
  sessions?: number;
  /** Interpreters that are ready. */
  pooled?: number;
}

/** Whether code can be run, tried out. */
export interface HealthDetailed {
  /** ok, starting or unhealthy. */
  status: string;
  /** Of the daemon. */
  version: string;
  /** How many there are. */
  sessions?: number;
  /** Interpreters that are ready. */
  pooled?: number;
  /** Sessions whose memory is being copied for a checkpoint or a save. */
  copying?: number;
  /** Those that wait for their turn. */
  to_copy?: number;
  /** Memory that the daemon has allocated. */
  heap_bytes?: number;
  /** What came of running a line of code. */
  check: Check;
  /** What is ready. */
  sandbox: Sandbox;
  /** How writing to disk goes. */
  store?: Store;
  /** What is kept for clients of MCP. */
  mcp?: McpClients;
}

/** A line of code that was run. */
export interface Check {
  /** Whether it ran. */
  ok: boolean;
  /** How long it may take. */
  timeout_secs?: number;
  /** How long it took. */
  execution_time_ms?: number;
  /** Why it failed. */
  error?: string;
}

/** What is ready to run code. */
export interface Sandbox {
  /** Whether interpreters are kept ready. */
  repl_enabled: boolean;
  /** Of sessions that name none. */
  default_profile: string;
  /** How long loading may take. */
  warmup_timeout_secs?: number;
  /** The profiles. */
  profiles: Profile[];
  /** How many interpreters are to be ready. */
  size?: number;
  /** How many are. */
  ready?: number;
  /** Sessions that got one at once. */
  hits?: number;
  /** Those that had to wait. */
  misses?: number;
}

/** A profile. */
export interface Profile {
  /** Its name. */
  profile: string;
  /** What runs it. */
  runtime: string;
  /** asleep, starting, ready or failed. */
  state: string;
  /** How many interpreters are to be ready. */
  size?: number;
  /** How many are. */
  ready?: number;
  /** Sessions that got one at once. */
  hits?: number;
  /** Those that had to wait. */
  misses?: number;
  /** How long loading took. */
  warmup_ms?: number;
  /** Of its Python. */
  python_version?: string;
  /** What is imported. */
  preloaded_modules?: any;
  /** What could not be. */
  skipped_modules?: any;
  /** How long that took. */
  import_ms?: any;
  /** Why it failed. */
  failure?: string;
  /** What this machine lacks for it. */
  missing?: string;
}

/** How writing to disk goes. */
export interface Store {
  /** Whether writing works. */
  ok: boolean;
  /** Why not. */
  error?: string;
  /** What waits to be written. */
  queued?: number;
  /** Transactions so far. */
  groups_written?: number;
  /** Of the database. */
  database_bytes?: number;
  /** Of its journal. */
  journal_bytes?: number;
  /** Of heap_bytes: the database's cache and statements. */
  memory_bytes?: number;
}

/** What is kept for clients of MCP. */
export interface McpClients {
  /** Clients with a session, or a line. */
  sessions: number;
  /** Requests that hear of changes. */
  listeners: number;
  /** Under way, or to be fetched. */
  tasks: number;
  /** Of heap_bytes: what these tasks take. */
  task_bytes: number;
}

/** Where clients get tokens, as RFC 9728 has it. */
export interface OauthResource {
  /** What tokens must be made for. */
  resource: string;
  /** Cella. */
  resource_name: string;
  /** Who makes tokens. */
  authorization_servers: string[];
  /** What tokens must have. */
  scopes_supported: string[];
  /** header. */
  bearer_methods_supported: string[];
}

/** What there is, in short. */
export interface Index {
  /** cella. */
  name: string;
  /** Of the daemon. */
  version: string;
  /** How to begin. */
  about: string;
  /** Where the whole description is. */
  openapi: string;
  /** What there is. */
  operations: IndexEntry[];
}

/** An operation, in short. */
export interface IndexEntry {
  /** Its name. */
  name: string;
  /** Of HTTP. */
  method: string;
  /** Its path. */
  path: string;
  /** What it does. */
  doc: string;
}

/** A description of the API as OpenAPI has it. */
export interface Openapi {
  /** 3.1.0. */
  openapi: string;
  /** Title and version. */
  info: Record<string, any>;
  /** This one. */
  servers: any;
  /** A key. */
  security: any;
  /** The operations. */
  paths: Record<string, any>;
  /** What they share. */
  components: Record<string, any>;
}

/** All operations. */
export interface OperationList {
  /** The operations. */
  operations: Operation[];
  /** The objects that answers are made of. */
  shapes: Shape[];
  /** How many operations there are. */
  count: number;
}

/** An operation. */
export interface Operation {
  /** Its name. */
  name: string;
  /** Of HTTP. */
  method: string;
  /** Its path. */
  path: string;
  /** What it is about. */
  subject: string;
  /** What it does. */
  doc: string;
  /** read_only, mutating, streams … */
  flags: string[];
  /** What it takes. */
  params: Parameter[];
  /** The shape of its answer. */
  result?: string;
  /** Another one that it may have. */
  other_result?: string;
  /** Bytes instead of an answer: what they are. */
  sends?: string;
  /** Of HTTP when it succeeds. */
  statuses: number[];
  /** Of its stream. */
  events?: Event[];
  /** The codes that it can fail with. */
  errors: string[];
  /** Arguments of a call. */
  example: Record<string, any>;
  /** Its verb of the command line. */
  verb?: Verb;
}

/** A parameter of an operation. */
export interface Parameter {
  /** Its name. */
  name: string;
  /** What it is. */
  type: string;
  /** body, path or query. */
  in: string;
  /** Whether it must be given. */
  required: boolean;
  /** null says the same as leaving it out. */
  nullable?: boolean;
  /** What it is to the limits of agents. */
  means?: string;
  /** Least value or length. */
  min?: number;
  /** Largest value or length. */
  max?: number;
  /** What it may be. */
  choices?: string[];
  /** Of an object, or of each of a list: parameters like this one. */
  members?: any;
  /** What it says. */
  doc: string;
}

/** An event of a stream. */
export interface Event {
  /** Its name. */
  name: string;
  /** What it carries. */
  shape: string;
  /** When it comes. */
  doc: string;
}

/** A verb of the command line. */
export interface Verb {
  /** What is typed behind cella. */
  words: string;
  /** Parameters given by their place; ? may be left out, ... may be given again. */
  takes?: string[];
}

/** An object of an answer. */
export interface Shape {
  /** Its name. */
  name: string;
  /** What it is. */
  doc: string;
  /** Its members. */
  members: Member[];
}

/** A member of an answer. */
export interface Member {
  /** Its name. */
  name: string;
  /** What it is. */
  type: string;
  /** Every such answer has it. */
  always?: boolean;
  /** It may be null. */
  nullable?: boolean;
  /** Which object it is, or each of the list. */
  shape?: string;
  /** What it may be. */
  choices?: string[];
  /** What it says. */
  doc: string;
}

/** The agents of the configuration. */
export interface AgentList {
  /** The agents. */
  agents: Agent[];
  /** Through what they are asked. */
  inbound_bindings: Binding[];
  /** How many agents there are. */
  count: number;
  /** What anybody may ask for at most. */
  max_limits?: MaxLimits;
}

/** An agent. */
export interface Agent {
  /** Its name. */
  agent: string;
  /** What it may do. */
  repl: ReplRules;
  /** How many it has. */
  sessions: number;
  /** If it is in plan mode. */
  plan?: Plan;
}

/** What an agent may do. */
export interface ReplRules {
  /** Whether it may use interpreters at all. */
  enabled: boolean;
  /** Which ones; empty: all. */
  allowed_runtimes?: string[];
  /** How many sessions it may have. */
  max_sessions?: number;
  /** How long a cell may run that names no time. */
  timeout_secs?: number;
  /** The longest time that it may name. */
  max_timeout_secs?: number;
  /** The most output that an answer holds. */
  max_output_bytes?: number;
  /** Its ceilings. */
  max_limits?: MaxLimits;
  /** Whether sessions may be debugged: ask, always or never. */
  debug?: string;
  /** Bytes of output in an answer that names no budget. */
  budget?: number;
  /** reference or inline, where an answer does not say. */
  images?: string;
  /** auto, every or off, where a session does not say. */
  checkpoints?: string;
}

/** What a caller may ask for at most; those that are set. */
export interface MaxLimits {
  /** Memory, in MiB. */
  memory_mb?: number;
  /** Processor time; 100 is one core. */
  cpu_percent?: number;
  /** Processes and threads. */
  pids?: number;
  /** /workspace, in MiB. */
  disk_mb?: number;
  /** Memory for checkpoints besides, in MiB; the oldest are given up first. */
  checkpoint_mb?: number;
}

/** An inbound binding. */
export interface Binding {
  /** Its name. */
  plugin: string;
  /** Whom it asks. */
  agent?: string;
  /** What holds there. */
  repl?: ReplRules;
}

/** Whether a session is in plan mode. */
export interface SessionPlan {
  /** The session. */
  session_id: string;
  /** Left out: not in plan mode. */
  plan?: Plan;
}

/** Whether an agent is in plan mode. */
export interface AgentPlan {
  /** The agent. */
  agent: string;
  /** Left out: not in plan mode. */
  plan?: Plan;
}

/** What an agent remembers of explorations. */
export interface MemoryList {
  /** Those that learnt last come first. */
  memories: Memory[];
  /** How many there are. */
  count: number;
}

/** What is remembered of an exploration. */
export interface Memory {
  /** Its id. */
  memory: string;
  /** Whose it is. */
  agent: string;
  /** And of which of its users. */
  user?: string;
  /** The session that it last learnt from. */
  session_id: string;
  /** What was to be found. */
  task: string;
  /** How it was explored. */
  action: string;
  /** What became of it, the last time; open: it was not told. */
  outcome: "open" | "success" | "partial" | "failure";
  /** How well that went: 0 to 1. */
  q_value: number;
  /** How many it has learnt from. */
  outcomes: number;
  /** What was called and what it cost, as explore.state has it. */
  log?: any;
  /** When it was first remembered. */
  created_at: string;
  /** When it last learnt. */
  updated_at: string;
}

/** A memory that is gone. */
export interface DeletedMemory {
  /** The memory. */
  memory: string;
  /** true. */
  deleted: boolean;
}

/** Memories that are gone. */
export interface ClearedMemories {
  /** How many were forgotten. */
  deleted: number;
}

/** States that are kept under a name. */
export interface StateList {
  /** The states. */
  states: State[];
  /** How many there are. */
  count: number;
}

/** Variables that are kept under a name. */
export interface State {
  /** Its name. */
  name: string;
  /** Whose it is. */
  agent?: string;
  /** How large it is. */
  bytes?: number;
  /** When it was saved. */
  saved_at?: string;
  /** Until when it is kept; left out: for ever. */
  expires_at?: string;
  /** The state itself, as base64. */
  state?: string;
}

/** A state that is gone. */
export interface DeletedState {
  /** The state. */
  name: string;
  /** true. */
  deleted: boolean;
}

/** An answer of the repl tool: each action has its own members. */
export interface ReplAnswer {
  /** spawn: the session. */
  session_id?: string;
  /** spawn: what runs in it. */
  runtime?: string;
  /** spawn, kill: what was done. */
  message?: string;
  /** exec, read: what is new. */
  stdout?: string;
  /** exec, read: what is new. */
  stderr?: string;
  /** exec: the code runs on. */
  timed_out?: boolean;
  /** exec: if the interpreter ended. */
  exit_code?: number | null;
  /** exec: where pictures are. */
  images?: Output[];
  /** exec, bash: the status of the last command. */
  last_status?: number;
  /** exec: what to do about what the code wrote. */
  advice?: string;
  /** exec: of a !command that failed. */
  command_status?: number;
  /** exec: typographic signs without which the code ran. */
  replaced?: string;
  /** exec: the checkpoint that a crash led to. */
  rolled_back_to?: number;
  /** exec: the cells that this undid. */
  rolled_back_cells?: number[];
  /** exec: process or durable. */
  restored_from?: string;
  /** exec: what could not be taken back. */
  not_undone?: NotUndone[];
  /** exec: what did not come back. */
  lost?: Lost[];
  /** exec: files that are lost. */
  files_lost?: string[];
  /** exec: the session came back from disk. */
  resumed?: Resumed;
  /** exec: what earlier cells wrote after their end. */
  late?: Late[];
  /** list: the sessions. */
  sessions?: Listed[];
  /** list: how many there are. */
  count?: number;
}

/** A session, as the repl tool lists it. */
export interface Listed {
  /** Its id. */
  session_id: string;
  /** What runs in it. */
  runtime: string;
  /** Where it began. */
  cwd?: string | null;
  /** When it was made. */
  spawned_at?: string;
  /** Bytes that it wrote. */
  output_len?: number;
  /** Of one that has ended. */
  exit_code?: number | null;
}

/** What a tool answers, as MCP has it. */
export interface ToolResult {
  /** The answer. */
  content: ToolContent[];
  /** The code failed. */
  isError?: boolean;
  /** What still runs or waits. */
  pending?: ToolPending;
}

/** A piece of a tool's answer, as MCP has it. */
export interface ToolContent {
  /** text, image or resource_link. */
  type: string;
  /** What a model reads. */
  text?: string;
  /** An image, as base64. */
  data?: string;
  /** What an image or a resource is. */
  mimeType?: string;
  /** Of a resource. */
  uri?: string;
  /** Of a resource. */
  name?: string;
}

/** A cell that goes on. */
export interface ToolPending {
  /** The session, by its name if it has one. */
  session: string;
  /** The cell's number. */
  exec_id: number;
  /** running, input or tools. */
  kind: string;
  /** What the cell asks. */
  prompt?: string;
  /** Whether what is typed should not be seen. */
  is_password?: boolean;
  /** The calls that wait for results. */
  tool_calls?: ToolCall[];
}

/** Tools for models. */
export interface ToolList {
  /** The tools. */
  tools: Tool[];
  /** How many. */
  count: number;
}

/** A tool, as MCP describes it. */
export interface Tool {
  /** What it is called. */
  name: string;
  /** What a model is told of it. */
  description: string;
  /** Its arguments, as JSON Schema. */
  inputSchema: Record<string, any>;
  /** What MCP says of tools. */
  annotations: Record<string, any>;
}

// The arguments of operations.

export interface SessionExecArgs {
  /** The session. */
  session_id: string;
  /** The cell: source code, at most 1 MiB. */
  code: string;
  /** How long the cell may run before it is interrupted; default: the session's timeout_ms, else the agent's timeout_secs, 30 seconds if nothing else is configured; with yield_ms its max_timeout_secs, a day. */
  timeout_ms?: number;
  /** How many bytes of output the answer may hold; default: the session's or the agent's budget, else 8 KiB come whole, and of more the first and last lines, 3 KiB; pictures have up to 4 MiB beside that. At most the agent's max_output_bytes. */
  budget?: number;
  /** Answer after this time with what there is so far, also if the cell still runs; without it the answer comes at the end. */
  yield_ms?: number | null;
  /** What becomes of the cell if the client goes away before the answer: continue (default; the answer is kept) or cancel. If it is given, a client that closes only its own side counts as gone too. */
  on_disconnect?: "continue" | "cancel";
  /** true: the answer lists the session's names; false: it says nothing about them; without it, which ones the cell added, changed or removed. */
  names?: boolean | null;
  /** The answer comes when what the cell did is safe on disk. */
  durable?: boolean;
  /** reference (default): the answer says where images are kept, what they are and how large; inline: it has their data, too, within the budget. */
  images?: "reference" | "inline";
  /** true: outputs come with their HTML, tables with their types and first rows. Without it an output that has a text is that; the notebook has all of it. */
  html?: boolean;
  /** The answer says which files of /workspace the cell added, changed or removed; it waits until they are recorded. */
  files?: boolean;
  /** true: the code is looked at before it runs. If it is nothing but x = tool(...) and tool(...), the daemon makes the calls, those that only read at once, and writes what came of them; default: the session's. Python, in sessions that explore. */
  structured?: boolean | null;
  /** Tools that the caller hands in: code calls them as those of the toolbox, the answer is tool_call_required then, and exec.tool_results answers them. */
  tools?: {name: string; description?: string; parameters?: Record<string, any>; read_only?: boolean; allowed_callers?: string[]}[] | null;
  /** How long such a call may wait for its result before the cell is stopped; default: five minutes. */
  tool_deadline_ms?: number | null;
}

export interface ExecContinueArgs {
  /** The session. */
  session_id: string;
  /** The cell, by the number or the cell_id of its first answer. */
  cell: string;
  /** How many bytes of output the answer may hold; default: the session's or the agent's budget, else 8 KiB come whole, and of more the first and last lines, 3 KiB; pictures have up to 4 MiB beside that. At most the agent's max_output_bytes. */
  budget?: number;
  /** Answer after this time with what there is so far, also if the cell still runs; without it the answer comes at the end. */
  yield_ms?: number | null;
  /** What becomes of the cell if the client goes away before the answer: continue (default; the answer is kept) or cancel. If it is given, a client that closes only its own side counts as gone too. */
  on_disconnect?: "continue" | "cancel";
}

export interface ExecArgs {
  /** What to run: source code, at most 1 MiB. */
  code: string;
  /** The interpreter. */
  runtime?: "python" | "node" | "bash";
  /** What is already imported, by the name of a profile of the configuration. */
  profile?: string | null;
  /** The variables to begin with: the state of an earlier answer. Python only. */
  state?: string | null;
  /** Whether the answer is to hold the variables, for another run to begin with. */
  capture_state?: boolean | null;
  /** A name under which the state is kept here: loaded before, if there is one, and saved after the code has succeeded. */
  state_name?: string | null;
  /** How long it is kept under its name; 0 is for ever. Default as configured. */
  state_ttl_secs?: number | null;
  /** Files that it finds in its directory: their text by their path; of bytes that are no text data:;base64, and the bytes in base64. */
  files?: Record<string, string> | null;
  /** What it reads from its standard input, at most 1 MiB; lines of at most 64 KiB. */
  stdin?: string | null;
  /** How long the cell may run before it is interrupted; default: the session's timeout_ms, else the agent's timeout_secs, 30 seconds if nothing else is configured; with yield_ms its max_timeout_secs, a day. */
  timeout_ms?: number;
  /** How many bytes of output the answer may hold; default: the session's or the agent's budget, else 8 KiB come whole, and of more the first and last lines, 3 KiB; pictures have up to 4 MiB beside that. At most the agent's max_output_bytes. */
  budget?: number;
  /** true: outputs come with their HTML, tables with their types and first rows. Without it an output that has a text is that; the notebook has all of it. */
  html?: boolean;
  /** On whose behalf, by a name of the configuration; without it the agent "default". */
  agent?: string | null;
  /** The inbound binding through which the agent was asked. */
  binding?: string | null;
}

export interface SessionInputArgs {
  /** The session. */
  session_id: string;
  /** The line, without its newline; either this or eof. */
  text?: string;
  /** There is no more input: the reader sees its end. */
  eof?: boolean;
  /** The number of the cell that is meant; without it the one that waits. */
  number?: number;
  /** How many bytes of output the answer may hold; default: the session's or the agent's budget, else 8 KiB come whole, and of more the first and last lines, 3 KiB; pictures have up to 4 MiB beside that. At most the agent's max_output_bytes. */
  budget?: number;
  /** Answer after this time with what there is so far, also if the cell still runs; without it the answer comes at the end. */
  yield_ms?: number | null;
  /** What becomes of the cell if the client goes away before the answer: continue (default; the answer is kept) or cancel. If it is given, a client that closes only its own side counts as gone too. */
  on_disconnect?: "continue" | "cancel";
}

export interface ExecToolResultsArgs {
  /** The session. */
  session_id: string;
  /** The cell, by the number or the cell_id of its first answer. */
  cell: string;
  /** What became of calls, by their ids: of each a result or an error. */
  results: {id: string; result?: any; error?: string}[];
  /** How many bytes of output the answer may hold; default: the session's or the agent's budget, else 8 KiB come whole, and of more the first and last lines, 3 KiB; pictures have up to 4 MiB beside that. At most the agent's max_output_bytes. */
  budget?: number;
  /** Answer after this time with what there is so far, also if the cell still runs; without it the answer comes at the end. */
  yield_ms?: number | null;
  /** What becomes of the cell if the client goes away before the answer: continue (default; the answer is kept) or cancel. If it is given, a client that closes only its own side counts as gone too. */
  on_disconnect?: "continue" | "cancel";
}

export interface SessionInterruptArgs {
  /** The session. */
  session_id: string;
}

export interface SessionOutputArgs {
  /** The session. */
  session_id: string;
  /** Only what the cell with this number wrote; without it the whole session's output. */
  number?: number;
  /** Where to begin, in bytes; default 0. Go on with the next_offset of the answer. */
  offset?: number;
  /** Bytes at most; default 65536. */
  limit?: number;
  /** Which of the two; default stdout. */
  stream?: "stdout" | "stderr";
}

export interface SessionNamesArgs {
  /** The session. */
  session_id: string;
  /** How many names at most; default 1000. */
  max?: number;
}

export interface SessionFilePutArgs {
  /** The session. */
  session_id: string;
  /** The file, below /workspace: data/points.csv. Slashes may stand as they are. */
  path: string;
}

export interface SessionFileGetArgs {
  /** The session. */
  session_id: string;
  /** The file, below /workspace: data/points.csv. Slashes may stand as they are. */
  path: string;
}

export interface SessionFileDeleteArgs {
  /** The session. */
  session_id: string;
  /** The file, below /workspace: data/points.csv. Slashes may stand as they are. */
  path: string;
  /** Deletes a folder with all that is in it. */
  recursive?: boolean;
}

export interface SessionFileListArgs {
  /** The session. */
  session_id: string;
  /** A folder below /workspace; default: /workspace itself. */
  path?: string;
  /** Lists what is in folders of it, too. */
  recursive?: boolean;
  /** Only names that match: *.csv. With a slash, paths from the folder on: **​/test_*.py. */
  pattern?: string;
  /** The next page: what the last answer has as its next. */
  after?: string;
  /** How many at most; default 200. Fewer come if their names are long. */
  limit?: number;
}

export interface SessionFileStatArgs {
  /** The session. */
  session_id: string;
  /** The file, below /workspace: data/points.csv. Slashes may stand as they are. */
  path: string;
}

export interface SessionFileMkdirArgs {
  /** The session. */
  session_id: string;
  /** The folder, below /workspace. Folders on the way are made. */
  path: string;
}

export interface SessionFileMoveArgs {
  /** The session. */
  session_id: string;
  /** The file or folder, below /workspace. */
  path: string;
  /** Its new path. Folders on the way are made. */
  to: string;
  /** Takes the place of a file that is there. */
  replace?: boolean;
}

export interface SessionFileCopyArgs {
  /** The session. */
  session_id: string;
  /** The file or folder, below /workspace. */
  path: string;
  /** Its new path. Folders on the way are made. */
  to: string;
  /** Takes the place of a file that is there. */
  replace?: boolean;
}

export interface SessionArchiveGetArgs {
  /** The session. */
  session_id: string;
  /** A folder below /workspace; default: /workspace itself. */
  path?: string;
}

export interface SessionArchivePutArgs {
  /** The session. */
  session_id: string;
  /** A folder below /workspace; default: /workspace itself. */
  path?: string;
}

export interface SessionFileEventsArgs {
  /** The session. */
  session_id: string;
  /** A folder below /workspace; default: /workspace itself. */
  path?: string;
}

export interface ContextLoadArgs {
  /** The session. */
  session_id: string;
  /** Its name; default: context. */
  name?: string;
  /** A file below /workspace, */
  path?: string;
  /** a file in it, if it is an archive, */
  member?: string;
  /** or a page of a domain that web_domains lists for its agent, */
  url?: string;
  /** or the text itself. */
  text?: string;
}

export interface ContextPutArgs {
  /** The session. */
  session_id: string;
  /** Its name. */
  name: string;
}

export interface ContextGetArgs {
  /** The session. */
  session_id: string;
  /** Its name. */
  name: string;
}

export interface ContextListArgs {
  /** The session. */
  session_id: string;
}

export interface ContextDeleteArgs {
  /** The session. */
  session_id: string;
  /** Its name. */
  name: string;
}

export interface ExplorePeekArgs {
  /** The session. */
  session_id: string;
  /** How many characters; default 500. */
  n?: number;
  /** How many characters come before; default 0. */
  offset?: number;
  /** The context by its name; default: the one called context. */
  context?: string;
  /** Instead of a context: a file below /workspace. */
  file_path?: string;
  /** Leaves the call out of the research tree and the log. */
  quiet?: boolean;
}

export interface ExploreGrepArgs {
  /** The session. */
  session_id: string;
  /** A regular expression, as PCRE has them; upper and lower case are the same. */
  pattern: string;
  /** How many lines around each match are shown; default 2. */
  context_lines?: number;
  /** How many matches at most; default: max_grep_results of the configuration, 100. */
  max_results?: number;
  /** The pattern is a text that is looked for as it is. */
  literal?: boolean;
  /** Upper and lower case are not the same. */
  case?: boolean;
  /** The context by its name; default: the one called context. */
  context?: string;
  /** Instead of a context: a file below /workspace. */
  file_path?: string;
  /** Leaves the call out of the research tree and the log. */
  quiet?: boolean;
}

export interface ExploreChunksArgs {
  /** The session. */
  session_id: string;
  /** How many; default 4. */
  n_chunks?: number;
  /** How many characters two of them share; default 200. */
  overlap?: number;
  /** Each with its text, as far as an answer holds it. */
  text?: boolean;
  /** The context by its name; default: the one called context. */
  context?: string;
  /** Instead of a context: a file below /workspace. */
  file_path?: string;
  /** Leaves the call out of the research tree and the log. */
  quiet?: boolean;
}

export interface ExploreCodeSearchArgs {
  /** The session. */
  session_id: string;
  /** What is looked for, in words or as names. */
  query: string;
  /** How many results at most; default 5. */
  limit?: number;
  /** Ranks by words alone, without vectors. */
  words_only?: boolean;
  /** Instead of the session's files: a folder that the configuration names. */
  corpus?: string;
  /** Adds the answer as TOON, where that is shorter. */
  toon?: boolean;
  /** Leaves the call out of the research tree and the log. */
  quiet?: boolean;
}

export interface ExploreDocSearchArgs {
  /** The session. */
  session_id: string;
  /** What is looked for, in words or as names. */
  query: string;
  /** How many results at most; default 5. */
  limit?: number;
  /** Ranks by words alone, without vectors. */
  words_only?: boolean;
  /** Instead of the session's files: a folder that the configuration names. */
  corpus?: string;
  /** Adds the answer as TOON, where that is shorter. */
  toon?: boolean;
  /** Leaves the call out of the research tree and the log. */
  quiet?: boolean;
}

export interface SearchFindArgs {
  /** What is looked for, in words or as names. */
  query: string;
  /** Code, or sections of documents; default code. */
  kind?: "code" | "doc";
  /** A folder that the configuration names in search.corpora. */
  corpus?: string;
  /** Or a session, whose files are searched. */
  session_id?: string;
  /** How many results at most; default 5. */
  limit?: number;
  /** Ranks by words alone, without vectors. */
  words_only?: boolean;
}

export interface ExploreSummarizeChunksArgs {
  /** The session. */
  session_id: string;
  /** What the summaries are for. */
  task?: string;
  /** How many pieces; default 4. */
  n_chunks?: number;
  /** How many characters two of them share; default 200. */
  overlap?: number;
  /** The context by its name; default: the one called context. */
  context?: string;
  /** Instead of a context: a file below /workspace. */
  file_path?: string;
  /** Leaves the call out of the research tree and the log. */
  quiet?: boolean;
}

export interface ExploreArchiveOpenArgs {
  /** The session. */
  session_id: string;
  /** The archive, below /workspace: zip, tar, gz, bz2, xz, zstd or 7z; or a PDF. */
  file_path: string;
  /** An archive inside of it, by its name: inner.zip */
  inside?: string;
  /** Leaves the call out of the research tree and the log. */
  quiet?: boolean;
  /** Adds the answer as TOON, where that is shorter. */
  toon?: boolean;
}

export interface ExploreArchiveFileArgs {
  /** The session. */
  session_id: string;
  /** The archive, below /workspace: zip, tar, gz, bz2, xz, zstd or 7z; or a PDF. */
  file_path: string;
  /** The file, as it is listed; of an archive inside: inner.zip!/notes.txt */
  member: string;
  /** How many characters; default 10000. */
  n?: number;
  /** How many come before; default 0. */
  offset?: number;
  /** Leaves the call out of the research tree and the log. */
  quiet?: boolean;
}

export interface ExploreArchiveSearchArgs {
  /** The session. */
  session_id: string;
  /** The archive, below /workspace: zip, tar, gz, bz2, xz, zstd or 7z; or a PDF. */
  file_path: string;
  /** A text; upper and lower case are the same. */
  query: string;
  /** How many at most; default 50. */
  max_results?: number;
  /** Leaves the call out of the research tree and the log. */
  quiet?: boolean;
  /** Adds the answer as TOON, where that is shorter. */
  toon?: boolean;
}

export interface ExploreArchiveExtractArgs {
  /** The session. */
  session_id: string;
  /** The archive, below /workspace: zip, tar, gz, bz2, xz, zstd or 7z; or a PDF. */
  file_path: string;
  /** The folder below /workspace; default: /workspace itself. */
  to?: string;
  /** Leaves the call out of the research tree and the log. */
  quiet?: boolean;
}

export interface ExploreWebFetchArgs {
  /** The session. */
  session_id: string;
  /** http or https, of a domain that the configuration lists for the session's agent. */
  url: string;
  /** How many characters of its text; default 10000. */
  max_chars?: number;
  /** Leaves the call out of the research tree and the log. */
  quiet?: boolean;
}

export interface ExploreListDirArgs {
  /** The session. */
  session_id: string;
  /** Below /workspace; default: /workspace itself. */
  path?: string;
  /** Leaves the call out of the research tree and the log. */
  quiet?: boolean;
  /** Adds the answer as TOON, where that is shorter. */
  toon?: boolean;
}

export interface ExploreFileInfoArgs {
  /** The session. */
  session_id: string;
  /** Below /workspace; default: /workspace itself. */
  path?: string;
  /** Leaves the call out of the research tree and the log. */
  quiet?: boolean;
  /** Adds the answer as TOON, where that is shorter. */
  toon?: boolean;
}

export interface ExploreMarkFindingArgs {
  /** The session. */
  session_id: string;
  /** What was found. */
  content: string;
  /** Words to find it by, with commas between them. */
  tags?: string;
  /** Where: the file, */
  source_file?: string;
  /** its page, */
  source_page?: number;
  /** its section. */
  source_section?: string;
}

export interface ExploreListFindingsArgs {
  /** The session. */
  session_id: string;
}

export interface ExploreFinalArgs {
  /** The session. */
  session_id: string;
  /** The answer to the agent's task. */
  answer: string;
}

export interface ExploreStuckArgs {
  /** The session. */
  session_id: string;
  /** Why there is no way on. */
  reason?: string;
}

export interface ExploreStateArgs {
  /** The session. */
  session_id: string;
}

export interface ExploreTellArgs {
  /** The session. */
  session_id: string;
  /** The names that code has made, as it sees them now. */
  variables?: {name: string; type?: string; text?: string}[];
  /** Likewise what it keeps in artifacts. */
  artifacts?: {name: string; type?: string; text?: string}[];
}

export interface ToolboxListArgs {
  /** The session. */
  session_id: string;
  /** Only this tool. */
  name?: string;
  /** Only those of this category. */
  category?: string;
}

export interface ToolboxCallArgs {
  /** The session. */
  session_id: string;
  /** The tool, as toolbox.list has it. */
  name: string;
  /** Its arguments, as its parameters say. */
  args?: Record<string, any>;
  /** The arguments as a text that is JSON, in place of args. */
  json?: string;
  /** The result as it is, however long; default: more than 5000 characters are a file in /workspace/results, and the result tells where and how it begins. */
  whole?: boolean;
  /** The function by which code has called, for the research tree. */
  via?: "tool_call" | "TOOL" | "CALL" | "llm_call" | "llm_batch";
}

export interface ToolboxLogArgs {
  /** The session. */
  session_id: string;
  /** The newest so many; default 100. */
  limit?: number;
}

export interface ExploreResetArgs {
  /** The session. */
  session_id: string;
}

export interface ExploreNodesArgs {
  /** The session. */
  session_id: string;
  /** Those that nobody has looked into, or what led to one. */
  which: "unanalyzed" | "lineage";
  /** That one: G1. */
  node?: string;
}

export interface ExploreResearchArgs {
  /** The session. */
  session_id: string;
}

export interface ExploreSetResearchArgs {
  /** The session. */
  session_id: string;
  /** A research tree, as explore.research tells it, */
  tree?: Record<string, any>;
  /** and a log. What is not given stays. */
  log?: Record<string, any>;
  /** Is not read: it follows from the log. */
  worth?: Record<string, any>;
}

export interface ExploreMarkArgs {
  /** The session. */
  session_id: string;
  /** Its id: G1. */
  node: string;
  /** What it is from now on. */
  status: "analyzed" | "stale";
}

export interface ExploreRecallArgs {
  /** The session. */
  session_id: string;
  /** The task, as a text: it is the session's from now on. */
  query: string;
  /** Adds the answer as TOON, where that is shorter. */
  toon?: boolean;
  /** Leaves the call out of the research tree and the log. */
  quiet?: boolean;
}

export interface ExploreOutcomeArgs {
  /** The session. */
  session_id: string;
  /** What became of the task. */
  outcome: "success" | "partial" | "failure";
  /** The task; default: the last query of recall. */
  task?: string;
  /** How it was explored, in words that the next one may act on; default: what was called, as the log has it. */
  action?: string;
  /** How often a check refused what was done: 0.1 less each. */
  gate_failures?: number;
  /** How often somebody else had to help: 0.15 less each. */
  escalations?: number;
}

export interface SessionDeclarationsArgs {
  /** The session. */
  session_id: string;
}

export interface SessionIsCompleteArgs {
  /** The session. */
  session_id: string;
  /** The cell: source code, at most 1 MiB. */
  code: string;
}

export interface SessionCompleteArgs {
  /** The session. */
  session_id: string;
  /** The text, at most 64 KiB; nothing of it runs. */
  code: string;
  /** Where in it: how many characters come before; default: its end. */
  cursor?: number | null;
}

export interface SessionInspectArgs {
  /** The session. */
  session_id: string;
  /** The text, at most 64 KiB; nothing of it runs. */
  code: string;
  /** Where in it: how many characters come before; default: its end. */
  cursor?: number | null;
  /** 1: with the source, how a value is shown, and more of the documentation; default 0. */
  detail?: number | null;
}

export interface SessionPortArgs {
  /** The session. */
  session_id: string;
  /** A TCP port on which a process of the session listens, on its own loopback. */
  port: number;
}

export interface SessionTerminalArgs {
  /** The session. */
  session_id: string;
  /** A line that bash runs at the terminal; an interactive bash if it is left out. */
  command?: string;
  /** Of the terminal; default 24. */
  rows?: number;
  /** Of the terminal; default 80. */
  cols?: number;
  /** What TERM says; default "xterm-256color". */
  term?: string;
}

export interface NotebookDeclarationsArgs {
  /** The notebook, by the id that it shares with its session. */
  session_id: string;
}

export interface NotebookImageArgs {
  /** The notebook, by the id that it shares with its session. */
  session_id: string;
  /** The cell: its cell_id, or its index from 0 on; -1 is the last, #3 the one whose last run had the number 3. */
  cell: string;
  /** Which of its images, from 0. */
  n: number;
  /** Pixels that it may be wide: a larger PNG or JPEG is scaled down and keeps its shape. */
  width?: number;
  /** Pixels that it may be high. */
  height?: number;
}

export interface NotebookReferenceArgs {
  /** The notebook, by the id that it shares with its session. */
  session_id: string;
  /** notebook://NOTEBOOK/cell/CELL/image/N, or without the notebook: notebook://cell/CELL/image/N. */
  uri: string;
  /** Whether the answer is to hold the image itself, as base64. */
  data?: boolean;
  /** Pixels that it may be wide: a larger PNG or JPEG is scaled down and keeps its shape. */
  width?: number;
  /** Pixels that it may be high. */
  height?: number;
}

export interface SessionCheckpointsArgs {
  /** The session. */
  session_id: string;
}

export interface SessionUndoArgs {
  /** The session. */
  session_id: string;
  /** The checkpoint to go to; 0 is the beginning. Default: the one before the last cells. */
  to?: number | null;
}

export interface SessionRedoArgs {
  /** The session. */
  session_id: string;
}

export interface SessionCellsArgs {
  /** The session. */
  session_id: string;
  /** How many to pass over; default 0. */
  offset?: number;
  /** How many at most; default 100. Fewer come if they are large. */
  limit?: number;
}

export interface SessionBranchArgs {
  /** The session. */
  session_id: string;
  /** The checkpoint to branch from; default: the present state. */
  at?: number | null;
  /** How many branches; default 1. */
  count?: number;
}

export interface SessionTryArgs {
  /** The session. */
  session_id: string;
  /** The cell: source code, at most 1 MiB. */
  code: string;
  /** How long the cell may run before it is interrupted; default: the session's timeout_ms, else the agent's timeout_secs, 30 seconds if nothing else is configured; with yield_ms its max_timeout_secs, a day. */
  timeout_ms?: number;
  /** How many bytes of output the answer may hold; default: the session's or the agent's budget, else 8 KiB come whole, and of more the first and last lines, 3 KiB; pictures have up to 4 MiB beside that. At most the agent's max_output_bytes. */
  budget?: number;
  /** reference (default): the answer says where images are kept, what they are and how large; inline: it has their data, too, within the budget. */
  images?: "reference" | "inline";
  /** true: outputs come with their HTML, tables with their types and first rows. Without it an output that has a text is that; the notebook has all of it. */
  html?: boolean;
}

export interface TryCommitArgs {
  /** The session. */
  session_id: string;
  /** The try, by the number that its answer had. */
  try_id: number;
}

export interface TryDiscardArgs {
  /** The session. */
  session_id: string;
  /** The try, by the number that its answer had. */
  try_id: number;
}

export interface SessionCreateArgs {
  /** The interpreter. */
  runtime?: "python" | "node" | "bash";
  /** What is already imported, by the name of a profile of the configuration. */
  profile?: string;
  /** Limits of this session; what is not given is as the configuration says. At most its max_limits. */
  limits?: {memory_mb?: number; cpu_percent?: number; pids?: number; disk_mb?: number; checkpoint_mb?: number; cpu_seconds?: number};
  /** Where it works: a directory inside /workspace (also relative to it) or /tmp, made if it does not exist. */
  cwd?: string | null;
  /** Environment variables besides the usual ones, by name; up to 64 KiB in all. */
  env?: Record<string, string> | null;
  /** A session whose sandbox it shares: files, processes and limits. */
  join?: string | null;
  /** On whose behalf, by a name of the configuration; without it the agent "default". */
  agent?: string | null;
  /** The inbound binding through which the agent was asked. */
  binding?: string | null;
  /** The agent's user for whom it is, by any name: explorations are remembered for each apart. */
  user?: string | null;
  /** It is suspended when nobody used it for this long; 0 is never. Default as configured. */
  idle_timeout_secs?: number | null;
  /** It ends at this age; 0 is never. Default as configured. */
  max_age_secs?: number | null;
  /** When its state is kept to come back to: after a moment of rest (auto, the default unless the agent's checkpoints says otherwise), after every cell, or never. */
  checkpoints?: "auto" | "every" | "off";
  /** How long its cells may run that name no time of their own; default: the agent's timeout_secs. */
  timeout_ms?: number | null;
  /** Bytes of output in answers to cells that name no budget of their own; default: the agent's budget, else 8 KiB. */
  budget?: number | null;
  /** How answers have pictures where a cell does not say: reference (unless the agent's images says otherwise) or inline. */
  images?: "reference" | "inline";
  /** Whether its state is kept on disk, to outlive the daemon: auto (the default) or off. */
  durable?: "auto" | "off";
  /** Its code has peek, grep and the other functions that explore contexts from the start, not only once there is a context. Of Python. */
  explore?: boolean | null;
  /** Its cells are structured unless they say otherwise, see session.exec. With explore. */
  structured?: boolean;
  /** Whether its processes may trace each other, for gdb, strace, py-spy and leak checks; off unless the agent's setting is always, refused if that is never. */
  debug?: boolean | null;
  /** shared (the default): its cells run in one process; per_cell: each has a fresh one, with the state that could be saved after the one before. */
  isolation?: "shared" | "per_cell";
  /** What it can be called instead of its id: letters, digits, ".", "_" and "-". No other living session of the agent may have it. */
  name?: string | null;
  /** Texts to find it by, up to 16, by name. */
  labels?: Record<string, string> | null;
  /** Tools that the caller hands in: code calls them as those of the toolbox, the answer is tool_call_required then, and exec.tool_results answers them. */
  tools?: {name: string; description?: string; parameters?: Record<string, any>; read_only?: boolean; allowed_callers?: string[]}[] | null;
  /** How long such a call may wait for its result before the cell is stopped; default: five minutes. */
  tool_deadline_ms?: number | null;
}

export interface SessionListArgs {
  /** Only those in this state; living: all that have not ended. */
  state?: "living" | "starting" | "idle" | "busy" | "suspended" | "dead";
  /** Only those of this interpreter. */
  runtime?: "python" | "node" | "bash";
  /** Only those with this label: KEY, or KEY=VALUE. */
  label?: string;
  /** Only those whose name is like this; * stands for any characters. */
  name?: string;
  /** Only those of this agent, for whom the call speaks. */
  agent?: string;
  /** Last used first (used, the default), newest first (created), by memory or processor time, most first, or by name; those that have ended come last. */
  sort?: "used" | "created" | "memory" | "cpu" | "name";
  /** How many at most; default 100. */
  limit?: number;
  /** Where the page before ended: its "next". */
  cursor?: string;
}

export interface SessionGetArgs {
  /** The session. */
  session_id: string;
}

export interface SessionEditArgs {
  /** The session. */
  session_id: string;
  /** What it can be called instead of its id; an empty text takes the name away. */
  name?: string | null;
  /** Labels to set; one with an empty text is removed, others stay. */
  labels?: Record<string, string> | null;
  /** It is suspended when nobody used it for this long from now on; 0 is never. */
  idle_timeout_secs?: number | null;
  /** It ends at this age, counted from its start or its last resumption; 0 is never. */
  max_age_secs?: number | null;
}

export interface SessionSuspendArgs {
  /** The session. */
  session_id: string;
}

export interface SessionResumeArgs {
  /** The session. */
  session_id: string;
}

export interface SessionDeleteArgs {
  /** The session. */
  session_id: string;
  /** The cells that it ran stay, as a notebook; default false. */
  keep_notebook?: boolean;
}

export interface CellRunArgs {
  /** The notebook, by the id that it shares with its session. */
  session_id: string;
  /** The cell: its cell_id, or its index from 0 on; -1 is the last, #3 the one whose last run had the number 3. */
  cell: string;
  /** How long the cell may run before it is interrupted; default: the session's timeout_ms, else the agent's timeout_secs, 30 seconds if nothing else is configured; with yield_ms its max_timeout_secs, a day. */
  timeout_ms?: number;
  /** How many bytes of output the answer may hold; default: the session's or the agent's budget, else 8 KiB come whole, and of more the first and last lines, 3 KiB; pictures have up to 4 MiB beside that. At most the agent's max_output_bytes. */
  budget?: number;
  /** Answer after this time with what there is so far, also if the cell still runs; without it the answer comes at the end. */
  yield_ms?: number | null;
  /** What becomes of the cell if the client goes away before the answer: continue (default; the answer is kept) or cancel. If it is given, a client that closes only its own side counts as gone too. */
  on_disconnect?: "continue" | "cancel";
  /** true: the answer lists the session's names; false: it says nothing about them; without it, which ones the cell added, changed or removed. */
  names?: boolean | null;
  /** The answer comes when what the cell did is safe on disk. */
  durable?: boolean;
  /** reference (default): the answer says where images are kept, what they are and how large; inline: it has their data, too, within the budget. */
  images?: "reference" | "inline";
  /** true: outputs come with their HTML, tables with their types and first rows. Without it an output that has a text is that; the notebook has all of it. */
  html?: boolean;
  /** The answer says which files of /workspace the cell added, changed or removed; it waits until they are recorded. */
  files?: boolean;
}

export interface CellAddArgs {
  /** The notebook, by the id that it shares with its session. */
  session_id: string;
  /** What it says, at most 1 MiB. */
  code: string;
  /** code (the default), markdown or raw. */
  kind?: "code" | "markdown" | "raw";
  /** The index that it is to have, from 0 on; without it, or with -1, it comes last. */
  at?: number | null;
  /** Its id: letters, digits, - and _, and not only digits; one is made if none is given. */
  cell_id?: string;
  /** An object of the caller's own, up to 256 KiB; it replaces the one before. */
  metadata?: Record<string, any>;
  /** Whether it is run at once; then the answer is that of cell.run. */
  run?: boolean;
  /** How long the cell may run before it is interrupted; default: the session's timeout_ms, else the agent's timeout_secs, 30 seconds if nothing else is configured; with yield_ms its max_timeout_secs, a day. */
  timeout_ms?: number;
  /** How many bytes of output the answer may hold; default: the session's or the agent's budget, else 8 KiB come whole, and of more the first and last lines, 3 KiB; pictures have up to 4 MiB beside that. At most the agent's max_output_bytes. */
  budget?: number;
  /** Answer after this time with what there is so far, also if the cell still runs; without it the answer comes at the end. */
  yield_ms?: number | null;
  /** What becomes of the cell if the client goes away before the answer: continue (default; the answer is kept) or cancel. If it is given, a client that closes only its own side counts as gone too. */
  on_disconnect?: "continue" | "cancel";
  /** true: the answer lists the session's names; false: it says nothing about them; without it, which ones the cell added, changed or removed. */
  names?: boolean | null;
  /** The answer comes when what the cell did is safe on disk. */
  durable?: boolean;
  /** reference (default): the answer says where images are kept, what they are and how large; inline: it has their data, too, within the budget. */
  images?: "reference" | "inline";
  /** true: outputs come with their HTML, tables with their types and first rows. Without it an output that has a text is that; the notebook has all of it. */
  html?: boolean;
  /** The answer says which files of /workspace the cell added, changed or removed; it waits until they are recorded. */
  files?: boolean;
}

export interface CellGetArgs {
  /** The notebook, by the id that it shares with its session. */
  session_id: string;
  /** The cell: its cell_id, or its index from 0 on; -1 is the last, #3 the one whose last run had the number 3. */
  cell: string;
  /** Whether it comes with its outputs; default true. */
  outputs?: boolean;
}

export interface CellEditArgs {
  /** The notebook, by the id that it shares with its session. */
  session_id: string;
  /** The cell: its cell_id, or its index from 0 on; -1 is the last, #3 the one whose last run had the number 3. */
  cell: string;
  /** What it says from now on, at most 1 MiB. */
  code?: string;
  /** code (the default), markdown or raw. */
  kind?: "code" | "markdown" | "raw";
  /** An object of the caller's own, up to 256 KiB; it replaces the one before. */
  metadata?: Record<string, any>;
  /** The revision that this is a change of: if the cell has another by now, nothing is changed. */
  revision?: number;
}

export interface CellDeleteArgs {
  /** The notebook, by the id that it shares with its session. */
  session_id: string;
  /** The cell: its cell_id, or its index from 0 on; -1 is the last, #3 the one whose last run had the number 3. */
  cell: string;
}

export interface CellMoveArgs {
  /** The notebook, by the id that it shares with its session. */
  session_id: string;
  /** The cell: its cell_id, or its index from 0 on; -1 is the last, #3 the one whose last run had the number 3. */
  cell: string;
  /** The index that it is to have; -1, or one too large: the last. */
  to: number;
}

export interface CellClearArgs {
  /** The notebook, by the id that it shares with its session. */
  session_id: string;
  /** The cell: its cell_id, or its index from 0 on; -1 is the last, #3 the one whose last run had the number 3. */
  cell: string;
}

export interface CellListArgs {
  /** The notebook, by the id that it shares with its session. */
  session_id: string;
  /** How many to pass over; default 0. */
  offset?: number;
  /** How many at most; default 100. Fewer come if they are large. */
  limit?: number;
  /** Whether they come with their outputs; default false. */
  outputs?: boolean;
}

export interface NotebookRunArgs {
  /** The notebook, by the id that it shares with its session. */
  session_id: string;
  /** The first cell, by cell_id or index; default: the first there is. */
  from?: string | null;
  /** The last cell, by cell_id or index; default: the last there is. */
  to?: string | null;
  /** Whether a cell that fails is the last one that runs, unless it is tagged raises-exception; default true. */
  stop_on_error?: boolean;
  /** How long the cell may run before it is interrupted; default: the session's timeout_ms, else the agent's timeout_secs, 30 seconds if nothing else is configured; with yield_ms its max_timeout_secs, a day. */
  timeout_ms?: number;
  /** What becomes of it if the client goes away: continue (default), or cancel: the cell that runs is interrupted, and no other begins. */
  on_disconnect?: "continue" | "cancel";
}

export interface NotebookEventsArgs {
  /** The notebook, by the id that it shares with its session. */
  session_id: string;
}

export interface NotebookExportArgs {
  /** The notebook, by the id that it shares with its session. */
  session_id: string;
  /** As what; default ipynb. */
  format?: "ipynb" | "cells-json" | "html" | "markdown" | "script";
}

export interface NotebookClearArgs {
  /** The notebook, by the id that it shares with its session. */
  session_id: string;
  /** outputs: the cells stay; cells: all of them go. Variables stay as they are. */
  what: "outputs" | "cells";
}

export interface NotebookResetArgs {
  /** The notebook, by the id that it shares with its session. */
  session_id: string;
}

export interface NotebookImportArgs {
  /** The notebook: the text of the file, or the object that is in it. */
  content: string | Record<string, any>;
  /** What it is; default: what it looks like. */
  format?: "ipynb" | "cells-json";
  /** What to call it. */
  title?: string;
  /** What will run it; default: what its language says. */
  runtime?: "python" | "node" | "bash";
  /** What is already imported then, by the name of a profile of the configuration. */
  profile?: string;
  /** Whose it is, by a name of the configuration; without it the agent "default"'s. */
  agent?: string | null;
}

export interface NotebookCreateArgs {
  /** What to call it. */
  title?: string;
  /** An object of the caller's own, up to 256 KiB; it replaces the one before. */
  metadata?: Record<string, any>;
  /** The cells that it begins with; none of them is run. */
  cells?: {code: string; kind?: "code" | "markdown" | "raw"; metadata?: Record<string, any>}[];
  /** The interpreter. */
  runtime?: "python" | "node" | "bash";
  /** What is already imported, by the name of a profile of the configuration. */
  profile?: string;
  /** Limits of this session; what is not given is as the configuration says. At most its max_limits. */
  limits?: {memory_mb?: number; cpu_percent?: number; pids?: number; disk_mb?: number; checkpoint_mb?: number; cpu_seconds?: number};
  /** Where it works: a directory inside /workspace (also relative to it) or /tmp, made if it does not exist. */
  cwd?: string | null;
  /** Environment variables besides the usual ones, by name; up to 64 KiB in all. */
  env?: Record<string, string> | null;
  /** A session whose sandbox it shares: files, processes and limits. */
  join?: string | null;
  /** On whose behalf, by a name of the configuration; without it the agent "default". */
  agent?: string | null;
  /** The inbound binding through which the agent was asked. */
  binding?: string | null;
  /** The agent's user for whom it is, by any name: explorations are remembered for each apart. */
  user?: string | null;
  /** It is suspended when nobody used it for this long; 0 is never. Default as configured. */
  idle_timeout_secs?: number | null;
  /** It ends at this age; 0 is never. Default as configured. */
  max_age_secs?: number | null;
  /** When its state is kept to come back to: after a moment of rest (auto, the default unless the agent's checkpoints says otherwise), after every cell, or never. */
  checkpoints?: "auto" | "every" | "off";
  /** How long its cells may run that name no time of their own; default: the agent's timeout_secs. */
  timeout_ms?: number | null;
  /** Bytes of output in answers to cells that name no budget of their own; default: the agent's budget, else 8 KiB. */
  budget?: number | null;
  /** How answers have pictures where a cell does not say: reference (unless the agent's images says otherwise) or inline. */
  images?: "reference" | "inline";
  /** Whether its state is kept on disk, to outlive the daemon: auto (the default) or off. */
  durable?: "auto" | "off";
  /** Its code has peek, grep and the other functions that explore contexts from the start, not only once there is a context. Of Python. */
  explore?: boolean | null;
  /** Its cells are structured unless they say otherwise, see session.exec. With explore. */
  structured?: boolean;
  /** Whether its processes may trace each other, for gdb, strace, py-spy and leak checks; off unless the agent's setting is always, refused if that is never. */
  debug?: boolean | null;
  /** shared (the default): its cells run in one process; per_cell: each has a fresh one, with the state that could be saved after the one before. */
  isolation?: "shared" | "per_cell";
}

export interface NotebookListArgs {
  /** Only those of this agent; default: everybody's. Who speaks for an agent sees its own. */
  user?: string;
  /** How many to pass over; default 0. */
  offset?: number;
  /** How many at most; default 100. Fewer come if they are large. */
  limit?: number;
}

export interface NotebookGetArgs {
  /** The notebook, by the id that it shares with its session. */
  session_id: string;
  /** Whether the cells come with their outputs; default false. */
  outputs?: boolean;
  /** How many to pass over; default 0. */
  offset?: number;
  /** How many at most; default 100. Fewer come if they are large. */
  limit?: number;
}

export interface NotebookEditArgs {
  /** The notebook, by the id that it shares with its session. */
  session_id: string;
  /** What to call it. */
  title?: string;
  /** An object of the caller's own, up to 256 KiB; it replaces the one before. */
  metadata?: Record<string, any>;
}

export interface NotebookDeleteArgs {
  /** The notebook, by the id that it shares with its session. */
  session_id: string;
}

export interface FileGetArgs {
  /** Which file, as the answer that named it says. */
  token: string;
  /** Its name; whatever it says, the token decides. */
  name: string;
}

export interface HealthArgs {
}

export interface HealthDetailedArgs {
}

export interface OauthResourceArgs {
}

export interface OauthResourceMcpArgs {
}

export interface ApiIndexArgs {
}

export interface ApiOpenapiArgs {
}

export interface ApiRootArgs {
}

export interface OperationListArgs {
}

export interface AgentListArgs {
}

export interface SessionPlanEnterArgs {
  /** The session. */
  session_id: string;
  /** Why: told to whoever is refused meanwhile. */
  reason?: string;
}

export interface SessionPlanLeaveArgs {
  /** The session. */
  session_id: string;
}

export interface AgentPlanEnterArgs {
  /** The agent, as the configuration names it. */
  agent: string;
  /** Why: told to whoever is refused meanwhile. */
  reason?: string;
}

export interface AgentPlanLeaveArgs {
  /** The agent, as the configuration names it. */
  agent: string;
}

export interface MemoryListArgs {
  /** Those of this user alone; empty: of none in particular. */
  user?: string;
  /** How many to pass over; default 0. */
  offset?: number;
  /** How many at most; default 100. Fewer come if they are large. */
  limit?: number;
}

export interface MemoryDeleteArgs {
  /** The memory by its id. */
  memory: string;
}

export interface MemoryClearArgs {
  /** Those of this user alone; empty: of none in particular. */
  user?: string;
}

export interface StateListArgs {
}

export interface StateGetArgs {
  /** The name that a run gave it as state_name. */
  name: string;
  /** Whether the answer is to hold the state itself, as base64. */
  with_state?: boolean;
}

export interface StateDeleteArgs {
  /** The name that a run gave it as state_name. */
  name: string;
}

export interface ReplArgs {
  /** spawn, exec, read, kill or list. */
  action: string;
  /** The session; for exec, read and kill. */
  session_id?: string | null;
  /** python, node or bash; for spawn. */
  runtime?: string | null;
  /** What to run, or the line that running code asked for; for exec. At most 1 MiB. */
  code?: string | null;
  /** Where to begin, in /workspace or /tmp; for spawn. */
  cwd?: string | null;
  /** Limits of the session; what is not given is as the configuration says. For spawn. */
  limits?: {memory_mb?: number; cpu_percent?: number; pids?: number; disk_mb?: number; checkpoint_mb?: number; cpu_seconds?: number};
  /** How long the call waits for the code, which goes on afterwards; without it as long as the agent's timeout_secs says. For exec. */
  timeout_ms?: number | null;
  /** On whose behalf; without it the agent "default". */
  agent?: string | null;
  /** The plugin through which the agent was asked. */
  binding?: string | null;
}

export interface ToolRunArgs {
  /** Source. */
  code: string;
  /** Default python. */
  language?: "python" | "node" | "bash" | null;
  /** Name; a new one makes a session. Default: yours. */
  session?: string | null;
  /** Interrupt it then. */
  timeout_ms?: number | null;
  /** Answer by then, default 25000; wait() goes on. */
  yield_ms?: number | null;
  /** Of output. */
  max_tokens?: number | null;
  /** Tools that the caller hands in: code calls them as those of the toolbox, the answer is tool_call_required then, and exec.tool_results answers them. */
  tools?: {name: string; description?: string; parameters?: Record<string, any>; read_only?: boolean; allowed_callers?: string[]}[] | null;
  /** How long such a call may wait for its result before the cell is stopped; default: five minutes. */
  tool_deadline_ms?: number | null;
}

export interface ToolWaitArgs {
  /** Name; default: yours. */
  session?: string | null;
  /** The line it asks for. */
  input?: string | null;
  /** Stop it first. */
  interrupt?: boolean | null;
  /** Answer by then, default 25000; wait() goes on. */
  yield_ms?: number | null;
  /** Of output. */
  max_tokens?: number | null;
  /** What became of calls, by their ids: of each a result or an error. */
  results?: {id: string; result?: any; error?: string}[] | null;
}

export interface ToolBackArgs {
  /** What to do. */
  action: "list" | "undo" | "redo" | "branch" | "try" | "keep" | "drop" | "end";
  /** Checkpoint for undo, branch; default: before the last cell, now. */
  to?: number | null;
  /** For try. */
  code?: string | null;
  /** Name; default: yours. */
  session?: string | null;
}

export interface ToolLookArgs {
  /** Default names. */
  what?: "names" | "files" | "sessions" | null;
  /** One name in detail. */
  name?: string | null;
  /** All output of this cell. */
  output?: number | null;
  /** Bytes of output to skip. */
  offset?: number | null;
  /** Only lines, names or files with this text. */
  search?: string | null;
  /** Name; default: yours. */
  session?: string | null;
  /** Of output. */
  max_tokens?: number | null;
}

export interface ToolContextArgs {
  /** File of the session to hold; none: lists contexts. */
  file?: string | null;
  /** Default context. */
  name?: string | null;
  /** Name; default: yours. */
  session?: string | null;
}

export interface ToolPeekArgs {
  /** Default 500. */
  chars?: number | null;
  /** Chars before. */
  offset?: number | null;
  /** Its name, if not context. */
  context?: string | null;
  /** Or a file of the session. */
  file?: string | null;
  /** Name; default: yours. */
  session?: string | null;
}

export interface ToolGrepArgs {
  /** Regular expression; case is ignored. */
  pattern: string;
  /** Lines around each match, default 2. */
  around?: number | null;
  /** Its name, if not context. */
  context?: string | null;
  /** Or a file of the session. */
  file?: string | null;
  /** Name; default: yours. */
  session?: string | null;
}

export interface ToolExploreArgs {
  /** Which function. */
  action: "code_search" | "doc_search" | "list_dir" | "file_info" | "archive_open" | "archive_file" | "archive_search" | "archive_extract" | "web_fetch" | "chunk_context" | "summarize_chunks" | "mark_finding" | "list_findings" | "get_state" | "FINAL" | "STUCK";
  /** Archive, file, folder or URL. */
  path?: string | null;
  /** Member, query, where to, finding, answer. */
  text?: string | null;
  /** Name; default: yours. */
  session?: string | null;
}

export interface ToolRecallArgs {
  /** Your task. */
  query: string;
  /** Name; default: yours. */
  session?: string | null;
}

export interface ToolOutcomeArgs {
  /** Of your task. */
  outcome: "success" | "partial" | "failure";
  /** What worked, or did not. */
  action?: string | null;
  /** Default: what recall was asked. */
  task?: string | null;
  /** Name; default: yours. */
  session?: string | null;
}

export interface ToolFileArgs {
  /** What to do. */
  action: "put" | "get" | "list" | "delete";
  /** In /workspace. */
  path?: string | null;
  /** For put: text, or data:;base64,… */
  content?: string | null;
  /** For get: bytes to skip. */
  offset?: number | null;
  /** Name; default: yours. */
  session?: string | null;
  /** Of output. */
  max_tokens?: number | null;
}

export interface ToolExecuteCellArgs {
  /** Source. */
  code: string;
  /** Name; default: yours. */
  notebook?: string | null;
  /** Interrupt it then. */
  timeout_ms?: number | null;
  /** Answer by then, default 25000; the tool wait goes on. */
  yield_ms?: number | null;
}

export interface ToolRerunCellArgs {
  /** Number from 0; -1: the last. */
  cell: number;
  /** To replace its code. */
  code?: string | null;
  /** Name; default: yours. */
  notebook?: string | null;
  /** Interrupt it then. */
  timeout_ms?: number | null;
  /** Answer by then, default 25000; the tool wait goes on. */
  yield_ms?: number | null;
}

export interface ToolShowCellArgs {
  /** Number from 0; -1: the last. */
  cell: number;
  /** Name; default: yours. */
  notebook?: string | null;
}

export interface ToolShowNotebookArgs {
  /** Name; default: yours. */
  notebook?: string | null;
}

export interface ToolDeleteCellArgs {
  /** Number from 0; -1: the last. */
  cell: number;
  /** Name; default: yours. */
  notebook?: string | null;
}

export interface ToolClearNotebookArgs {
  /** Name; default: yours. */
  notebook?: string | null;
}

export interface ToolCreateNotebookArgs {
  /** Its title. */
  name: string;
}

export interface ToolExportIpynbArgs {
  /** In /workspace. */
  path: string;
  /** Name; default: yours. */
  notebook?: string | null;
}

export interface ToolListArgs {
  /** Sets of tools, with commas between: core, repl, notebook; default core. */
  sets?: string;
}

/** One method for each operation: docs/API.md has examples. */
export class Operations {
  /** Runs a cell in a session and answers with its output, value and error. */
  sessionExec(args: SessionExecArgs, options?: CallOptions): Promise<Answer>;
  /** Runs a cell in a session and answers with its output, value and error. */
  sessionExecText(args: SessionExecArgs, options?: CallOptions): Promise<string>;
  /** Runs a cell in a session and answers with its output, value and error. */
  sessionExecEvents(args: SessionExecArgs, options?: CallOptions): Events;
  /** Waits on for a cell that still ran when it was last asked about; answers with what is new. */
  execContinue(args: ExecContinueArgs, options?: CallOptions): Promise<Answer>;
  /** Waits on for a cell that still ran when it was last asked about; answers with what is new. */
  execContinueText(args: ExecContinueArgs, options?: CallOptions): Promise<string>;
  /** Waits on for a cell that still ran when it was last asked about; answers with what is new. */
  execContinueEvents(args: ExecContinueArgs, options?: CallOptions): Events;
  /** Runs code once, in a sandbox of its own that ends with it. */
  exec(args: ExecArgs, options?: CallOptions): Promise<Run>;
  /** Runs code once, in a sandbox of its own that ends with it. */
  execEvents(args: ExecArgs, options?: CallOptions): Events;
  /** Gives a line to the cell that waits for one, and waits for its next answer. */
  sessionInput(args: SessionInputArgs, options?: CallOptions): Promise<Answer>;
  /** Gives a line to the cell that waits for one, and waits for its next answer. */
  sessionInputText(args: SessionInputArgs, options?: CallOptions): Promise<string>;
  /** Gives a line to the cell that waits for one, and waits for its next answer. */
  sessionInputEvents(args: SessionInputArgs, options?: CallOptions): Events;
  /** Answers calls of tools that the caller has handed in, and waits for the cell's next answer. */
  execToolResults(args: ExecToolResultsArgs, options?: CallOptions): Promise<Answer>;
  /** Answers calls of tools that the caller has handed in, and waits for the cell's next answer. */
  execToolResultsText(args: ExecToolResultsArgs, options?: CallOptions): Promise<string>;
  /** Answers calls of tools that the caller has handed in, and waits for the cell's next answer. */
  execToolResultsEvents(args: ExecToolResultsArgs, options?: CallOptions): Events;
  /** Interrupts the running cell, as Ctrl-C would; the session keeps its state. */
  sessionInterrupt(args: SessionInterruptArgs, options?: CallOptions): Promise<Interrupted>;
  /** Reads what cells wrote, page by page; the oldest bytes may have been dropped. */
  sessionOutput(args: SessionOutputArgs, options?: CallOptions): Promise<OutputPage>;
  /**
   * Lists the names that the session's code has made, with types and sizes; of a busy session
   * those after an earlier cell.
   */
  sessionNames(args: SessionNamesArgs, options?: CallOptions): Promise<NameList>;
  /** Puts a file into the session's workspace, or in place of one: the body is its bytes. */
  sessionFilePut(args: SessionFilePutArgs, data: Data, options?: CallOptions): Promise<FilePut>;
  /** A file of the session's workspace, as it is now; parts of it by the Range header. */
  sessionFileGet(args: SessionFileGetArgs, options?: CallOptions): Promise<Uint8Array>;
  /** Deletes a file or folder of the workspace; a link is deleted, not what it leads to. */
  sessionFileDelete(args: SessionFileDeleteArgs, options?: CallOptions): Promise<DeletedFile>;
  /** What is in a folder of the session's workspace, page by page. */
  sessionFileList(args: SessionFileListArgs, options?: CallOptions): Promise<FileList>;
  /** What a path of the workspace is: its type, bytes, mode and time. */
  sessionFileStat(args: SessionFileStatArgs, options?: CallOptions): Promise<FileEntry>;
  /** Makes a folder in the session's workspace; one that is there already is fine. */
  sessionFileMkdir(args: SessionFileMkdirArgs, options?: CallOptions): Promise<FolderMade>;
  /** Moves a file or folder of the workspace, or gives it another name. */
  sessionFileMove(args: SessionFileMoveArgs, options?: CallOptions): Promise<FileEntry>;
  /** Copies a file, or a folder with all that is in it, within the workspace. */
  sessionFileCopy(args: SessionFileCopyArgs, options?: CallOptions): Promise<FileEntry>;
  /** A folder of the workspace as a tar archive, packed while it is sent. */
  sessionArchiveGet(args: SessionArchiveGetArgs, options?: CallOptions): Promise<Uint8Array>;
  /** Unpacks a tar archive, the body, into a folder of the workspace: all of it or nothing. */
  sessionArchivePut(args: SessionArchivePutArgs, data: Data, options?: CallOptions): Promise<Unpacked>;
  /** What changes in a folder of the workspace, as server-sent events, while it does. */
  sessionFileEvents(args: SessionFileEventsArgs, options?: CallOptions): Events;
  /**
   * Makes a file of the workspace, or a text, a context: it is explored with peek and grep, and
   * never read into the interpreter unless code asks for that.
   */
  contextLoad(args: ContextLoadArgs, options?: CallOptions): Promise<Context>;
  /** Makes the body a context, however large it is. */
  contextPut(args: ContextPutArgs, data: Data, options?: CallOptions): Promise<Context>;
  /** Tells how large a context is. */
  contextGet(args: ContextGetArgs, options?: CallOptions): Promise<Context>;
  /** Lists the contexts of a session. */
  contextList(args: ContextListArgs, options?: CallOptions): Promise<Contexts>;
  /** Forgets a context; checkpoints from before still have it. */
  contextDelete(args: ContextDeleteArgs, options?: CallOptions): Promise<ContextDeleted>;
  /** Shows some characters of a context, or of a file of the workspace, from anywhere in it. */
  explorePeek(args: ExplorePeekArgs, options?: CallOptions): Promise<Peek>;
  /** Searches a context, or a file of the workspace, for a regular expression, line by line. */
  exploreGrep(args: ExploreGrepArgs, options?: CallOptions): Promise<Grep>;
  /** Divides a context, or a file of the workspace, into pieces of about the same size. */
  exploreChunks(args: ExploreChunksArgs, options?: CallOptions): Promise<Chunks>;
  /** Finds functions, classes and methods in the code of the workspace by what they say. */
  exploreCodeSearch(args: ExploreCodeSearchArgs, options?: CallOptions): Promise<Search>;
  /** Finds sections in the documents of the workspace by what they say. */
  exploreDocSearch(args: ExploreDocSearchArgs, options?: CallOptions): Promise<Search>;
  /** Finds code, or sections of documents, in a corpus or in the files of a session. */
  searchFind(args: SearchFindArgs, options?: CallOptions): Promise<Search>;
  /**
   * Divides a text as explore.chunks does and says of each piece where it lies, how many lines
   * it has and how it begins; the model of the configuration (toolbox.llm) says what is in it.
   */
  exploreSummarizeChunks(args: ExploreSummarizeChunksArgs, options?: CallOptions): Promise<ChunkSummaries>;
  /** Lists an archive of the workspace. */
  exploreArchiveOpen(args: ExploreArchiveOpenArgs, options?: CallOptions): Promise<Archive>;
  /** Shows some characters of a file in an archive; of a PDF in it, of its text. */
  exploreArchiveFile(args: ExploreArchiveFileArgs, options?: CallOptions): Promise<Peek>;
  /** Searches the text files of an archive for a text. */
  exploreArchiveSearch(args: ExploreArchiveSearchArgs, options?: CallOptions): Promise<ArchiveHits>;
  /** Unpacks an archive of the workspace into a folder of it. */
  exploreArchiveExtract(args: ExploreArchiveExtractArgs, options?: CallOptions): Promise<Extracted>;
  /**
   * Fetches a page of the web as text, from domains that the configuration lists; of others
   * none.
   */
  exploreWebFetch(args: ExploreWebFetchArgs, options?: CallOptions): Promise<Page>;
  /** Lists a folder of the workspace, for code that explores. */
  exploreListDir(args: ExploreListDirArgs, options?: CallOptions): Promise<Dir>;
  /** Tells of a file or folder of the workspace, for code that explores. */
  exploreFileInfo(args: ExploreFileInfoArgs, options?: CallOptions): Promise<FileInfo>;
  /** Notes something that was found, so that it is there later. */
  exploreMarkFinding(args: ExploreMarkFindingArgs, options?: CallOptions): Promise<Finding>;
  /** Lists what was noted as found. */
  exploreListFindings(args: ExploreListFindingsArgs, options?: CallOptions): Promise<Findings>;
  /** Gives the answer to the agent's task; the answer of the cell that calls it has it. */
  exploreFinal(args: ExploreFinalArgs, options?: CallOptions): Promise<Final>;
  /** Says that the agent's task cannot be done, and why. */
  exploreStuck(args: ExploreStuckArgs, options?: CallOptions): Promise<Stuck>;
  /** Tells what was explored so far, as a text for models and in parts. */
  exploreState(args: ExploreStateArgs, options?: CallOptions): Promise<ExploreState>;
  /**
   * Tells what was explored so far, with variables that the caller knows of: get_state() in a
   * cell.
   */
  exploreTell(args: ExploreTellArgs, options?: CallOptions): Promise<ExploreText>;
  /** Lists the tools that code of this session can call, with what they take. */
  toolboxList(args: ToolboxListArgs, options?: CallOptions): Promise<Toolbox>;
  /** Calls a tool of the toolbox: in the session's sandbox, with its files. */
  toolboxCall(args: ToolboxCallArgs, options?: CallOptions): Promise<ToolboxResult>;
  /** The newest calls of tools in this session, with who called and how it went. */
  toolboxLog(args: ToolboxLogArgs, options?: CallOptions): Promise<Invocations>;
  /**
   * Forgets the research tree, the log, findings and the answer; contexts, outputs and variables
   * stay.
   */
  exploreReset(args: ExploreResetArgs, options?: CallOptions): Promise<ExploreReset>;
  /** Lists nodes of the research tree. */
  exploreNodes(args: ExploreNodesArgs, options?: CallOptions): Promise<Nodes>;
  /** Tells the research tree and the exploration log: to_dict() in a cell. */
  exploreResearch(args: ExploreResearchArgs, options?: CallOptions): Promise<Research>;
  /**
   * Puts a research tree and an exploration log that were told before in place of those that
   * there are: from_dict() in a cell.
   */
  exploreSetResearch(args: ExploreSetResearchArgs, options?: CallOptions): Promise<Research>;
  /** Marks a node of the research tree as analyzed, or as not true any more. */
  exploreMark(args: ExploreMarkArgs, options?: CallOptions): Promise<Mark>;
  /**
   * Looks for similar tasks that the session's agent and user explored before, in any session,
   * and how that went.
   */
  exploreRecall(args: ExploreRecallArgs, options?: CallOptions): Promise<Recall>;
  /**
   * Remembers how the session explored its task and what became of it, for recall in later
   * sessions of the same agent and user.
   */
  exploreOutcome(args: ExploreOutcomeArgs, options?: CallOptions): Promise<Outcome>;
  /**
   * What the code has imported and defined, as source that can be run again, and what could not
   * be saved, with advice.
   */
  sessionDeclarations(args: SessionDeclarationsArgs, options?: CallOptions): Promise<Declarations>;
  /**
   * Whether a text is a whole piece of code to the session's interpreter, which does not run it:
   * complete, incomplete, invalid, or unknown if the session is busy or the text is longer than
   * 64 KiB.
   */
  sessionIsComplete(args: SessionIsCompleteArgs, options?: CallOptions): Promise<Completeness>;
  /**
   * Tells how a text could go on at a place: names, attributes, keys, files. Of a busy session
   * only names are known, those after an earlier cell.
   */
  sessionComplete(args: SessionCompleteArgs, options?: CallOptions): Promise<Completions>;
  /**
   * Tells what stands at a place of a text: type, short value, signature, documentation. A busy
   * session is refused.
   */
  sessionInspect(args: SessionInspectArgs, options?: CallOptions): Promise<Meaning>;
  /**
   * Passes the request, of any method, on to an HTTP or WebSocket server in the session: what
   * follows the port is the path there.
   */
  sessionPort(args: SessionPortArgs, options?: TunnelOptions): Promise<Reply>;
  /**
   * Opens a terminal in the session, as a WebSocket: binary messages are what is typed and
   * shown.
   */
  sessionTerminal(args: SessionTerminalArgs, options?: CallOptions): Promise<WebSocketLike>;
  /**
   * What the code has imported and defined, as source that can be run again, and what could not
   * be saved, with advice.
   */
  notebookDeclarations(args: NotebookDeclarationsArgs, options?: CallOptions): Promise<Declarations>;
  /** An image that a cell has shown, as it is or smaller. */
  notebookImage(args: NotebookImageArgs, options?: CallOptions): Promise<Uint8Array>;
  /**
   * What a notebook:// reference stands for: format, size and address of an image, and the image
   * itself if that is asked for.
   */
  notebookReference(args: NotebookReferenceArgs, options?: CallOptions): Promise<Reference>;
  /** Lists the points of a session's history that it can go back to. */
  sessionCheckpoints(args: SessionCheckpointsArgs, options?: CallOptions): Promise<CheckpointList>;
  /** Takes a session back to a checkpoint, with its variables, files and processes. */
  sessionUndo(args: SessionUndoArgs, options?: CallOptions): Promise<Restored>;
  /** Takes a session to where its last undo came from. */
  sessionRedo(args: SessionRedoArgs, options?: CallOptions): Promise<Restored>;
  /** Lists the cells that a session has run, with their code. */
  sessionCells(args: SessionCellsArgs, options?: CallOptions): Promise<RanCells>;
  /** Makes live copies of a session, each with its own sandbox, files and limits. */
  sessionBranch(args: SessionBranchArgs, options?: CallOptions): Promise<Branches>;
  /** Runs a cell and answers with what it changed; then it is kept or taken back. */
  sessionTry(args: SessionTryArgs, options?: CallOptions): Promise<Answer>;
  /** Runs a cell and answers with what it changed; then it is kept or taken back. */
  sessionTryText(args: SessionTryArgs, options?: CallOptions): Promise<string>;
  /** Keeps what a try did. */
  tryCommit(args: TryCommitArgs, options?: CallOptions): Promise<TryEnd>;
  /** Takes back what a try did, with its variables, files and processes. */
  tryDiscard(args: TryDiscardArgs, options?: CallOptions): Promise<TryEnd>;
  /** Starts a session: an interpreter of its own in a sandbox of its own. */
  sessionCreate(args?: SessionCreateArgs, options?: CallOptions): Promise<Session>;
  /** Lists sessions page by page, those that have ended last; these stay until they are deleted. */
  sessionList(args?: SessionListArgs, options?: CallOptions): Promise<SessionList>;
  /** Shows one session. */
  sessionGet(args: SessionGetArgs, options?: CallOptions): Promise<Session>;
  /** Changes a session's name, its labels, or how long it may be idle and how old it may become. */
  sessionEdit(args: SessionEditArgs, options?: CallOptions): Promise<Session>;
  /**
   * Gives up the processes of an idle session. Answered when all of it that can be saved is on
   * disk; what cannot be is in "lost". A cell or a resumption brings it back.
   */
  sessionSuspend(args: SessionSuspendArgs, options?: CallOptions): Promise<Suspended>;
  /** Brings a suspended session back without a cell, and says what of it is lost. */
  sessionResume(args: SessionResumeArgs, options?: CallOptions): Promise<Awake>;
  /**
   * Ends a session with every process and file of it; who works in it gets SIGTERM first, and
   * two seconds.
   */
  sessionDelete(args: SessionDeleteArgs, options?: CallOptions): Promise<Killed>;
  /** Runs a cell of a notebook, again or for the first time, and answers as session.exec does. */
  cellRun(args: CellRunArgs, options?: CallOptions): Promise<Answer>;
  /** Runs a cell of a notebook, again or for the first time, and answers as session.exec does. */
  cellRunText(args: CellRunArgs, options?: CallOptions): Promise<string>;
  /** Runs a cell of a notebook, again or for the first time, and answers as session.exec does. */
  cellRunEvents(args: CellRunArgs, options?: CallOptions): Events;
  /** Puts a cell into a notebook, and runs it if that is wanted. */
  cellAdd(args: CellAddArgs, options?: CallOptions): Promise<CellChange | Answer>;
  /** Puts a cell into a notebook, and runs it if that is wanted. */
  cellAddText(args: CellAddArgs, options?: CallOptions): Promise<string>;
  /** Puts a cell into a notebook, and runs it if that is wanted. */
  cellAddEvents(args: CellAddArgs, options?: CallOptions): Events;
  /** Shows one cell of a notebook with its outputs. */
  cellGet(args: CellGetArgs, options?: CallOptions): Promise<Cell>;
  /** Changes code, kind or metadata of a cell. */
  cellEdit(args: CellEditArgs, options?: CallOptions): Promise<CellChange>;
  /** Removes a cell from its notebook; what it did stays done. */
  cellDelete(args: CellDeleteArgs, options?: CallOptions): Promise<CellChange>;
  /** Puts a cell at another place of its notebook. */
  cellMove(args: CellMoveArgs, options?: CallOptions): Promise<CellChange>;
  /** Removes the outputs of a cell. */
  cellClear(args: CellClearArgs, options?: CallOptions): Promise<CellChange>;
  /** Lists the cells of a notebook in their order, page by page. */
  cellList(args: CellListArgs, options?: CallOptions): Promise<CellList>;
  /** Runs the code of a notebook from one cell to another, one after the other. */
  notebookRun(args: NotebookRunArgs, options?: CallOptions): Promise<NotebookRun>;
  /** Runs the code of a notebook from one cell to another, one after the other. */
  notebookRunEvents(args: NotebookRunArgs, options?: CallOptions): Events;
  /** What happens to a notebook, as server-sent events, until it is deleted. */
  notebookEvents(args: NotebookEventsArgs, options?: CallOptions): Events;
  /** A notebook as a file: for Jupyter, to read, or to run. */
  notebookExport(args: NotebookExportArgs, options?: CallOptions): Promise<Uint8Array>;
  /** Removes all outputs of a notebook, or all its cells; never variables. */
  notebookClear(args: NotebookClearArgs, options?: CallOptions): Promise<CellChange>;
  /** Gives a notebook a fresh interpreter; cells and files stay as they are. */
  notebookReset(args: NotebookResetArgs, options?: CallOptions): Promise<Reset>;
  /** Makes a notebook of a file: an ipynb of Jupyter's, or a cells.json. */
  notebookImport(args: NotebookImportArgs, options?: CallOptions): Promise<Notebook>;
  /** Makes a notebook and the session that runs it. */
  notebookCreate(args?: NotebookCreateArgs, options?: CallOptions): Promise<Notebook>;
  /**
   * Lists the notebooks that have begun, by a first cell or change, the newest first, also those
   * whose session is gone.
   */
  notebookList(args?: NotebookListArgs, options?: CallOptions): Promise<NotebookList>;
  /** Shows a notebook and its cells, page by page. */
  notebookGet(args: NotebookGetArgs, options?: CallOptions): Promise<Notebook>;
  /** Changes the title or the metadata of a notebook. */
  notebookEdit(args: NotebookEditArgs, options?: CallOptions): Promise<Notebook>;
  /** Deletes a notebook with its cells and images; a session that it has lives on. */
  notebookDelete(args: NotebookDeleteArgs, options?: CallOptions): Promise<DeletedNotebook>;
  /** A file that a run made, as long as it is kept. */
  fileGet(args: FileGetArgs, options?: CallOptions): Promise<Uint8Array>;
  /** Whether the daemon is ready to run code. */
  health(args?: HealthArgs, options?: CallOptions): Promise<Health>;
  /** Runs a line of code, and tells what is ready for more and what is not. */
  healthDetailed(args?: HealthDetailedArgs, options?: CallOptions): Promise<HealthDetailed>;
  /** Where clients get tokens for this server, if the configuration names issuers. */
  oauthResource(args?: OauthResourceArgs, options?: CallOptions): Promise<OauthResource>;
  /** The same for the MCP endpoint. */
  oauthResourceMcp(args?: OauthResourceMcpArgs, options?: CallOptions): Promise<OauthResource>;
  /** What there is: every operation with its path, in short. */
  apiIndex(args?: ApiIndexArgs, options?: CallOptions): Promise<Index>;
  /** The API as OpenAPI 3.1: every operation, parameter and answer. */
  apiOpenapi(args?: ApiOpenapiArgs, options?: CallOptions): Promise<Openapi>;
  /**
   * What there is: every operation with its path, in short. A short page for people who accept
   * text/html or text/plain.
   */
  apiRoot(args?: ApiRootArgs, options?: CallOptions): Promise<Index>;
  /** Lists all operations: their paths, their parameters and what they use. */
  operationList(args?: OperationListArgs, options?: CallOptions): Promise<OperationList>;
  /** Lists the agents of the configuration, what they may do and who is in plan mode. */
  agentList(args?: AgentListArgs, options?: CallOptions): Promise<AgentList>;
  /** Puts a session in plan mode: until it is left, nothing that changes the session runs. */
  sessionPlanEnter(args: SessionPlanEnterArgs, options?: CallOptions): Promise<SessionPlan>;
  /** Leaves the plan mode of a session. */
  sessionPlanLeave(args: SessionPlanLeaveArgs, options?: CallOptions): Promise<SessionPlan>;
  /** Puts an agent in plan mode, with all its sessions, also those to come. */
  agentPlanEnter(args: AgentPlanEnterArgs, options?: CallOptions): Promise<AgentPlan>;
  /** Leaves the plan mode of an agent; sessions may be in plan mode by themselves. */
  agentPlanLeave(args: AgentPlanLeaveArgs, options?: CallOptions): Promise<AgentPlan>;
  /** Lists what an agent remembers of explorations. */
  memoryList(args?: MemoryListArgs, options?: CallOptions): Promise<MemoryList>;
  /** Forgets what is remembered of one exploration. */
  memoryDelete(args: MemoryDeleteArgs, options?: CallOptions): Promise<DeletedMemory>;
  /** Forgets all that an agent remembers of explorations, or what it does for one user. */
  memoryClear(args?: MemoryClearArgs, options?: CallOptions): Promise<ClearedMemories>;
  /** Lists the states that are kept under a name: the first thousand. */
  stateList(args?: StateListArgs, options?: CallOptions): Promise<StateList>;
  /** A state that is kept under a name: its size, how long it is kept, and itself. */
  stateGet(args: StateGetArgs, options?: CallOptions): Promise<State>;
  /** Forgets the state that is kept under a name, if there is one. */
  stateDelete(args: StateDeleteArgs, options?: CallOptions): Promise<DeletedState>;
  /** The repl tool: spawn, exec, read, kill and list sessions of an agent. */
  repl(args: ReplArgs, options?: CallOptions): Promise<ReplAnswer>;
  /**
   * Runs code in a live session whose variables and files stay; without a session in the
   * caller's own, which is made if there is none.
   */
  toolRun(args: ToolRunArgs, options?: CallOptions): Promise<ToolResult>;
  /**
   * Runs code in a live session whose variables and files stay; without a session in the
   * caller's own, which is made if there is none.
   */
  toolRunEvents(args: ToolRunArgs, options?: CallOptions): Events;
  /**
   * Waits on for code that still runs, and answers with what is new; gives it a line, or
   * interrupts it.
   */
  toolWait(args?: ToolWaitArgs, options?: CallOptions): Promise<ToolResult>;
  /**
   * Waits on for code that still runs, and answers with what is new; gives it a line, or
   * interrupts it.
   */
  toolWaitEvents(args?: ToolWaitArgs, options?: CallOptions): Events;
  /**
   * Goes back and forth in a session's history: undo, redo, branches, tries, the list of
   * checkpoints; or ends it.
   */
  toolBack(args: ToolBackArgs, options?: CallOptions): Promise<ToolResult>;
  /**
   * Shows what there is: names, one of them in detail, files, sessions, the output of an earlier
   * cell or lines of it.
   */
  toolLook(args?: ToolLookArgs, options?: CallOptions): Promise<ToolResult>;
  /** Holds a file of the session as a context, or lists the contexts. */
  toolContext(args?: ToolContextArgs, options?: CallOptions): Promise<ToolResult>;
  /** Shows some characters of a context, or of a file. */
  toolPeek(args?: ToolPeekArgs, options?: CallOptions): Promise<ToolResult>;
  /** Searches a context, or a file, for a regular expression. */
  toolGrep(args: ToolGrepArgs, options?: CallOptions): Promise<ToolResult>;
  /**
   * Archives, pages, folders, chunks, findings and the answer: what code has as functions of
   * these names.
   */
  toolExplore(args: ToolExploreArgs, options?: CallOptions): Promise<ToolResult>;
  /** Tells how similar tasks were explored before, and how well that went. */
  toolRecall(args: ToolRecallArgs, options?: CallOptions): Promise<ToolResult>;
  /** Remembers how the task was explored and what became of it, for recall. */
  toolOutcome(args: ToolOutcomeArgs, options?: CallOptions): Promise<ToolResult>;
  /** Puts, gets, lists or deletes files of a session's workspace. */
  toolFile(args: ToolFileArgs, options?: CallOptions): Promise<ToolResult>;
  /** Adds a cell to a notebook and runs it. */
  toolExecuteCell(args: ToolExecuteCellArgs, options?: CallOptions): Promise<ToolResult>;
  /** Adds a cell to a notebook and runs it. */
  toolExecuteCellEvents(args: ToolExecuteCellArgs, options?: CallOptions): Events;
  /** Runs a cell of a notebook again, with other code if that is given. */
  toolRerunCell(args: ToolRerunCellArgs, options?: CallOptions): Promise<ToolResult>;
  /** Runs a cell of a notebook again, with other code if that is given. */
  toolRerunCellEvents(args: ToolRerunCellArgs, options?: CallOptions): Events;
  /** Shows a cell of a notebook: its code and what it showed. */
  toolShowCell(args: ToolShowCellArgs, options?: CallOptions): Promise<ToolResult>;
  /** Shows all cells of a notebook. */
  toolShowNotebook(args?: ToolShowNotebookArgs, options?: CallOptions): Promise<ToolResult>;
  /** Removes a cell from a notebook; what it did stays done. */
  toolDeleteCell(args: ToolDeleteCellArgs, options?: CallOptions): Promise<ToolResult>;
  /** Removes all cells of a notebook; variables stay. */
  toolClearNotebook(args?: ToolClearNotebookArgs, options?: CallOptions): Promise<ToolResult>;
  /** Makes a notebook, which is the caller's own from then on. */
  toolCreateNotebook(args: ToolCreateNotebookArgs, options?: CallOptions): Promise<ToolResult>;
  /** Writes a notebook as .ipynb into its session's workspace. */
  toolExportIpynb(args: ToolExportIpynbArgs, options?: CallOptions): Promise<ToolResult>;
  /** The tools of one or more sets as models are given them; POST /v1/tools/NAME calls one. */
  toolList(args?: ToolListArgs, options?: CallOptions): Promise<ToolList>;
}
