"""Cella: live, undoable, sandboxed sessions of Python, Node.js and bash.

    from cella import Session

    with Session() as s:
        s.run("x = 20")
        print(s.run("x + 1"))       # 21
        s.undo()

`Session` is for people; `Client` has every operation of the daemon as a method; `AsyncSession` and
`AsyncClient` are the same for asyncio. docs/CLIENTS.md tells more.
"""

from . import shapes
from ._async_client import AsyncClient, AsyncEvents, AsyncSocket
from ._async_session import AsyncCheckpoint, AsyncFiles, AsyncSession, AsyncStream, AsyncTry
from ._sync_client import Client, Events, Reply, Socket
from ._sync_session import Checkpoint, Files, Session, Stream, Try
from ._wire import Event
from .errors import (ApiError, CellaError, CodeFailed, Conflict, ConnectionLost, Forbidden, Gone,
                     LimitReached, NoDaemon, NotFound, Unauthorized)
from .results import Image, Output, Result

__version__ = "0.1.0"

__all__ = [
    "ApiError", "AsyncCheckpoint", "AsyncClient", "AsyncEvents", "AsyncFiles", "AsyncSession",
    "AsyncSocket", "AsyncStream", "AsyncTry", "CellaError", "Checkpoint", "Client", "CodeFailed",
    "Conflict", "ConnectionLost", "Event", "Events", "Files", "Forbidden", "Gone", "Image",
    "LimitReached", "NoDaemon", "NotFound", "Output", "Reply", "Result", "Session", "Socket",
    "Stream", "Try", "Unauthorized", "shapes",
]
