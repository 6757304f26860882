"""The session: waits for a cell, runs it, answers. One thread, one socket.

    receive -> begin (pipes onto 1 and 2) -> run (cells.py) -> done -> receive ...
"""

from __future__ import annotations

import _thread
import builtins
import os
import resource
import sys
import types
from typing import Any, Dict, List, NoReturn, Optional

from . import (
    cells, checkpoints, children, compiler, completeness, completion, copies, displays, exploring,
    frames, handlers, inputs, inspection, interrupts, ipython, jsontext, library, loading, magics,
    names, namespaces, overview, plots, practice, preload, questions, rebuild, records, rehearsal,
    saver, saving, streams, surroundings, toolbox, waking,
)  # fmt: skip

_RESERVED_DESCRIPTORS = 8
_ANSWER_SECONDS = 1.0  # of copies that are asked about a text
_EXPLORED_NAMES = 100  # of a session's variables that get_state() is given
_REHEARSAL_BYTES = 32 << 10  # of a state that is nothing: a pipe takes it without waiting
_thread_count = _thread._count
_NOFILE = resource.RLIMIT_NOFILE
_getrlimit = resource.getrlimit
_setrlimit = resource.setrlimit
_prlimit = resource.prlimit
_getpid = os.getpid
_get_ident = _thread.get_ident
_exit = os._exit
_Exception = Exception
_close = os.close
_write = os.write
_pipe = os.pipe
_quote = jsontext.quote
_dedented = compiler.dedented

_OUT_OF_TURN = "input was asked for within another question or display"
_TOO_LATE = "input was asked for by what outlived its cell: nobody can answer it any more"
_IN_CHILD = "a forked process cannot ask the daemon: only the session's own can"


class _Reserve:
    """A few descriptors that user code cannot use up, so that a cell which leaked all it could get
    is followed by one that can close them: within, there is room for the pipes of the next cell."""

    def __init__(self) -> None:
        self._users = _getrlimit(_NOFILE)
        self._all = (self._users[1], self._users[1])

    def keep(self) -> None:
        soft, hard = _getrlimit(_NOFILE)
        self._all = (hard, hard)
        if hard > _RESERVED_DESCRIPTORS:  # and not infinite
            _setrlimit(_NOFILE, (min(soft, hard - _RESERVED_DESCRIPTORS), hard))

    def __enter__(self) -> None:
        try:  # what the limit was, and the new one, with one system call
            self._users = _prlimit(0, _NOFILE, self._all)
        except (OSError, ValueError):  # user code has lowered what it may have at the most
            self._users = _getrlimit(_NOFILE)
            self._all = (self._users[1], self._users[1])
            _setrlimit(_NOFILE, self._all)

    def __exit__(self, *_: object) -> None:
        _setrlimit(_NOFILE, self._users)


