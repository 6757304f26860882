/* The shapes of answers that several operations share: what the operations declare, from which the
 * pages and /openapi.json are made and against which tests hold every answer. Tables only. Daemon,
 * and the command line tool. */
#include "ops/shapes.h"

#include "jail/warden.h"

/* ---- failures -------------------------------------------------------------------------------- */

static const struct op_member error_members[] = {
    {"code", OP_TEXT, .is_always = true, .doc = "Its name: docs/ERRORS.md lists them."},
    {"message", OP_TEXT, .is_always = true, .doc = "What is wrong."},
    {"advice", OP_TEXT, .doc = "What to do about it."},
    {0},
};
static const struct op_shape shape_error = {"error", error_members, "Why a request failed."};

/* The names are those of a tool's protocol that is older than this daemon. */
static const struct op_member refusal_members[] = {
    {"tool_name", OP_TEXT, .is_always = true, .doc = "What was not run."},
    {"tool_kind", OP_TEXT, .is_always = true, .doc = "What kind of tool that is."},
    {"hint", OP_TEXT, .is_always = true, .doc = "How plan mode is left."},
    {"entered_at", OP_TIME, .is_always = true, .doc = "Since when plan mode is on."},
    {"entered_reason", OP_TEXT, .is_nullable = true, .doc = "Why."},
    {0},
};
static const struct op_shape shape_refusal = {"refusal", refusal_members,
                                              "Why something was not run in plan mode."};

static const struct op_member failure_members[] = {
    {"error", OP_OBJECT, .is_always = true, .shape = &shape_error, .doc = "What went wrong."},
    {"refusal", OP_OBJECT, .shape = &shape_refusal, .doc = "In plan mode: what was refused."},
    {"revision", OP_INT, .doc = "The revision that a cell has which was changed meanwhile."},
    {0},
};
const struct op_shape shape_failure = {"failure", failure_members,
                                       "The answer to a request that failed."};

/* ---- sessions -------------------------------------------------------------------------------- */

static const struct op_member limits_members[] = {
#define LIMIT(member, least, most, what) {#member, OP_INT, .is_always = true, .doc = what},
    JAIL_LIMITS_EACH(LIMIT)
#undef LIMIT
        {0},
};
static const struct op_shape shape_limits = {"limits", limits_members, "What a session may use."};

static const struct op_member max_limits_members[] = {
#define LIMIT(member, least, most, what) {#member, OP_INT, .doc = what},
    JAIL_CEILINGS_EACH(LIMIT)
#undef LIMIT
        {0},
};
const struct op_shape shape_max_limits = {"max_limits", max_limits_members,
                                          "What a caller may ask for at most; those that are set."};

static const struct op_member plan_members[] = {
    {"reason", OP_TEXT, .doc = "Why it was entered, if that was said."},
    {"entered_at", OP_TIME, .is_always = true, .doc = "Since when."},
    {0},
};
const struct op_shape shape_plan = {"plan", plan_members, "Plan mode."};

static const struct op_member session_plan_members[] = {
    {"session_id", OP_TEXT, .is_always = true, .doc = "The session."},
    {"plan", OP_OBJECT, .shape = &shape_plan, .doc = "Left out: not in plan mode."},
    {0},
};
const struct op_shape shape_session_plan = {"session_plan", session_plan_members,
                                            "Whether a session is in plan mode."};

static const struct op_member agent_plan_members[] = {
    {"agent", OP_TEXT, .is_always = true, .doc = "The agent."},
    {"plan", OP_OBJECT, .shape = &shape_plan, .doc = "Left out: not in plan mode."},
    {0},
};
const struct op_shape shape_agent_plan = {"agent_plan", agent_plan_members,
                                          "Whether an agent is in plan mode."};

