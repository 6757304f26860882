"""What can go wrong, as exceptions that say what to do."""

from __future__ import annotations

import typing as t


class CellaError(Exception):
    """Something failed. `code` is stable, `message` says what is wrong, `advice` what to do."""

    code = "error"

    def __init__(self, message: str, advice: str = "", code: t.Optional[str] = None) -> None:
        self.message, self.advice = message, advice
        if code is not None:
            self.code = code
        super().__init__(f"{message}\n{advice}" if advice else message)


class ApiError(CellaError):
    """The daemon refused a request: docs/ERRORS.md lists the codes."""

    def __init__(self, status: int, answer: t.Mapping[str, t.Any]) -> None:
        told = answer.get("error")
        error: t.Mapping[str, t.Any] = told if isinstance(told, dict) else {}
        super().__init__(str(error.get("message") or f"HTTP status {status}"),
                         str(error.get("advice") or ""), str(error.get("code") or "error"))
        self.status = status
        self.answer = dict(answer)  # in plan mode it has `refusal`, too


class NotFound(ApiError):
    """There is no such thing (404)."""


class Conflict(ApiError):
    """It is not possible now (409): busy, plan mode, changed meanwhile."""


class Gone(ApiError):
    """It was there once (410)."""


class Unauthorized(ApiError):
    """The key is missing or wrong (401)."""


class Forbidden(ApiError):
    """This agent may not do that (403)."""


class LimitReached(ApiError):
    """A limit is reached (429)."""


_BY_STATUS: t.Dict[int, t.Type[ApiError]] = {
    401: Unauthorized, 403: Forbidden, 404: NotFound, 409: Conflict, 410: Gone, 429: LimitReached}


def api_error(status: int, answer: t.Any) -> ApiError:
    kind = _BY_STATUS.get(status, ApiError)
    return kind(status, answer if isinstance(answer, dict) else {})


class ConnectionLost(CellaError):
    """The daemon went away, or what answers is no daemon."""

    code = "connection_lost"


class NoDaemon(CellaError):
    """No daemon runs, and none could be started."""

    code = "no_daemon"


class CodeFailed(CellaError):
    """The code in a session failed: `result` has all of it."""

    code = "code_failed"

    def __init__(self, message: str, advice: str, result: t.Any) -> None:
        super().__init__(message, advice)
        self.result = result
