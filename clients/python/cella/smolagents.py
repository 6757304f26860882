# mypy: disable-error-code="import-untyped,import-not-found,misc"
"""For smolagents: its code agents run their code in a session of Cella.

    from cella.smolagents import CellaExecutor
    from smolagents import CodeAgent

    with CellaExecutor() as executor:
        agent = CodeAgent(tools=[...], model=model, executor=executor)
        agent.run("...")
"""

from __future__ import annotations

import io
import logging
import typing as t

import PIL.Image
from smolagents.local_python_executor import CodeOutput
from smolagents.monitoring import AgentLogger, LogLevel
from smolagents.remote_executors import RemotePythonExecutor
from smolagents.utils import AgentError

from ._sync_session import Session
from .results import Image, Result

ANSWER_BYTES = 16 * 1024 * 1024  # a final answer comes as the text of an exception

logger = logging.getLogger(__name__)


class CellaExecutor(RemotePythonExecutor):
    """A PythonExecutor whose state lives in a session: tools and variables are sent there, code
    runs there. `session` is one that exists; else one is started with these options."""

    def __init__(self, session: t.Optional[Session] = None, *, allow_pickle: bool = False,
                 timeout: t.Optional[float] = None, **options: t.Any) -> None:
        super().__init__([], AgentLogger(level=LogLevel.ERROR), allow_pickle)
        self._is_ours = session is None
        self.session = session or Session("python", **options)
        self.timeout = timeout

    def run_code_raise_errors(self, code: str) -> CodeOutput:
        result = self.session.run(code, timeout=self.timeout, budget=ANSWER_BYTES)
        error = result.error
        if error is not None and error.get("name") == self.FINAL_ANSWER_EXCEPTION:
            answer = self._deserialize_final_answer(error.get("message", ""), self.allow_pickle)
            return CodeOutput(output=answer, logs=result.stdout, is_final_answer=True)
        if not result.ok:
            raise AgentError(str(result), self.logger)
        return CodeOutput(output=value_of(result), logs=result.stdout, is_final_answer=False)

    def install_packages(self, additional_imports: t.List[str]) -> t.List[str]:
        """Sessions have no network: what tools need is installed where the daemon runs."""
        if additional_imports:
            logger.info("sessions use what is installed on the host: %s",
                        ", ".join(additional_imports))
        return additional_imports

    def cleanup(self) -> None:
        if self._is_ours:
            self.session.end()

    def __enter__(self) -> CellaExecutor:
        return self

    def __exit__(self, *_: t.Any) -> None:
        self.cleanup()


def value_of(result: Result) -> t.Any:
    """The last expression: a picture, or its text."""
    value = result.value if result.value is not None else next(iter(result.images), None)
    if isinstance(value, Image):
        return PIL.Image.open(io.BytesIO(value.data))
    return result.text