/* In the order of the columns that people are shown. */
static const struct op_member session_members[] = {
    {"session_id", OP_TEXT, .is_always = true, .column = "SESSION", .doc = "Its id."},
    {"name", OP_TEXT, .column = "NAME", .doc = "What it can be called instead."},
    {"labels", OP_TEXTS, .doc = "By which it is found."},
    {"state", OP_TEXT, .is_always = true, .column = "STATE",
     .doc = "starting, idle, busy, suspended or dead."},
    {"runtime", OP_TEXT, .is_always = true, .column = "RUNTIME", .doc = "python, node or bash."},
    {"profile", OP_TEXT, .column = "PROFILE", .doc = "What was imported."},
    {"agent", OP_TEXT, .column = "AGENT", .doc = "Whose it is; left out: the agent default's."},
    {"binding", OP_TEXT, .doc = "The inbound binding that it was made through."},
    {"user", OP_TEXT, .doc = "The agent's user for whom it was made."},
    {"joined", OP_TEXT, .doc = "The session whose sandbox it shares."},
    {"used_at", OP_TIME, .column = "USED", .doc = "When it last worked."},
    {"spawned_at", OP_TIME, .column = "AGE", .doc = "When it was made."},
    {"exec_count", OP_INT, .column = "CELLS", .doc = "How many cells it was given."},
    {"queued", OP_INT, .column = "QUEUED", .doc = "Cells that wait for their turn."},
    {"memory_bytes", OP_SIZE, .column = "MEMORY", .doc = "Memory that its processes use."},
    {"cpu_ms", OP_INT, .column = "CPU", .doc = "Processor time that they have used."},
    {"exit_code", OP_INT, .column = "EXIT", .doc = "Of one that has ended."},
    {"cwd", OP_TEXT, .column = "CWD", .doc = "Where it began to work."},
    {"output_len", OP_SIZE, .doc = "Bytes that its cells wrote."},
    {"limits", OP_OBJECT, .shape = &shape_limits, .doc = "What it may use."},
    {"debug", OP_BOOL, .doc = "Whether its processes may trace each other."},
    {"idle_timeout_secs", OP_INT, .doc = "After how long without use it is suspended; 0: never."},
    {"max_age_secs", OP_INT, .doc = "How long it may live; 0: for ever."},
    {"checkpoints", OP_TEXT, .doc = "When checkpoints are made: auto, every or off."},
    {"checkpoint", OP_INT, .doc = "The number that the next checkpoint gets."},
    {"timeout_ms", OP_INT, .doc = "How long its cells may run that name no time; if set."},
    {"budget", OP_SIZE, .doc = "Bytes of output in answers that name no budget; if set."},
    {"images", OP_TEXT, .doc = "reference or inline, where a cell does not say; if set."},
    {"explore", OP_BOOL, .doc = "Its code has the functions that explore."},
    {"structured", OP_BOOL, .doc = "Its cells are: see structured of session.exec."},
    {"isolation", OP_TEXT, .doc = "shared, or per_cell: each cell has a fresh process."},
    {"durable", OP_TEXT, .doc = "auto: what it has is kept on disk; off: it is not."},
    {"saved_through", OP_INT, .doc = "The last cell whose effects are safe on disk."},
    {"all_saved", OP_BOOL, .doc = "Whether that is all there is."},
    {"not_saved", OP_TEXT, .doc = "Why something could not be saved."},
    {"plan", OP_OBJECT, .shape = &shape_plan, .doc = "If in plan mode."},
    {"reason", OP_TEXT, .doc = "Why it ended."},
    {0},
};
const struct op_shape shape_session = {"session", session_members, "A session."};

static const struct op_member session_list_members[] = {
    {"sessions", OP_LIST, .is_always = true, .shape = &shape_session, .doc = "The sessions."},
    {"count", OP_INT, .is_always = true, .doc = "How many are listed."},
    {"total", OP_INT, .is_always = true, .doc = "How many there are."},
    {"next", OP_TEXT, .doc = "The cursor of the next page."},
    {0},
};
const struct op_shape shape_session_list = {"session_list", session_list_members,
                                            "A list of sessions."};

