"""The objects of answers. Made by packaging/pages.py from the program's table of operations: do not edit."""

from __future__ import annotations

import typing as t


class _FailureAlways(t.TypedDict):
    error: Error


class Failure(_FailureAlways, total=False):
    """The answer to a request that failed."""

    refusal: Refusal
    revision: int


class _ErrorAlways(t.TypedDict):
    code: str
    message: str


class Error(_ErrorAlways, total=False):
    """Why a request failed."""

    advice: str


class _RefusalAlways(t.TypedDict):
    tool_name: str
    tool_kind: str
    hint: str
    entered_at: str


class Refusal(_RefusalAlways, total=False):
    """Why something was not run in plan mode."""

    entered_reason: t.Optional[str]


class _AnswerAlways(t.TypedDict):
    number: int
    status: str


class Answer(_AnswerAlways, total=False):
    """What a cell gave."""

    cell_id: str
    unrecorded: str
    input: Input
    tool_calls: t.List[ToolCall]
    stdout: str
    stderr: str
    value: Output
    outputs: t.List[Output]
    error: CellError
    advice: str
    exit_code: int
    last_status: int
    command_status: int
    denied: t.List[Denied]
    names: Names
    duration_ms: float
    checkpoint: int
    replaced: str
    is_final: bool
    final_answer: str
    stuck: str
    spill: Spill
    tool_chains: ToolChains
    saved_through: int
    rolled_back_to: int
    rolled_back_cells: t.List[int]
    restored_from: str
    not_undone: t.List[NotUndone]
    lost: t.List[Lost]
    files_lost: t.List[str]
    resumed: Resumed
    late: t.List[Late]
    durable_error: str
    not_saved: t.List[Lost]
    files_not_saved: str
    try_id: int
    files: Files
    files_unknown: bool
    truncated: bool
    omitted: Omitted
    dropped_bytes: int


class _InputAlways(t.TypedDict):
    prompt: str


class Input(_InputAlways, total=False):
    """The line that a cell waits for."""

    password: bool


class _ToolCallAlways(t.TypedDict):
    id: str
    name: str
    args: t.Any


class ToolCall(_ToolCallAlways, total=False):
    """A call that waits for its result."""


class _OutputAlways(t.TypedDict):
    type: str


class Output(_OutputAlways, total=False):
    """A typed output of a cell."""

    text: str
    stream: str
    html: str
    markdown: str
    latex: str
    svg: str
    json: t.Optional[t.Any]
    format: str
    data: str
    width: t.Optional[int]
    height: t.Optional[int]
    bytes: int
    url: str
    ref: str
    rows: int
    columns: int
    dtypes: t.List[Dtype]
    head: t.Any
    display_id: str
    mime: t.Dict[str, t.Any]
    metadata: t.Dict[str, t.Any]
    late: bool
    value: bool
    omitted: int
    note: str
    timestamp: str
    name: str
    message: str
    traceback: t.Optional[str]
    line: t.Optional[int]
    column: t.Optional[int]
    advice: t.Optional[str]
    code: str


class _DtypeAlways(t.TypedDict):
    name: str
    dtype: str


class Dtype(_DtypeAlways, total=False):
    """A column of a table."""


class _CellErrorAlways(t.TypedDict):
    name: str
    message: str


class CellError(_CellErrorAlways, total=False):
    """Why code failed."""

    traceback: str
    line: int
    column: int
    advice: str


class _DeniedAlways(t.TypedDict):
    call: str
    count: int


class Denied(_DeniedAlways, total=False):
    """A system call that the sandbox refused."""


class Names(t.TypedDict, total=False):
    """What a cell did to the names of its session."""

    total: int
    added: t.List[str]
    changed: t.List[str]
    removed: t.List[str]
    items: t.List[Name]
    more: bool


class _NameAlways(t.TypedDict):
    name: str
    type: str


class Name(_NameAlways, total=False):
    """A name that the code of a session made."""

    len: int
    shape: t.List[int]
    dtype: str
    bytes: int
    text: str


class _SpillAlways(t.TypedDict):
    path: str
    chars: int
    lines: int


class Spill(_SpillAlways, total=False):
    """The output of a cell, as a file."""


class _ToolChainsAlways(t.TypedDict):
    chain_id: str
    caller_type: str
    tools: t.List[str]
    elapsed_ms: float
    success: bool
    mode_requested: str
    mode_used: str
    fallback_to_seq: bool
    parallel_mutations_enabled: bool
    waves: int
    steps: int


class ToolChains(_ToolChainsAlways, total=False):
    """The calls of a structured cell."""


class _NotUndoneAlways(t.TypedDict):
    what: str


