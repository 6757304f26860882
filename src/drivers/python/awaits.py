"""Top-level await: one event loop for the session, so that tasks go on in later cells whenever a
cell awaits something."""

from __future__ import annotations

import asyncio
import asyncio.events as _events
from typing import Any, Coroutine, List, Optional

_new_event_loop = asyncio.new_event_loop
_set_event_loop = asyncio.set_event_loop
_wait = asyncio.wait
_CancelledError = asyncio.CancelledError

_CANCEL_SECONDS = 0.5  # less than the grace after an interrupt


class EventLoop:
    def __init__(self) -> None:
        self._loop: Optional[asyncio.AbstractEventLoop] = None

    def in_use(self) -> List[asyncio.AbstractEventLoop]:
        """That of this session, and the one that user code made its own."""
        policy = getattr(_events, "_event_loop_policy", None)
        users = getattr(getattr(policy, "_local", None), "_loop", None)
        return [loop for loop in (self._loop, users) if loop is not None]

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        loop = self._loop
        if loop is None or loop.is_closed():
            self._loop = loop = _new_event_loop()
        _set_event_loop(loop)  # asyncio.run() in an earlier cell has unset it
        cancelled: List[BaseException] = []
        task = loop.create_task(_main(coroutine, cancelled))
        try:
            return loop.run_until_complete(task)
        except KeyboardInterrupt as interrupt:
            self._cancel(loop, task)
            if cancelled:  # it knows where the user's code was waiting
                raise interrupt.with_traceback(cancelled[0].__traceback__) from None
            raise
        finally:
            if task.done() and not task.cancelled():
                task.exception()  # or asyncio complains that nobody looked at it

    def _cancel(self, loop: asyncio.AbstractEventLoop, task: "asyncio.Task[Any]") -> None:
        if task.done() or loop.is_running():
            return
        task.cancel()
        loop.run_until_complete(_wait([task], timeout=_CANCEL_SECONDS))


async def _main(coroutine: Coroutine[Any, Any, Any], cancelled: List[BaseException]) -> Any:
    try:
        return await coroutine
    except _CancelledError as error:
        cancelled.append(error)
        raise