static const struct op_member repl_rules_members[] = {
    {"enabled", OP_BOOL, .is_always = true, .doc = "Whether it may use interpreters at all."},
    {"allowed_runtimes", OP_TEXT_LIST, .doc = "Which ones; empty: all."},
    {"max_sessions", OP_INT, .doc = "How many sessions it may have."},
    {"timeout_secs", OP_INT, .doc = "How long a cell may run that names no time."},
    {"max_timeout_secs", OP_INT, .doc = "The longest time that it may name."},
    {"max_output_bytes", OP_SIZE, .doc = "The most output that an answer holds."},
    {"max_limits", OP_OBJECT, .shape = &shape_max_limits, .doc = "Its ceilings."},
    {"debug", OP_TEXT, .doc = "Whether sessions may be debugged: ask, always or never."},
    {"budget", OP_SIZE, .doc = "Bytes of output in an answer that names no budget."},
    {"images", OP_TEXT, .doc = "reference or inline, where an answer does not say."},
    {"checkpoints", OP_TEXT, .doc = "auto, every or off, where a session does not say."},
    {0},
};
const struct op_shape shape_repl_rules = {"repl_rules", repl_rules_members,
                                          "What an agent may do."};

/* ---- cells that run -------------------------------------------------------------------------- */

static const struct op_member dtype_members[] = {
    {"name", OP_TEXT, .is_always = true, .doc = "The column."},
    {"dtype", OP_TEXT, .is_always = true, .doc = "Its type."},
    {0},
};
static const struct op_shape shape_dtype = {"dtype", dtype_members, "A column of a table."};

static const struct op_member output_members[] = {
    {"type", OP_TEXT, .is_always = true,
     .doc = "text, html, markdown, latex, svg, image, json, dataframe or error: docs/OUTPUTS.md."},
    {"text", OP_TEXT, .doc = "What a terminal shows."},
    {"stream", OP_TEXT, .doc = "In a notebook, text that was written: stdout or stderr."},
    {"html", OP_TEXT, .doc = "As HTML."},
    {"markdown", OP_TEXT, .doc = "As Markdown."},
    {"latex", OP_TEXT, .doc = "As LaTeX."},
    {"svg", OP_TEXT, .doc = "As SVG."},
    {"json", OP_ANY, .is_nullable = true, .doc = "As JSON."},
    {"format", OP_TEXT, .doc = "Of an image: png, jpeg, gif."},
    {"data", OP_TEXT, .doc = "The image, as base64."},
    {"width", OP_INT, .is_nullable = true, .doc = "Pixels."},
    {"height", OP_INT, .is_nullable = true, .doc = "Pixels."},
    {"bytes", OP_SIZE, .doc = "How large the image is."},
    {"url", OP_TEXT, .doc = "Where it can be had."},
    {"ref", OP_TEXT, .doc = "Its name: notebook://SESSION/cell/CELL/image/N."},
    {"rows", OP_INT, .doc = "Of a table."},
    {"columns", OP_INT, .doc = "Of a table."},
    {"dtypes", OP_LIST, .shape = &shape_dtype, .doc = "The columns."},
    {"head", OP_ANY, .doc = "Its first rows, lists of texts."},
    {"display_id", OP_TEXT, .doc = "By which a later output may replace it."},
    {"mime", OP_FREE, .doc = "Its other forms, by media type."},
    {"metadata", OP_FREE, .doc = "What is known of its forms, by media type."},
    {"late", OP_BOOL, .doc = "It was shown after the cell's value."},
    {"value", OP_BOOL, .doc = "In a notebook: it is the value of the cell."},
    {"omitted", OP_SIZE, .doc = "Bytes that were left out of it."},
    {"note", OP_TEXT, .doc = "Why there is no more of it."},
    {"timestamp", OP_TEXT, .doc = "Of an imported cell: when it was shown, as its file has it."},
    {"name", OP_TEXT, .doc = "Of an error."},
    {"message", OP_TEXT, .doc = "Of an error."},
    {"traceback", OP_TEXT, .is_nullable = true, .doc = "Of an error."},
    {"line", OP_INT, .is_nullable = true, .doc = "Of an error."},
    {"column", OP_INT, .is_nullable = true, .doc = "Of an error."},
    {"advice", OP_TEXT, .is_nullable = true, .doc = "Of an error."},
    {"code", OP_TEXT, .doc = "In a notebook, of an error: the lines that ran, with their numbers."},
    {0},
};
const struct op_shape shape_output = {"output", output_members, "A typed output of a cell."};