class NotUndone(_NotUndoneAlways, total=False):
    """An effect that could not be taken back."""

    detail: str
    count: int


class _LostAlways(t.TypedDict):
    name: str


class Lost(_LostAlways, total=False):
    """What could not be saved, or came not back."""

    type: str
    advice: str
    reason: str


class _ResumedAlways(t.TypedDict):
    restored_from: str


class Resumed(_ResumedAlways, total=False):
    """How a session came back from disk."""

    restored: int
    through: int
    lost: t.List[Lost]
    files_reason: str
    files_lost: t.List[str]


class _LateAlways(t.TypedDict):
    number: int


class Late(_LateAlways, total=False):
    """What an earlier cell wrote after its end."""

    stdout: str
    stderr: str
    omitted_bytes: int


class Files(t.TypedDict, total=False):
    """What a cell did to files."""

    added: t.List[str]
    changed: t.List[str]
    removed: t.List[str]
    more: bool


class Omitted(t.TypedDict, total=False):
    """Bytes that were left out of an answer."""

    stdout: int
    stderr: int
    outputs: int
    traceback: int
    message: int


class _AcceptedAlways(t.TypedDict):
    number: int


class Accepted(_AcceptedAlways, total=False):
    """The cell that the events are about."""

    cell_id: str


class _OutputEventAlways(t.TypedDict):
    stream: str
    text: str


class OutputEvent(_OutputEventAlways, total=False):
    """A piece of what a cell writes."""


class ClearEvent(t.TypedDict, total=False):
    """What was shown so far goes."""

    wait: bool


class _RunAlways(t.TypedDict):
    stdout: str
    stderr: str
    exit_code: int
    files: t.List[RunFile]
    execution_time_ms: float


class Run(_RunAlways, total=False):
    """What code that ran once gave."""

    state: t.Optional[str]
    error: t.Optional[str]
    replaced: str
    state_errors: t.Any
    state_bytes: int
    state_expires_at: str
    files_omitted: int
    files_error: str
    outputs: t.List[Output]
    truncated: bool
    dropped_bytes: int


class _RunFileAlways(t.TypedDict):
    name: str
    path: str
    size: int
    url: str


class RunFile(_RunFileAlways, total=False):
    """A file that code left."""


class _InterruptedAlways(t.TypedDict):
    interrupted: bool


class Interrupted(_InterruptedAlways, total=False):
    """Whether a cell was interrupted."""


class _OutputPageAlways(t.TypedDict):
    session_id: str
    stream: str
    text: str
    offset: int
    next_offset: int
    end: int


class OutputPage(_OutputPageAlways, total=False):
    """A page of output."""

    number: int
    dropped: int


class _NameListAlways(t.TypedDict):
    total: int
    items: t.List[Name]


class NameList(_NameListAlways, total=False):
    """The names of a session."""

    more: bool
    as_of: int
    busy: bool


class _FilePutAlways(t.TypedDict):
    path: str
    bytes: int
    created: bool


class FilePut(_FilePutAlways, total=False):
    """A file that was put into a workspace."""


class _DeletedFileAlways(t.TypedDict):
    path: str
    deleted: bool


class DeletedFile(_DeletedFileAlways, total=False):
    """A file that is gone."""


class _FileListAlways(t.TypedDict):
    entry: FileEntry
    entries: t.List[FileEntry]


class FileList(_FileListAlways, total=False):
    """A page of what is in a folder."""

    next: str


class _FileEntryAlways(t.TypedDict):
    path: str
    type: str
    bytes: int
    mode: str
    modified_at: str


class FileEntry(_FileEntryAlways, total=False):
    """A file or folder of a workspace."""

    target: str


class _FolderMadeAlways(t.TypedDict):
    path: str
    created: bool


class FolderMade(_FolderMadeAlways, total=False):
    """A folder that is there now."""


class _UnpackedAlways(t.TypedDict):
    path: str
    files: int
    folders: int
    bytes: int


class Unpacked(_UnpackedAlways, total=False):
    """An archive that was unpacked."""


class _FilesWatchedAlways(t.TypedDict):
    events: int


class FilesWatched(_FilesWatchedAlways, total=False):
    """The folder, or the session, is gone."""


class _FileNewsAlways(t.TypedDict):
    changes: t.List[FileChange]


class FileNews(_FileNewsAlways, total=False):
    """What changed since the last event."""

    left_out: int
    too_many: bool


class _FileChangeAlways(t.TypedDict):
    change: str
    path: str
    type: str


class FileChange(_FileChangeAlways, total=False):
    """One change of a file."""

    bytes: int


class _ContextAlways(t.TypedDict):
    name: str
    bytes: int
    chars: int
    lines: int


class Context(_ContextAlways, total=False):
    """A text that is explored without being read."""