class Session:
    """Made in the zygote, so that all sessions share what making it takes; started in its fork."""

    def __init__(self, given: Dict[str, Any], session_plots: plots.Plots) -> None:
        self._gate = interrupts.Gate()
        self._inputs = inputs.Inputs(self._ask)
        self._streams = streams.Streams(self._gate, self._inputs.make_stdin)
        self._main = _fresh_main(given)
        self._names = names.Names(vars(self._main))
        self._registry = handlers.Registry()
        self._subject = saving.Subject(dict(vars(self._main)), self._registry)
        rebuild.main, rebuild.namespace = self._main, vars(self._main)
        self._cells = cells.Cells(self._main, self._gate, self._streams, session_plots)
        self._subject.futures = self._cells.compiler.futures
        self._tap = magics.Tap(self._tell)
        self._displays = displays.Displays(self._tap)
        self._channel: frames.Channel
        self._questions: questions.Questions
        self._reserve = _Reserve()
        self._checkpoints = checkpoints.Checkpoints()
        self._rehearsal = rehearsal.Rehearsal()
        self._pid = 0
        self._is_installed = False
        self._explores = False  # the functions of exploring.py are there
        self._cell_id = 0
        self._talker = 0  # the thread that holds the channel's lock
        session_plots.connect(self._show_figure)
        ipython.install(self._displays)
        self._shell = magics.CellaShell(
            vars(self._main), self._cells, self._streams, session_plots, self._displays, self._tap,
            self._inputs.line,
        )  # fmt: skip
        self._cells.compiler.before_magics = self._shell.offer
        self._completer = completion.Completer(vars(self._main), self._shell.magic_tables())
        self._inspector = inspection.Inspector(vars(self._main), self._shell.text_of_magic)

    def warm_up(self) -> None:
        """In the zygote: what every session would otherwise do for itself."""
        self._warm_up_saving()
        self._install()

    def practise(self) -> None:
        """In the zygote, at last: the hot path's memory is as a session will use it. Leaves no
        trace but what the interpreter itself has learnt."""
        for _ in range(practice.SESSIONS):
            if self._checkpoints.is_alone():
                practice.pretend_to_fork()
            preload.reseed()
            with practice.Stage() as stage:
                self._open(stage.fd)
                self._cells.warm_up()
                try:
                    self._run_cells(stage)
                finally:
                    self._channel.close()
                    self._streams.forget_cell()
        self._names = names.Names(vars(self._main))

    def _run_cells(self, stage: practice.Stage) -> None:
        for source in practice.SOURCES:
            stage.send_cell(source)
            self._step()
            stage.take_answer()
            self._cells.forget_last()
            stage.send_checkpoint()
            with self._checkpoints.without_forks():
                self._step()
            stage.take_answer()

    def _warm_up_saving(self) -> None:
        null = os.open(os.devnull, os.O_WRONLY)
        namespaces.warm_up()
        saving.Saver(self._subject, records.Writer(null, 0), 0).run()
        _close(null)

    def start(self, fd: int, report: str = "{}") -> NoReturn:
        """Turns this process into a session that speaks on `fd`. `report` is what it tells of its
        profile, if it loaded that itself: JSON."""
        try:
            self._open(fd)
            self._take_over()
            self._cells.warm_up()
        except BaseException as error:
            _fail(fd, error)
        self._serve(report)

    def _open(self, fd: int) -> None:
        self._channel = frames.Channel(fd)
        self._questions = questions.Questions(self._channel, self._gate)
        self._gate.connect(self._channel.has_unread)
        self._pid = _getpid()

    def _take_over(self) -> None:
        self._reserve.keep()
        _detach_stdio()
        if not self._is_installed:
            self._install()
        os.register_at_fork(before=self._streams.flush, after_in_child=self._after_fork_in_child)

    def _install(self) -> None:
        """What is a session's, whichever process it will be."""
        self._is_installed = True
        sys.argv = [""]
        sys.path.insert(0, "")
        self._subject.place.begin()
        sys.modules["__main__"] = self._main
        sys.modules["cella"] = handlers.make_module(self._registry)
        magics.install(self._shell, sys.modules["cella"])
        self._cells.install()
        self._streams.install()
        self._inputs.install()
        children.teach_subprocess(self._streams)
        builtins.display = self._displays.display  # type: ignore[attr-defined]
        displays.current["session"] = self._displays

    def _serve(self, report: str) -> NoReturn:
        try:
            self._channel.send(f'{{"ev":"ready","report":{report}}}')
            while True:
                self._step()
        except BaseException as error:
            self._end(error)

    def _step(self) -> None:
        """Does what one frame asks for."""
        frame = self._next_frame()
        if frame["op"] == "exec":
            self._exec(frame)
            return
        self._gate.forget_early()  # no cell: an interrupt meant none
        if frame["op"] == "tool":
            self._channel.send(toolbox.answer(frame))
        elif frame["op"] == "setup":
            self._setup(frame)
        elif frame["op"] == "names":
            manifest = self._names.manifest(frame.get("max", 1000))
            self._channel.send(f'{{"ev":"names","names":{manifest}}}')
        elif frame["op"] == "declarations":
            told = overview.describe(self._subject.sources, self._subject.variables())
            self._channel.send(f'{{"ev":"declarations",{told}}}')
        elif frame["op"] == "is_complete":
            self._tell_whether_complete(frame["code"])
        elif frame["op"] == "complete":
            self._tell_completions(frame["code"], frame["cursor"])
        elif frame["op"] == "inspect":
            self._tell_about(frame["code"], frame["cursor"], frame["detail"])
        elif frame["op"] == "checkpoint":
            self._checkpoint(frame["id"], frame.get("debug", False))
        elif frame["op"] == "save":
            self._fork_saver(frame)
        elif frame["op"] == "load":
            self._load(frame["id"])
        elif frame["op"] == "rehearse":
            self._rehearse_states()

    def _next_frame(self) -> Dict[str, Any]:
        has_threads = _thread_count() > 0  # else nobody is there to use up what is not reserved
        if has_threads:
            self._channel.wait_unread()
        with self._reserve:
            if not has_threads:
                self._channel.wait_unread()
            self._gate.is_taken = True
            frame: Dict[str, Any] = self._channel.receive()
        return frame

    def _setup(self, frame: Dict[str, Any]) -> None:
        """Where the session works, and its environment: before the first cell."""
        try:
            surroundings.enter(frame.get("cwd"), frame.get("env") or {})
        except surroundings.Unusable as error:
            self._channel.send(f'{{"ev":"fatal","message":{_quote(str(error))}}}')
            _exit(1)
        self._subject.place.begin()
        self._channel.send('{"ev":"set"}')

    def _tell_whether_complete(self, code: str) -> None:
        try:
            told = completeness.describe(code, self._cells.compiler.futures())
        except _Exception:  # of what the user has changed, len() for one
            told = '"status":"unknown"'
        self._channel.send(f'{{"ev":"is_complete",{told}}}')

    def _tell_completions(self, code: str, cursor: int) -> None:
        told: Optional[bytes] = None
        try:
            cursor = min(cursor, len(code))
            told = copies.ask(lambda: self._completer.answer(code, cursor), _ANSWER_SECONDS)
            if told is None:
                told = completion.alone(vars(self._main), code, cursor)
        except _Exception:  # of what the user has changed
            told = told or f'"start":{cursor},"end":{cursor},"matches":[]'.encode()
        self._channel.send(f'{{"ev":"complete",{told.decode()}}}')

    def _tell_about(self, code: str, cursor: int, detail: int) -> None:
        told: Optional[bytes] = None
        try:
            cursor = min(cursor, len(code))
            told = copies.ask(
                lambda: self._inspector.answer(code, cursor, detail), _ANSWER_SECONDS
            )
            if told is None:
                told = self._inspector.alone(code, cursor)
        except _Exception:
            told = told or b'"found":false'
        self._channel.send(f'{{"ev":"inspect",{told.decode()}}}')

    def _load(self, number: int) -> None:
        """Into a session that has just begun."""
        (stream,) = self._take_descriptors(1)
        result = self._make_loader().run(stream)
        _close(stream)
        self._names.begin_cell(False)  # what it knows of them is not true any more
        self._channel.send(f'{{"ev":"loaded","id":{number},{result}}}')

    def _rehearse_states(self) -> None:
        """Before anything of the user's is here: a state leaves and comes back, so that the memory
        which that takes is this process's own when somebody waits for it."""
        reader, writer = _pipe()
        records_out = records.Writer(writer, _REHEARSAL_BYTES)
        namespaces.save(self._subject, records_out, _REHEARSAL_BYTES)
        records_out.flush()
        _close(writer)
        self._make_loader().run(reader)
        _close(reader)
        namespaces.rehearse()

    def _make_loader(self) -> loading.Loader:
        return loading.Loader(self._subject, self._registry, self._cells.compiler.set_futures)

    def _exec(self, frame: Dict[str, Any]) -> None:
        cell_id: int = frame["id"]
        wanted: Optional[str] = frame.get("names")  # of the names: "changes" or "full"
        descriptors = self._channel.take_descriptors(2)
        if len(descriptors) != 2:
            raise frames.Closed(f"a cell came with {len(descriptors)} descriptors")
        self._streams.begin_cell(*descriptors)
        self._inputs.forget()
        if frame.get("explore") and not self._explores:
            self._explores = True
            exploring.install(self._call, vars(self._main), self._list_names)
        has_names = wanted == "changes" or wanted == "full"
        self._names.begin_cell(has_names)
        self._cell_id = cell_id
        self._talker = 0
        self._tap.held = self._tap.publisher = None
        code: str = frame["code"] if frame.get("script") else _dedented(frame["code"])
        plain: Optional[str] = frame.get("plain")
        runs_plain = plain is not None and self._cells.prefers(plain, code)
        if runs_plain:
            code = plain if frame.get("script") else _dedented(plain)
        self._subject.sources.note(code)
        try:
            if frame.get("script"):
                verdict = self._cells.run_script(code)
            elif "chain" in frame:
                verdict = self._cells.run_planned(cell_id, code, frame["chain"])
            else:
                verdict = self._cells.run(cell_id, code)
        except BaseException as error:
            verdict = self._cells.settle(error)
        if _getpid() != self._pid:
            self._end_child(verdict)
        self._questions.withdraw()
        more = f',"exit_code":{verdict.exit_code}' if verdict.has_exited else ""
        if runs_plain:
            more += ',"plain":true'
        failed = self._shell.take_failed_status()
        if failed:
            more += f',"command_status":{failed}'
        if has_names:
            more += f',"names":{self._names.end_cell(wanted == "full")}'
        with self._channel.lock:  # a thread may wait for the acknowledgement of its display
            self._channel.send(
                f'{{"ev":"done","id":{cell_id},"status":"{verdict.status}",'
                f'"value":{verdict.value},"error":{verdict.error}{more}}}'
            )

    def _take_descriptors(self, count: int) -> List[int]:
        descriptors = self._channel.take_descriptors(count)
        if len(descriptors) != count:
            raise frames.Closed(f"{len(descriptors)} descriptors came instead of {count}")
        return descriptors

    def _checkpoint(self, number: int, has_debug: bool) -> None:
        """Returns in the session, and in every copy that becomes a session."""
        (channel,) = self._take_descriptors(1)
        with self._reserve:  # the copy keeps it until it wakes, and needs it for what it is sent
            copied = self._checkpoints.make(channel, self._own_descriptors(), has_debug)
        order = copied.order
        if order is None:
            self._channel.send(copied.answer(number))
            if not self._channel.has_unread():
                self._use_idle_time()
        elif order["op"] == "wake" and len(copied.descriptors) == 1:
            self._wake(copied.descriptors[0])
        elif order["op"] == "wake" and order.get("room") and len(copied.descriptors) == 2:
            self._wake_in_a_room(*copied.descriptors)
        elif order["op"] == "save" and len(copied.descriptors) == 1:
            saver.run(self._subject, copied.descriptors[0], order)
        else:
            _exit(1)

    def _use_idle_time(self) -> None:
        """Nobody waits for it. What the user has changed, len() for one, may break it: let it."""
        try:
            self._rehearsal.run(self._channel, self._streams, self._names)
            self._subject.sources.look_into_some()
        except _Exception:
            pass

    def _fork_saver(self, order: Dict[str, Any]) -> None:
        (stream,) = self._take_descriptors(1)
        if order.get("last") and self._checkpoints.is_alone():
            saver.run_last(self._subject, stream, order)
        self._subject.place.note_random()
        with self._reserve:
            pid = self._checkpoints.fork_saver(stream, self._own_descriptors())
        if pid == 0:
            saver.run(self._subject, stream, order)
        self._subject.place.forget_random()
        _close(stream)

    def _own_descriptors(self) -> List[int]:
        return [*self._channel.numbers(), *self._streams.numbers()]

    def _wake_in_a_room(self, fd: int, key: int) -> None:
        """Likewise, as the head of a branch: in a jail of its own."""
        errnum = self._checkpoints.enter_room(key)
        if errnum != 0:
            _fail(fd, OSError(errnum, "cannot enter the room of the branch"))
        self._wake(fd, True)

    def _wake(self, fd: int, has_moved: bool = False) -> None:
        """This process is a copy that was asleep, and is the session's head from here on."""
        try:
            self._channel.move(fd)
            self._pid = _getpid()
            self._gate.after_copy()
            self._streams.after_copy()
            found = self._checkpoints.wake(has_moved)
            notes = waking.put_right(found, self._cells.event_loops(), has_moved)
            if not has_moved:
                notes += waking.written_since(self._checkpoints.made_ns)
            self._channel.greet(b"h")
            self._channel.send(waking.message(notes))
        except BaseException as error:
            _fail(fd, error)

    def _tell(self, event: str, members: str) -> bool:
        """Sends what the cell shows or drops, and waits until the daemon has taken it. False if
        there is nobody to tell."""
        if not self._is_connected():
            return False
        with self._channel.lock, interrupts.Shield(self._gate, self._streams.is_main_thread()):
            if self._is_connected():  # still: the cell may have ended while a thread waited
                self._talker = _get_ident()
                try:
                    self._send_and_wait(event, members)
                finally:
                    self._talker = 0
        return True

    def _send_and_wait(self, event: str, members: str) -> None:
        self._channel.send(f'{{"ev":"{event}","id":{self._cell_id},{members}}}')
        while self._channel.receive()["op"] != "ack":
            pass

    def _show_figure(self, output: str) -> None:
        self._tap("display", f'"output":{output}')

    def _ask(self, prompt: str, is_secret: bool) -> Optional[str]:
        """Asks the caller for a line. None is the end of the input."""
        if _getpid() != self._pid:
            return None  # a forked child: the caller is its parent's to talk to
        self._require_cell()
        self._streams.flush()
        with self._channel.lock:
            self._require_cell()  # still
            self._talker = _get_ident()
            try:
                is_main_thread = self._streams.is_main_thread()
                return self._questions.ask(self._cell_id, prompt, is_secret, is_main_thread)
            finally:
                self._talker = 0

    def _call(self, op: str, args: Dict[str, Any]) -> Any:
        """What an operation of the daemon answers, about this session; for code of a cell. Raises
        exploring.Refused with what the daemon says instead."""
        if not jsontext.is_plain(args):
            raise TypeError(f"{op} takes texts, numbers, lists and dictionaries of these")
        if _getpid() != self._pid:
            raise RuntimeError(_IN_CHILD)
        self._require_cell()
        self._streams.flush()
        with self._channel.lock:
            self._require_cell()  # still
            self._talker = _get_ident()
            try:
                is_main_thread = self._streams.is_main_thread()
                frame = self._questions.call(
                    self._cell_id, op, jsontext.write(args), is_main_thread
                )
            finally:
                self._talker = 0
        error = frame.get("error")
        if error is not None:
            raise exploring.Refused(error["code"], error["message"], error["advice"])
        return frame["result"]

    def _list_names(self) -> List[Dict[str, str]]:
        """The user's variables, for exploring.py: name, type and the value in short."""
        told = jsontext.read_object(self._names.manifest(_EXPLORED_NAMES))
        return [
            {key: item[key] for key in ("name", "type", "text") if key in item}
            for item in told.get("items", ())
        ]

    def _require_cell(self) -> None:
        if self._talker == _get_ident():
            raise RuntimeError(_OUT_OF_TURN)
        if not self._is_connected():
            raise RuntimeError(_TOO_LATE)

    def _is_connected(self) -> bool:
        """False in a forked child, for what outlived its cell, and for a signal handler or a
        destructor that broke into this thread's talk with the daemon."""
        return (
            _getpid() == self._pid
            and not self._streams.is_late()
            and self._gate.is_running
            and self._talker != _get_ident()
        )

    def _after_fork_in_child(self) -> None:
        if self._pid != _getpid():
            self._channel.close()
            self._inputs.forget()
            self._streams.after_fork_in_child()

    def _end_child(self, verdict: cells.Verdict) -> NoReturn:
        """A forked child fell out of the user's code: it ends, as at the end of a script."""
        if verdict.error != cells.NOTHING:
            self._say(jsontext.read_object(verdict.error)["traceback"])
        _exit(verdict.exit_code)

    def _end(self, error: BaseException) -> NoReturn:
        if _getpid() != self._pid:
            _exit(1)
        if not isinstance(error, frames.Closed):
            self._say(f"cella: the driver failed: {type(error).__name__}: {error}\n")
        _exit(0 if isinstance(error, frames.Closed) else 1)

    def _say(self, text: str) -> None:
        try:
            _write(2, text.encode("utf-8", "backslashreplace"))
        except OSError:
            pass


def _fresh_main(given: Dict[str, Any]) -> types.ModuleType:
    """__main__ as a script would have it, and the names of the profile."""
    main = types.ModuleType("__main__")
    vars(main)["__builtins__"] = builtins
    vars(main).update(given)
    return main


def _detach_stdio() -> None:
    """Until the first cell brings its pipes."""
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    if null > 2:
        os.close(null)
    library.unbuffer_stdio()


def _fail(fd: int, error: BaseException) -> NoReturn:
    message = f"the session could not start: {type(error).__name__}: {error}"
    try:
        frames.Channel(fd).send(f'{{"ev":"fatal","message":{_quote(message)}}}')
    finally:
        _exit(1)