static const struct op_member input_members[] = {
    {"prompt", OP_TEXT, .is_always = true, .doc = "What it asks."},
    {"password", OP_BOOL, .doc = "Whether what is typed should not be seen."},
    {0},
};
static const struct op_shape shape_input = {"input", input_members,
                                            "The line that a cell waits for."};

static const struct op_member cell_error_members[] = {
    {"name", OP_TEXT, .is_always = true, .doc = "ZeroDivisionError, TimedOut, Killed …"},
    {"message", OP_TEXT, .is_always = true, .doc = "What it says."},
    {"traceback", OP_TEXT, .doc = "Where it happened."},
    {"line", OP_INT, .doc = "The line of the cell, from 1."},
    {"column", OP_INT, .doc = "The column of a syntax error."},
    {"advice", OP_TEXT, .doc = "What to do about it."},
    {0},
};
static const struct op_shape shape_cell_error = {"cell_error", cell_error_members,
                                                 "Why code failed."};

static const struct op_member spill_members[] = {
    {"path", OP_TEXT, .is_always = true, .doc = "The file_path for explore.peek and explore.grep."},
    {"chars", OP_INT, .is_always = true, .doc = "How many characters the output has."},
    {"lines", OP_INT, .is_always = true, .doc = "How many lines."},
    {0},
};
static const struct op_shape shape_spill = {"spill", spill_members,
                                            "The output of a cell, as a file."};

static const struct op_member denied_members[] = {
    {"call", OP_TEXT, .is_always = true, .doc = "The system call."},
    {"count", OP_INT, .is_always = true, .doc = "How often."},
    {0},
};
static const struct op_shape shape_denied = {"denied", denied_members,
                                             "A system call that the sandbox refused."};

static const struct op_member name_members[] = {
    {"name", OP_TEXT, .is_always = true, .column = "NAME", .doc = "The name."},
    {"type", OP_TEXT, .is_always = true, .column = "TYPE", .doc = "The type of its value."},
    {"len", OP_INT, .doc = "Number of elements."},
    {"shape", OP_INT_LIST, .doc = "Of an array or a table."},
    {"dtype", OP_TEXT, .doc = "Of an array."},
    {"bytes", OP_SIZE, .doc = "Of memory."},
    {"text", OP_TEXT, .column = "VALUE", .doc = "The value, short."},
    {0},
};
const struct op_shape shape_name = {"name", name_members,
                                    "A name that the code of a session made."};

static const struct op_member names_members[] = {
    {"total", OP_INT, .doc = "How many names there are."},
    {"added", OP_TEXT_LIST, .doc = "New ones."},
    {"changed", OP_TEXT_LIST, .doc = "Those with another value."},
    {"removed", OP_TEXT_LIST, .doc = "Those that are gone."},
    {"items", OP_LIST, .shape = &shape_name, .doc = "All of them."},
    {"more", OP_BOOL, .doc = "There are more than are listed."},
    {0},
};
const struct op_shape shape_names = {"names", names_members,
                                     "What a cell did to the names of its session."};

static const struct op_member omitted_members[] = {
    {"stdout", OP_SIZE, .doc = "Of stdout."},
    {"stderr", OP_SIZE, .doc = "Of stderr."},
    {"outputs", OP_SIZE, .doc = "Of outputs."},
    {"traceback", OP_SIZE, .doc = "Of the traceback."},
    {"message", OP_SIZE, .doc = "Of the error's message."},
    {0},
};
static const struct op_shape shape_omitted = {"omitted", omitted_members,
                                              "Bytes that were left out of an answer."};