class _ContextsAlways(t.TypedDict):
    contexts: t.List[Context]


class Contexts(_ContextsAlways, total=False):
    """The contexts of a session."""


class _ContextDeletedAlways(t.TypedDict):
    name: str
    deleted: bool


class ContextDeleted(_ContextDeletedAlways, total=False):
    """A context that is gone."""


class _PeekAlways(t.TypedDict):
    text: str
    offset: int
    chars: int


class Peek(_PeekAlways, total=False):
    """Some characters of a text."""

    is_cut: bool
    left: int
    note: str


class _GrepAlways(t.TypedDict):
    lines: t.List[str]
    count: int
    truncated: bool


class Grep(_GrepAlways, total=False):
    """Lines that match."""


class _ChunksAlways(t.TypedDict):
    chunks: t.List[Chunk]


class Chunks(_ChunksAlways, total=False):
    """A text in pieces of about the same size."""


class _ChunkAlways(t.TypedDict):
    index: int
    start: int
    end: int
    char_count: int


class Chunk(_ChunkAlways, total=False):
    """A piece of a text: explore.peek shows any of it, however long it is."""

    text: str
    is_cut: bool


class _SearchAlways(t.TypedDict):
    results: t.List[Found]
    index: str
    query: str


class Search(_SearchAlways, total=False):
    """What fits a question best."""

    skipped: SearchSkipped
    notes: str
    toon: str


class _FoundAlways(t.TypedDict):
    file: str
    lines: str
    score: float
    unit: str
    signature: str


class Found(_FoundAlways, total=False):
    """A part of a file that was found."""


class SearchSkipped(t.TypedDict, total=False):
    """Files that were not searched."""

    too_large: int
    binary: int
    too_many: int
    unreadable: int


class _ChunkSummariesAlways(t.TypedDict):
    chunks: t.List[ChunkSummary]
    note: str


class ChunkSummaries(_ChunkSummariesAlways, total=False):
    """A text in pieces, each with what it is."""


class _ChunkSummaryAlways(t.TypedDict):
    index: int
    start: int
    end: int
    char_count: int
    line_count: int
    first_line: str
    summary: str


class ChunkSummary(_ChunkSummaryAlways, total=False):
    """What is known of a piece of a text."""

    read_chars: int


class _ArchiveAlways(t.TypedDict):
    format: str
    files: t.List[ArchiveMember]
    total: int


class Archive(_ArchiveAlways, total=False):
    """What is in an archive."""

    toon: str


class _ArchiveMemberAlways(t.TypedDict):
    name: str
    type: str


class ArchiveMember(_ArchiveMemberAlways, total=False):
    """A file of an archive."""

    size: int
    target: str
    note: str


class _ArchiveHitsAlways(t.TypedDict):
    hits: t.List[ArchiveHit]
    is_cut: bool
    files_searched: int
    skipped: t.Any


class ArchiveHits(_ArchiveHitsAlways, total=False):
    """What was found in an archive."""

    note: str
    toon: str


class _ArchiveHitAlways(t.TypedDict):
    archive: str
    file: str
    line: int
    match: str


class ArchiveHit(_ArchiveHitAlways, total=False):
    """A line of a file in an archive."""


class _ExtractedAlways(t.TypedDict):
    files: int
    folders: int


class Extracted(_ExtractedAlways, total=False):
    """An archive that was unpacked."""

    left_out: t.Any


class _PageAlways(t.TypedDict):
    url: str
    status: int
    text: str
    chars: int
    is_cut: bool


class Page(_PageAlways, total=False):
    """A page of the web."""

    content_type: t.Optional[str]
    title: t.Optional[str]
    note: str


class _DirAlways(t.TypedDict):
    path: str
    files: t.List[DirEntry]
    total: int


class Dir(_DirAlways, total=False):
    """What is in a folder."""

    more: bool
    toon: str


class _DirEntryAlways(t.TypedDict):
    name: str
    type: str
    size: int


class DirEntry(_DirEntryAlways, total=False):
    """A file or a folder in a folder."""


class _FileInfoAlways(t.TypedDict):
    path: str
    exists: bool


class FileInfo(_FileInfoAlways, total=False):
    """What is known of a file."""

    type: str
    size: int
    modified: str
    extension: str
    toon: str


class _FindingAlways(t.TypedDict):
    id: str
    content: str
    at: str


class Finding(_FindingAlways, total=False):
    """Something that was worth keeping."""

    tags: t.List[str]
    source_file: str
    source_page: int
    source_section: str


class _FindingsAlways(t.TypedDict):
    findings: t.List[Finding]


class Findings(_FindingsAlways, total=False):
    """What was found so far."""


