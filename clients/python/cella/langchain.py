# mypy: disable-error-code="import-untyped,import-not-found,misc"
"""For LangChain: a tool that runs code in a session of Cella.

    from cella import Session
    from cella.langchain import CellaTool

    with Session() as session:
        agent = create_agent(model, tools=[CellaTool(session=session)])
"""

from __future__ import annotations

import base64
import typing as t

from langchain_core.tools import BaseTool
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from ._async_session import AsyncSession
from ._sync_session import Session
from .results import Result

ABOUT = """Runs code in a live sandboxed session and returns what it printed, displayed and the
value of its last expression. Variables, imports and files stay for the next call."""


class Arguments(BaseModel):
    code: str = Field(description="The code to run.")


class CellaTool(BaseTool):
    """The tool; `artifact` of its messages is the Result, whose pictures are content, too."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: str = "run"
    description: str = ABOUT
    args_schema: t.Any = Arguments
    response_format: t.Literal["content", "content_and_artifact"] = "content_and_artifact"
    session: Session
    timeout: t.Optional[float] = None
    _beside: t.Optional[AsyncSession] = PrivateAttr(default=None)

    def _run(self, code: str) -> t.Tuple[t.Any, Result]:
        result = self.session.run(code, timeout=self.timeout, budget=None)
        return content_of(result), result

    async def _arun(self, code: str) -> t.Tuple[t.Any, Result]:
        """In the same session, without blocking the loop."""
        if self._beside is None:
            place = self.session.client.place
            url = f"http{'s' if place.tls else ''}://{place.host_header}{place.prefix}"
            self._beside = AsyncSession.attach(
                self.session.start().id, url=url if place.host else None, key=place.key,
                data=None if place.host else str(place.data), agent=self.session.client.agent)
        result = await self._beside.run(code, timeout=self.timeout, budget=None)
        return content_of(result), result


def content_of(result: Result) -> t.Any:
    """Text, and after it the pictures if there are some."""
    text = str(result) or "(no output)"
    if not result.images:
        return text
    return [{"type": "text", "text": text}] + [
        {"type": "image", "base64": base64.b64encode(image.data).decode(),
         "mime_type": f"image/{image.format}"} for image in result.images]