static const struct op_member lost_members[] = {
    {"name", OP_TEXT, .is_always = true, .doc = "The variable."},
    {"type", OP_TEXT, .doc = "The type of its value."},
    {"advice", OP_TEXT, .doc = "What to do instead."},
    {"reason", OP_TEXT, .doc = "Why."},
    {0},
};
const struct op_shape shape_lost = {"lost", lost_members,
                                    "What could not be saved, or came not back."};

static const struct op_member undone_members[] = {
    {"what", OP_TEXT, .is_always = true, .doc = "process, socket, network …"},
    {"detail", OP_TEXT, .doc = "More about it."},
    {"count", OP_INT, .doc = "How many of the kind there were; left out: one."},
    {0},
};
const struct op_shape shape_undone = {"not_undone", undone_members,
                                      "An effect that could not be taken back."};

static const struct op_member resumed_members[] = {
    {"restored_from", OP_TEXT, .is_always = true, .doc = "durable: from disk."},
    {"restored", OP_INT, .doc = "How many names came back."},
    {"through", OP_INT, .doc = "The last cell whose effects are there."},
    {"lost", OP_LIST, .shape = &shape_lost, .doc = "What did not come back."},
    {"files_reason", OP_TEXT, .doc = "Why files are not as they were."},
    {"files_lost", OP_TEXT_LIST, .doc = "Files that are lost."},
    {0},
};
const struct op_shape shape_resumed = {"resumed", resumed_members,
                                       "How a session came back from disk."};

static const struct op_member late_members[] = {
    {"number", OP_INT, .is_always = true, .doc = "The cell that wrote it."},
    {"stdout", OP_TEXT, .doc = "What it wrote."},
    {"stderr", OP_TEXT, .doc = "What it wrote."},
    {"omitted_bytes", OP_SIZE, .doc = "Bytes that were left out."},
    {0},
};
const struct op_shape shape_late = {"late", late_members,
                                    "What an earlier cell wrote after its end."};

static const struct op_member files_members[] = {
    {"added", OP_TEXT_LIST, .doc = "New files."},
    {"changed", OP_TEXT_LIST, .doc = "Files with other content."},
    {"removed", OP_TEXT_LIST, .doc = "Files that are gone."},
    {"more", OP_BOOL, .doc = "There are more than are listed."},
    {0},
};
static const struct op_shape shape_files = {"files", files_members, "What a cell did to files."};

static const struct op_member tool_call_members[] = {
    {"id", OP_TEXT, .is_always = true, .doc = "What exec.tool_results answers it by."},
    {"name", OP_TEXT, .is_always = true, .doc = "The tool, as it was handed in."},
    {"args", OP_ANY, .is_always = true, .doc = "Its arguments, which have passed its schema."},
    {0},
};
const struct op_shape shape_tool_call = {"tool_call", tool_call_members,
                                         "A call that waits for its result."};

static const char *const chain_modes[] = {"legacy", "seq", "dep", NULL};
static const char *const chain_uses[] = {"seq", "dep", "parallel_read_only", NULL};
static const char *const chain_callers[] = {"direct", "chain", NULL};
static const struct op_member tool_chains_members[] = {
    {"chain_id", OP_TEXT, .is_always = true, .doc = "As toolbox.log has it: twelve letters."},
    {"caller_type", OP_TEXT, .is_always = true, .choices = chain_callers,
     .doc = "chain, or direct if the code has one call only."},
    {"tools", OP_TEXT_LIST, .is_always = true, .doc = "What it calls, in the order of the code."},
    {"elapsed_ms", OP_NUMBER, .is_always = true, .doc = "How long that took."},
    {"success", OP_BOOL, .is_always = true, .doc = "All of it was called, and no call failed."},
    {"mode_requested", OP_TEXT, .is_always = true, .choices = chain_modes,
     .doc = "toolbox.chain_mode of the configuration."},
    {"mode_used", OP_TEXT, .is_always = true, .choices = chain_uses,
     .doc = "seq: one after the other; dep: in waves, each when it has what it needs; "
            "parallel_read_only: all at once, because they only read."},
    {"fallback_to_seq", OP_BOOL, .is_always = true,
     .doc = "The code is more than calls of tools: its interpreter ran it."},
    {"parallel_mutations_enabled", OP_BOOL, .is_always = true,
     .doc = "toolbox.parallel_mutations of the configuration."},
    {"waves", OP_INT, .is_always = true, .doc = "How many there were; 0 in a fallback."},
    {"steps", OP_INT, .is_always = true, .doc = "How many calls were made."},
    {0},
};
static const struct op_shape shape_tool_chains = {"tool_chains", tool_chains_members,
                                                  "The calls of a structured cell."};