class _FinalAlways(t.TypedDict):
    final: bool


class Final(_FinalAlways, total=False):
    """That the answer was taken."""


class _StuckAlways(t.TypedDict):
    stuck: bool


class Stuck(_StuckAlways, total=False):
    """That there is no way on."""


class _ExploreStateAlways(t.TypedDict):
    text: str
    log: t.Any


class ExploreState(_ExploreStateAlways, total=False):
    """What was explored so far."""

    contexts: t.Any
    findings: t.Any
    hits: t.Any
    final: t.Any
    spills: t.Any
    tree: t.Any


class _ExploreTextAlways(t.TypedDict):
    text: str


class ExploreText(_ExploreTextAlways, total=False):
    """What was explored so far, as a text."""


class _ToolboxAlways(t.TypedDict):
    tools: t.List[ToolEntry]
    total: int


class Toolbox(_ToolboxAlways, total=False):
    """The tools that code can call."""


class _ToolEntryAlways(t.TypedDict):
    name: str
    category: str
    description: str
    parameters: t.Any
    returns: str
    side_effects: t.List[str]
    permissions: t.List[str]
    allowed_callers: t.List[str]
    destructive: bool


class ToolEntry(_ToolEntryAlways, total=False):
    """A tool that code can call."""

    examples: t.Any
    schema: t.Any


class _ToolboxResultAlways(t.TypedDict):
    tool: str
    result: t.Any
    elapsed_ms: float


class ToolboxResult(_ToolboxResultAlways, total=False):
    """What a tool answers."""


class _InvocationsAlways(t.TypedDict):
    calls: t.List[Invocation]
    total: int


class Invocations(_InvocationsAlways, total=False):
    """The calls of tools in a session."""


class _InvocationAlways(t.TypedDict):
    tool_name: str
    caller_type: str
    args: str
    success: bool
    elapsed_ms: float
    at: str


class Invocation(_InvocationAlways, total=False):
    """A call of a tool."""

    role: str
    chain_id: str
    chain_index: int
    result: str
    error: str


class _ExploreResetAlways(t.TypedDict):
    reset: bool


class ExploreReset(_ExploreResetAlways, total=False):
    """That exploring begins anew."""


class _NodesAlways(t.TypedDict):
    nodes: t.List[str]


class Nodes(_NodesAlways, total=False):
    """Nodes of the research tree."""


class _ResearchAlways(t.TypedDict):
    tree: t.Any
    log: t.Any
    worth: t.Any


class Research(_ResearchAlways, total=False):
    """What was explored, to be kept elsewhere."""


class _MarkAlways(t.TypedDict):
    node: str
    status: str


class Mark(_MarkAlways, total=False):
    """A node of the research tree that was marked."""


class _RecallAlways(t.TypedDict):
    results: t.List[Recalled]
    best_action: t.Optional[str]
    confidence: float


class Recall(_RecallAlways, total=False):
    """What was learnt from similar tasks."""

    toon: str


class _RecalledAlways(t.TypedDict):
    task: str
    outcome: str
    action: str
    q_value: float
    similarity: float
    combined_score: float


class Recalled(_RecalledAlways, total=False):
    """A similar task that was explored before."""


class _OutcomeAlways(t.TypedDict):
    memory: str
    task: str
    action: str
    outcome: str
    q_value: float
    outcomes: int


class Outcome(_OutcomeAlways, total=False):
    """What was learnt from an exploration."""

    dropped: int


class Declarations(t.TypedDict, total=False):
    """What the code of a session declared."""

    imports: t.List[str]
    definitions: t.List[Definition]
    lost: t.List[Lost]
    saved: bool
    more: bool
    as_of: int
    busy: bool


class _DefinitionAlways(t.TypedDict):
    name: str


class Definition(_DefinitionAlways, total=False):
    """Something that code defined."""

    kind: str
    code: str


class _CompletenessAlways(t.TypedDict):
    status: str


class Completeness(_CompletenessAlways, total=False):
    """Whether a text is whole."""

    goes_on: bool
    indent: int


class _CompletionsAlways(t.TypedDict):
    start: int
    end: int
    matches: t.List[Match]


class Completions(_CompletionsAlways, total=False):
    """How a text could go on."""

    more: bool
    partial: bool


class _MatchAlways(t.TypedDict):
    text: str
    kind: str


class Match(_MatchAlways, total=False):
    """A way to go on."""


class _MeaningAlways(t.TypedDict):
    found: bool


class Meaning(_MeaningAlways, total=False):
    """What stands at a place of a text."""

    name: str
    type: str
    text: str
    len: int
    bytes: int
    shape: t.List[int]
    signature: str
    doc: str
    file: str
    line: int
    source: str
    preview: str
    partial: bool


