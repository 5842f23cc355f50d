"""What goes over the wire: bounded request bodies, JSON without NaN, one form for every error."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from rote.errors import RoteError
from rote.store.files import finite

Key = Annotated[str, Field(min_length=1, max_length=200, description="A name from a listing of this server.")]


class Body(BaseModel):
    """What a client sends: nothing that is not declared, no NaN, no infinity. Every field sets its own bounds."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Answer(JSONResponse):
    """JSON that every browser reads: NaN and infinities are null, and any text can be encoded."""

    def render(self, content: Any) -> bytes:
        try:
            return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
        except ValueError:
            return json.dumps(finite(content), allow_nan=False, separators=(",", ":")).encode()


class RefusedError(RoteError):
    """A request that is not served; ``status`` is the HTTP status of the answer."""

    status = 422


class BusyError(RefusedError):
    status = 429


class TimeLimitError(RefusedError):
    status = 503


class EndingError(RefusedError):
    status = 503


def error(status: int, text: str) -> Answer:
    return Answer({"error": " ".join(text.split())}, status_code=status)