static const struct op_member answer_members[] = {
    {"cell_id", OP_TEXT, .doc = "Its id in the notebook."},
    {"number", OP_INT, .is_always = true, .doc = "The cell's number in its session, from 1."},
    {"unrecorded", OP_TEXT, .doc = "Why the notebook does not have it."},
    {"status", OP_TEXT, .is_always = true,
     .doc = "ok, error, interrupted, timeout, died, queued, running, input_required or "
            "tool_call_required."},
    {"input", OP_OBJECT, .shape = &shape_input, .doc = "What it waits for."},
    {"tool_calls", OP_LIST, .shape = &shape_tool_call,
     .doc = "Calls of tools that were handed in: exec.tool_results answers them."},
    {"stdout", OP_TEXT, .doc = "What it wrote."},
    {"stderr", OP_TEXT, .doc = "What it wrote."},
    {"value", OP_OBJECT, .shape = &shape_output, .doc = "Its last expression."},
    {"outputs", OP_LIST, .shape = &shape_output, .doc = "What it displayed."},
    {"error", OP_OBJECT, .shape = &shape_cell_error, .doc = "Why it failed."},
    {"advice", OP_TEXT, .doc = "What to do about what it wrote, if it did not fail."},
    {"exit_code", OP_INT, .doc = "If it left, or its process ended."},
    {"last_status", OP_INT, .doc = "bash: the status of the last command."},
    {"command_status", OP_INT, .doc = "Of a !command that failed."},
    {"denied", OP_LIST, .shape = &shape_denied, .doc = "System calls that were refused."},
    {"names", OP_OBJECT, .shape = &shape_names, .doc = "What it did to names."},
    {"duration_ms", OP_NUMBER, .doc = "How long it ran."},
    {"checkpoint", OP_INT, .doc = "What undo goes back to."},
    {"replaced", OP_TEXT,
     .doc = "The code did not compile; it ran without typographic signs, and these were replaced."},
    {"is_final", OP_BOOL, .doc = "The cell called FINAL: the agent's task has its answer."},
    {"final_answer", OP_TEXT, .doc = "That answer."},
    {"stuck", OP_TEXT, .doc = "The cell called STUCK: why there is none."},
    {"spill", OP_OBJECT, .shape = &shape_spill,
     .doc = "Its output was too long: explore.peek and explore.grep look into this file."},
    {"tool_chains", OP_OBJECT, .shape = &shape_tool_chains,
     .doc = "Of a structured cell that calls tools: how they were called."},
    {"saved_through", OP_INT, .doc = "The last cell whose effects are safe on disk."},
    {"rolled_back_to", OP_INT, .doc = "The checkpoint that a crash took the session back to."},
    {"rolled_back_cells", OP_INT_LIST, .doc = "The cells that this undid."},
    {"restored_from", OP_TEXT, .doc = "process or durable."},
    {"not_undone", OP_LIST, .shape = &shape_undone, .doc = "What could not be taken back."},
    {"lost", OP_LIST, .shape = &shape_lost, .doc = "What did not come back."},
    {"files_lost", OP_TEXT_LIST, .doc = "Files that are lost."},
    {"resumed", OP_OBJECT, .shape = &shape_resumed, .doc = "The session came back from disk."},
    {"late", OP_LIST, .shape = &shape_late, .doc = "What earlier cells wrote after their end."},
    {"durable_error", OP_TEXT, .doc = "Why it is not safe on disk, though that was asked for."},
    {"not_saved", OP_LIST, .shape = &shape_lost, .doc = "What could not be saved."},
    {"files_not_saved", OP_TEXT, .doc = "Why files could not be saved."},
    {"try_id", OP_INT, .doc = "Of a try: its number, to keep it or take it back."},
    {"files", OP_OBJECT, .shape = &shape_files, .doc = "Files that it made, changed or removed."},
    {"files_unknown", OP_BOOL, .doc = "What it did to files could not be told."},
    {"truncated", OP_BOOL, .doc = "Something was left out to fit the budget."},
    {"omitted", OP_OBJECT, .shape = &shape_omitted, .doc = "How much was left out of what."},
    {"dropped_bytes", OP_SIZE, .doc = "Of events that the client was too slow for."},
    {0},
};
const struct op_shape shape_answer = {"answer", answer_members, "What a cell gave."};