class _ReferenceAlways(t.TypedDict):
    uri: str
    format: str
    url: str


class Reference(_ReferenceAlways, total=False):
    """What a reference stands for."""

    width: int
    height: int
    bytes: int
    data: str


class _CheckpointListAlways(t.TypedDict):
    checkpoints: t.List[Checkpoint]
    current: int
    count: int


class CheckpointList(_CheckpointListAlways, total=False):
    """A session's checkpoints."""

    cells_since: int


class _CheckpointAlways(t.TypedDict):
    id: int
    parent: int


class Checkpoint(_CheckpointAlways, total=False):
    """A point that a session can go back to."""

    cell: int
    cells: t.List[int]
    at: str
    memory_bytes: int
    files: str
    files_reason: str
    restore: str
    reason: str
    saved: bool
    threads: int


class _RestoredAlways(t.TypedDict):
    session_id: str


_RestoredOddWords = t.TypedDict("_RestoredOddWords", {"from": "int"}, total=False)


class Restored(_RestoredAlways, _RestoredOddWords, total=False):
    """Where a session was taken to, and what that undid."""

    to: int
    restored_from: str
    cells: t.List[int]
    more_cells: int
    files: str
    files_changed: int
    files_reason: str
    files_lost: t.List[str]
    names: Names
    ended_processes: int
    not_undone: t.List[NotUndone]


class _RanCellsAlways(t.TypedDict):
    cells: t.List[RanCell]
    count: int


class RanCells(_RanCellsAlways, total=False):
    """Cells that a session ran."""


class _RanCellAlways(t.TypedDict):
    cell_id: str
    number: int
    code: str
    status: str


class RanCell(_RanCellAlways, total=False):
    """A cell that a session ran."""

    executed_at: str
    duration_ms: float


class _BranchesAlways(t.TypedDict):
    at: int
    sessions: t.List[Session]
    count: int


class Branches(_BranchesAlways, total=False):
    """Copies of a session."""

    trouble: str


class _SessionAlways(t.TypedDict):
    session_id: str
    state: str
    runtime: str


class Session(_SessionAlways, total=False):
    """A session."""

    name: str
    labels: t.Dict[str, str]
    profile: str
    agent: str
    binding: str
    user: str
    joined: str
    used_at: str
    spawned_at: str
    exec_count: int
    queued: int
    memory_bytes: int
    cpu_ms: int
    exit_code: int
    cwd: str
    output_len: int
    limits: Limits
    debug: bool
    idle_timeout_secs: int
    max_age_secs: int
    checkpoints: str
    checkpoint: int
    timeout_ms: int
    budget: int
    images: str
    explore: bool
    structured: bool
    isolation: str
    durable: str
    saved_through: int
    all_saved: bool
    not_saved: str
    plan: Plan
    reason: str


class _LimitsAlways(t.TypedDict):
    memory_mb: int
    cpu_percent: int
    pids: int
    disk_mb: int
    checkpoint_mb: int
    cpu_seconds: int


class Limits(_LimitsAlways, total=False):
    """What a session may use."""


class _PlanAlways(t.TypedDict):
    entered_at: str


class Plan(_PlanAlways, total=False):
    """Plan mode."""

    reason: str


class _TryEndAlways(t.TypedDict):
    session_id: str
    try_id: int
    outcome: str


_TryEndOddWords = t.TypedDict("_TryEndOddWords", {"from": "int"}, total=False)


class TryEnd(_TryEndAlways, _TryEndOddWords, total=False):
    """How a try ended."""

    to: int
    restored_from: str
    cells: t.List[int]
    more_cells: int
    files: str
    files_changed: int
    files_reason: str
    files_lost: t.List[str]
    names: Names
    ended_processes: int
    not_undone: t.List[NotUndone]


class _SessionListAlways(t.TypedDict):
    sessions: t.List[Session]
    count: int
    total: int


class SessionList(_SessionListAlways, total=False):
    """A list of sessions."""

    next: str


class _SuspendedAlways(t.TypedDict):
    session_id: str
    state: str


class Suspended(_SuspendedAlways, total=False):
    """A session that was suspended."""

    saved_through: int
    lost: t.List[Lost]
    files_not_saved: str


class _AwakeAlways(t.TypedDict):
    session_id: str
    state: str


class Awake(_AwakeAlways, total=False):
    """A session that was resumed."""

    resumed: Resumed


class _KilledAlways(t.TypedDict):
    session_id: str
    killed: bool


class Killed(_KilledAlways, total=False):
    """A session that was ended."""

    notebook: str


class _CellChangeAlways(t.TypedDict):
    notebook_id: str
    cell_count: int


class CellChange(_CellChangeAlways, total=False):
    """A change of a notebook."""

    cell: Cell
    deleted_cell_id: str


class _CellAlways(t.TypedDict):
    cell_id: str
    index: int
    kind: str
    status: str


class Cell(_CellAlways, total=False):
    """A cell of a notebook."""

    number: int
    code: str
    undone: bool
    execution_count: int
    created_at: str
    executed_at: str
    duration_ms: float
    revision: int
    outputs: t.List[Output]
    metadata: t.Dict[str, t.Any]


class _CellListAlways(t.TypedDict):
    notebook_id: str
    cells: t.List[Cell]
    offset: int
    count: int


class CellList(_CellListAlways, total=False):
    """The cells of a notebook."""


class _NotebookRunAlways(t.TypedDict):
    notebook_id: str
    cells: t.List[Ran]
    ran: int


class NotebookRun(_NotebookRunAlways, total=False):
    """Cells of a notebook that were run."""

    failed_cell_id: str


class _RanAlways(t.TypedDict):
    cell_id: str
    index: int
    status: str


class Ran(_RanAlways, total=False):
    """A cell that was run."""

    number: int
    last_status: int
    exit_code: int
    replaced: str


class _WatchedAlways(t.TypedDict):
    notebook_id: str
    events: int


class Watched(_WatchedAlways, total=False):
    """The end of a stream of events."""


class _WatchingAlways(t.TypedDict):
    notebook_id: str


class Watching(_WatchingAlways, total=False):
    """The beginning of a stream."""


class _CellEventAlways(t.TypedDict):
    seq: int
    cell: Cell


class CellEvent(_CellEventAlways, total=False):
    """A cell that is new or has changed."""


class _IdEventAlways(t.TypedDict):
    seq: int


class IdEvent(_IdEventAlways, total=False):
    """Something happened to a cell."""

    cell_id: str
    number: int
    index: int
    wait: bool


class _NotebookOutputAlways(t.TypedDict):
    seq: int
    cell_id: str


class NotebookOutput(_NotebookOutputAlways, total=False):
    """A cell showed something."""

    number: int
    stream: str
    text: str
    output: Output
    value: bool
    update: bool


class _CellsClearedAlways(t.TypedDict):
    seq: int


class CellsCleared(_CellsClearedAlways, total=False):
    """Something was removed."""

    what: str


class _CellsUndoneAlways(t.TypedDict):
    seq: int
    after: int
    redone: t.List[int]


class CellsUndone(_CellsUndoneAlways, total=False):
    """What cells did was taken back."""


class _NotebookChangedAlways(t.TypedDict):
    seq: int


class NotebookChanged(_NotebookChangedAlways, total=False):
    """A notebook was described anew."""

    title: str
    metadata: t.Dict[str, t.Any]


class _LaggedAlways(t.TypedDict):
    dropped: int


class Lagged(_LaggedAlways, total=False):
    """Events that the client was too slow for."""


class _NotebookDeletedAlways(t.TypedDict):
    seq: int


class NotebookDeleted(_NotebookDeletedAlways, total=False):
    """The notebook is gone."""


class _ResetAlways(t.TypedDict):
    notebook_id: str
    reset: bool


class Reset(_ResetAlways, total=False):
    """A notebook that was reset."""

    ended_processes: int


class _NotebookAlways(t.TypedDict):
    notebook_id: str


class Notebook(_NotebookAlways, total=False):
    """A notebook."""

    title: str
    user: str
    runtime: str
    state: str
    cell_count: int
    execution_count: int
    created_at: str
    updated_at: str
    metadata: t.Dict[str, t.Any]
    cells: t.List[Cell]
    offset: int
    count: int
    renamed_ids: int


class _NotebookListAlways(t.TypedDict):
    notebooks: t.List[Notebook]
    count: int


class NotebookList(_NotebookListAlways, total=False):
    """Notebooks."""


class _DeletedNotebookAlways(t.TypedDict):
    notebook_id: str
    deleted: bool


class DeletedNotebook(_DeletedNotebookAlways, total=False):
    """A notebook that is gone."""


class _HealthAlways(t.TypedDict):
    status: str
    version: str


class Health(_HealthAlways, total=False):
    """Whether the daemon is ready."""

    sessions: int
    pooled: int


class _HealthDetailedAlways(t.TypedDict):
    status: str
    version: str
    check: Check
    sandbox: Sandbox


class HealthDetailed(_HealthDetailedAlways, total=False):
    """Whether code can be run, tried out."""

    sessions: int
    pooled: int
    copying: int
    to_copy: int
    heap_bytes: int
    store: Store
    mcp: McpClients


class _CheckAlways(t.TypedDict):
    ok: bool