static const struct op_member output_event_members[] = {
    {"stream", OP_TEXT, .is_always = true, .doc = "stdout or stderr."},
    {"text", OP_TEXT, .is_always = true, .doc = "What was written."},
    {0},
};
static const struct op_shape shape_output_event = {"output_event", output_event_members,
                                                   "A piece of what a cell writes."};

static const struct op_member clear_event_members[] = {
    {"wait", OP_BOOL, .doc = "Not before something takes its place."},
    {0},
};
static const struct op_shape shape_clear_event = {"clear_event", clear_event_members,
                                                  "What was shown so far goes."};

static const struct op_member accepted_members[] = {
    {"cell_id", OP_TEXT, .doc = "Its id in the notebook."},
    {"number", OP_INT, .is_always = true, .doc = "Its number in the session."},
    {0},
};
static const struct op_shape shape_accepted = {"accepted", accepted_members,
                                               "The cell that the events are about."};

const struct op_event exec_events[] = {
    {"cell", &shape_accepted, "First of all: which cell it is, to ask on for it."},
    {"output", &shape_output_event, "The cell wrote something."},
    {"display", &shape_output, "It displayed something."},
    {"update", &shape_output, "An output takes the place of another with its display_id."},
    {"clear", &shape_clear_event, "What was shown so far goes."},
    {0},
};

const struct op_event run_events[] = {
    {"output", &shape_output_event, "The code wrote something."},
    {"display", &shape_output, "It displayed something."},
    {"update", &shape_output, "An output takes the place of another with its display_id."},
    {0},
};

static const struct op_member restored_members[] = {
    {"session_id", OP_TEXT, .is_always = true, .doc = "The session."},
    SHAPE_RESTORED,
    {0},
};
const struct op_shape shape_restored = {"restored", restored_members,
                                        "Where a session was taken to, and what that undid."};

static const struct op_member definition_members[] = {
    {"kind", OP_TEXT, .doc = "function, class …"},
    {"name", OP_TEXT, .is_always = true, .doc = "What it is called."},
    {"code", OP_TEXT, .doc = "Its source."},
    {0},
};
static const struct op_shape shape_definition = {"definition", definition_members,
                                                 "Something that code defined."};

static const struct op_member declarations_members[] = {
    {"imports", OP_TEXT_LIST, .doc = "Import statements that are run again."},
    {"definitions", OP_LIST, .shape = &shape_definition, .doc = "Made again from their source."},
    {"lost", OP_LIST, .shape = &shape_lost, .doc = "What could not be saved."},
    {"saved", OP_BOOL, .doc = "Whether this tells of what was saved, or of what would be."},
    {"more", OP_BOOL, .doc = "There is more than is listed."},
    {"as_of", OP_INT, .doc = "After which cell."},
    {"busy", OP_BOOL, .doc = "A cell runs meanwhile."},
    {0},
};
const struct op_shape shape_declarations = {"declarations", declarations_members,
                                            "What the code of a session declared."};

/* ---- notebooks ------------------------------------------------------------------------------- */