class Check(_CheckAlways, total=False):
    """A line of code that was run."""

    timeout_secs: int
    execution_time_ms: float
    error: str


class _SandboxAlways(t.TypedDict):
    repl_enabled: bool
    default_profile: str
    profiles: t.List[Profile]


class Sandbox(_SandboxAlways, total=False):
    """What is ready to run code."""

    warmup_timeout_secs: int
    size: int
    ready: int
    hits: int
    misses: int


class _ProfileAlways(t.TypedDict):
    profile: str
    runtime: str
    state: str


class Profile(_ProfileAlways, total=False):
    """A profile."""

    size: int
    ready: int
    hits: int
    misses: int
    warmup_ms: int
    python_version: str
    preloaded_modules: t.Any
    skipped_modules: t.Any
    import_ms: t.Any
    failure: str
    missing: str


class _StoreAlways(t.TypedDict):
    ok: bool


class Store(_StoreAlways, total=False):
    """How writing to disk goes."""

    error: str
    queued: int
    groups_written: int
    database_bytes: int
    journal_bytes: int
    memory_bytes: int


class _McpClientsAlways(t.TypedDict):
    sessions: int
    listeners: int
    tasks: int
    task_bytes: int


class McpClients(_McpClientsAlways, total=False):
    """What is kept for clients of MCP."""


class _OauthResourceAlways(t.TypedDict):
    resource: str
    resource_name: str
    authorization_servers: t.List[str]
    scopes_supported: t.List[str]
    bearer_methods_supported: t.List[str]


class OauthResource(_OauthResourceAlways, total=False):
    """Where clients get tokens, as RFC 9728 has it."""


class _IndexAlways(t.TypedDict):
    name: str
    version: str
    about: str
    openapi: str
    operations: t.List[IndexEntry]


class Index(_IndexAlways, total=False):
    """What there is, in short."""


class _IndexEntryAlways(t.TypedDict):
    name: str
    method: str
    path: str
    doc: str


class IndexEntry(_IndexEntryAlways, total=False):
    """An operation, in short."""


class _OpenapiAlways(t.TypedDict):
    openapi: str
    info: t.Dict[str, t.Any]
    servers: t.Any
    security: t.Any
    paths: t.Dict[str, t.Any]
    components: t.Dict[str, t.Any]


class Openapi(_OpenapiAlways, total=False):
    """A description of the API as OpenAPI has it."""


class _OperationListAlways(t.TypedDict):
    operations: t.List[Operation]
    shapes: t.List[Shape]
    count: int


class OperationList(_OperationListAlways, total=False):
    """All operations."""


class _OperationAlways(t.TypedDict):
    name: str
    method: str
    path: str
    subject: str
    doc: str
    flags: t.List[str]
    params: t.List[Parameter]
    statuses: t.List[int]
    errors: t.List[str]
    example: t.Dict[str, t.Any]


class Operation(_OperationAlways, total=False):
    """An operation."""

    result: str
    other_result: str
    sends: str
    events: t.List[Event]
    verb: Verb


_ParameterAlwaysWords = t.TypedDict("_ParameterAlwaysWords", {"in": "str"}, total=True)


class _ParameterAlways(t.TypedDict):
    name: str
    type: str
    required: bool
    doc: str


class Parameter(_ParameterAlwaysWords, _ParameterAlways, total=False):
    """A parameter of an operation."""

    nullable: bool
    means: str
    min: int
    max: int
    choices: t.List[str]
    members: t.Any


class _EventAlways(t.TypedDict):
    name: str
    shape: str
    doc: str


class Event(_EventAlways, total=False):
    """An event of a stream."""


class _VerbAlways(t.TypedDict):
    words: str


class Verb(_VerbAlways, total=False):
    """A verb of the command line."""

    takes: t.List[str]


class _ShapeAlways(t.TypedDict):
    name: str
    doc: str
    members: t.List[Member]


class Shape(_ShapeAlways, total=False):
    """An object of an answer."""


class _MemberAlways(t.TypedDict):
    name: str
    type: str
    doc: str


class Member(_MemberAlways, total=False):
    """A member of an answer."""

    always: bool
    nullable: bool
    shape: str
    choices: t.List[str]


class _AgentListAlways(t.TypedDict):
    agents: t.List[Agent]
    inbound_bindings: t.List[Binding]
    count: int


class AgentList(_AgentListAlways, total=False):
    """The agents of the configuration."""

    max_limits: MaxLimits


class _AgentAlways(t.TypedDict):
    agent: str
    repl: ReplRules
    sessions: int


class Agent(_AgentAlways, total=False):
    """An agent."""

    plan: Plan


class _ReplRulesAlways(t.TypedDict):
    enabled: bool


class ReplRules(_ReplRulesAlways, total=False):
    """What an agent may do."""

    allowed_runtimes: t.List[str]
    max_sessions: int
    timeout_secs: int
    max_timeout_secs: int
    max_output_bytes: int
    max_limits: MaxLimits
    debug: str
    budget: int
    images: str
    checkpoints: str


class MaxLimits(t.TypedDict, total=False):
    """What a caller may ask for at most; those that are set."""

    memory_mb: int
    cpu_percent: int
    pids: int
    disk_mb: int
    checkpoint_mb: int


class _BindingAlways(t.TypedDict):
    plugin: str


class Binding(_BindingAlways, total=False):
    """An inbound binding."""

    agent: str
    repl: ReplRules


class _SessionPlanAlways(t.TypedDict):
    session_id: str


class SessionPlan(_SessionPlanAlways, total=False):
    """Whether a session is in plan mode."""

    plan: Plan


class _AgentPlanAlways(t.TypedDict):
    agent: str


class AgentPlan(_AgentPlanAlways, total=False):
    """Whether an agent is in plan mode."""

    plan: Plan


class _MemoryListAlways(t.TypedDict):
    memories: t.List[Memory]
    count: int


class MemoryList(_MemoryListAlways, total=False):
    """What an agent remembers of explorations."""


class _MemoryAlways(t.TypedDict):
    memory: str
    agent: str
    session_id: str
    task: str
    action: str
    outcome: str
    q_value: float
    outcomes: int
    created_at: str
    updated_at: str


class Memory(_MemoryAlways, total=False):
    """What is remembered of an exploration."""

    user: str
    log: t.Any


class _DeletedMemoryAlways(t.TypedDict):
    memory: str
    deleted: bool


class DeletedMemory(_DeletedMemoryAlways, total=False):
    """A memory that is gone."""


class _ClearedMemoriesAlways(t.TypedDict):
    deleted: int


class ClearedMemories(_ClearedMemoriesAlways, total=False):
    """Memories that are gone."""


class _StateListAlways(t.TypedDict):
    states: t.List[State]
    count: int


class StateList(_StateListAlways, total=False):
    """States that are kept under a name."""


class _StateAlways(t.TypedDict):
    name: str


class State(_StateAlways, total=False):
    """Variables that are kept under a name."""

    agent: str
    bytes: int
    saved_at: str
    expires_at: str
    state: str


class _DeletedStateAlways(t.TypedDict):
    name: str
    deleted: bool


class DeletedState(_DeletedStateAlways, total=False):
    """A state that is gone."""


class ReplAnswer(t.TypedDict, total=False):
    """An answer of the repl tool: each action has its own members."""

    session_id: str
    runtime: str
    message: str
    stdout: str
    stderr: str
    timed_out: bool
    exit_code: t.Optional[int]
    images: t.List[Output]
    last_status: int
    advice: str
    command_status: int
    replaced: str
    rolled_back_to: int
    rolled_back_cells: t.List[int]
    restored_from: str
    not_undone: t.List[NotUndone]
    lost: t.List[Lost]
    files_lost: t.List[str]
    resumed: Resumed
    late: t.List[Late]
    sessions: t.List[Listed]
    count: int


class _ListedAlways(t.TypedDict):
    session_id: str
    runtime: str


class Listed(_ListedAlways, total=False):
    """A session, as the repl tool lists it."""

    cwd: t.Optional[str]
    spawned_at: str
    output_len: int
    exit_code: t.Optional[int]


class _ToolResultAlways(t.TypedDict):
    content: t.List[ToolContent]


class ToolResult(_ToolResultAlways, total=False):
    """What a tool answers, as MCP has it."""

    isError: bool
    pending: ToolPending


class _ToolContentAlways(t.TypedDict):
    type: str


class ToolContent(_ToolContentAlways, total=False):
    """A piece of a tool's answer, as MCP has it."""

    text: str
    data: str
    mimeType: str
    uri: str
    name: str


class _ToolPendingAlways(t.TypedDict):
    session: str
    exec_id: int
    kind: str


class ToolPending(_ToolPendingAlways, total=False):
    """A cell that goes on."""

    prompt: str
    is_password: bool
    tool_calls: t.List[ToolCall]


class _ToolListAlways(t.TypedDict):
    tools: t.List[Tool]
    count: int


class ToolList(_ToolListAlways, total=False):
    """Tools for models."""


class _ToolAlways(t.TypedDict):
    name: str
    description: str
    inputSchema: t.Dict[str, t.Any]
    annotations: t.Dict[str, t.Any]


class Tool(_ToolAlways, total=False):
    """A tool, as MCP describes it."""