static const struct op_member shapes_cell_members[] = {
    {"cell_id", OP_TEXT, .is_always = true, .doc = "Its id."},
    {"number", OP_INT, .doc = "Of its last run, from 1: N of In [N]; left out: it did not run."},
    {"index", OP_INT, .is_always = true, .doc = "Its place, from 0."},
    {"kind", OP_TEXT, .is_always = true, .doc = "code, markdown or raw."},
    {"code", OP_TEXT, .doc = "What it says."},
    {"status", OP_TEXT, .is_always = true,
     .doc = "idle, queued, running, ok, error, timeout, interrupted or died."},
    {"undone", OP_BOOL, .doc = "What it did was taken back."},
    {"execution_count", OP_INT, .doc = "The number that it had where it was imported from."},
    {"created_at", OP_TIME, .doc = "When it was made."},
    {"executed_at", OP_TIME, .doc = "When it last ran."},
    {"duration_ms", OP_NUMBER, .doc = "How long."},
    {"revision", OP_INT, .doc = "Counts its changes."},
    {"outputs", OP_LIST, .shape = &shape_output, .doc = "What it showed."},
    {"metadata", OP_FREE, .doc = "What callers keep with it."},
    {0},
};
const struct op_shape shape_cell = {"cell", shapes_cell_members, "A cell of a notebook."};

static const struct op_member notebook_members[] = {
    {"notebook_id", OP_TEXT, .is_always = true, .column = "NOTEBOOK",
     .doc = "Its id, which is its session's."},
    {"title", OP_TEXT, .column = "TITLE", .doc = "What it is called."},
    {"user", OP_TEXT, .doc = "The agent whose it is."},
    {"runtime", OP_TEXT, .column = "RUNTIME", .doc = "What runs it."},
    {"state", OP_TEXT, .column = "SESSION", .doc = "Of its session; left out: there is none."},
    {"cell_count", OP_INT, .column = "CELLS", .doc = "How many cells it has."},
    {"execution_count", OP_INT, .doc = "How many were run."},
    {"created_at", OP_TIME, .doc = "When it was made."},
    {"updated_at", OP_TIME, .column = "CHANGED", .doc = "When it changed."},
    {"metadata", OP_FREE, .doc = "What callers keep with it."},
    {"cells", OP_LIST, .shape = &shape_cell, .doc = "A page of its cells."},
    {"offset", OP_INT, .doc = "Where that page begins."},
    {"count", OP_INT, .doc = "How many cells there are."},
    {"renamed_ids", OP_INT, .doc = "Cells of a file that got another id."},
    {0},
};
const struct op_shape shape_notebook = {"notebook", notebook_members, "A notebook."};

static const struct op_member cell_change_members[] = {
    {"notebook_id", OP_TEXT, .is_always = true, .doc = "The notebook."},
    {"cell", OP_OBJECT, .shape = &shape_cell, .doc = "The cell as it is now."},
    {"deleted_cell_id", OP_TEXT, .doc = "The id of the cell that is gone."},
    {"cell_count", OP_INT, .is_always = true, .doc = "How many cells there are."},
    {0},
};
const struct op_shape shape_cell_change = {"cell_change", cell_change_members,
                                           "A change of a notebook."};

/* ---- states ---------------------------------------------------------------------------------- */

static const struct op_member state_members[] = {
    {"name", OP_TEXT, .is_always = true, .column = "NAME", .doc = "Its name."},
    {"agent", OP_TEXT, .column = "AGENT", .doc = "Whose it is."},
    {"bytes", OP_SIZE, .column = "SIZE", .doc = "How large it is."},
    {"saved_at", OP_TIME, .column = "AGE", .doc = "When it was saved."},
    {"expires_at", OP_TIME, .doc = "Until when it is kept; left out: for ever."},
    {"state", OP_TEXT, .doc = "The state itself, as base64."},
    {0},
};
const struct op_shape shape_state = {"state", state_members,
                                     "Variables that are kept under a name."};
