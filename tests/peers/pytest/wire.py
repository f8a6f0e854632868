"""The part of the `bb/*` contract that this peer relies on, as types of its own.

Written from the contract by hand and not from `schemas/`, so that a mistake there shows here. Structuring is strict: a
number where a string belongs is an error, a field that is missing is an error, a field that is new is not.
"""

from __future__ import annotations

from typing import Any, Optional

import attrs
from cattrs import Converter
from cattrs.gen import make_dict_structure_fn, override


@attrs.define
class ServerIdentity:
    name: str
    version: str


@attrs.define
class EngineStatus:
    kind: str
    status: str
    capabilities: list[str]


@attrs.define
class SessionSummary:
    sessionId: str
    title: Optional[str] = None
    status: Optional[str] = None
    updatedAt: Optional[int] = None


@attrs.define
class InitResult:
    v: int
    server: ServerIdentity
    epoch: str
    engine: EngineStatus
    sessions: list[SessionSummary]
    workspaceTrusted: bool
    activeSessionId: Optional[str] = None


@attrs.define
class SessionResult:
    sessionId: str


@attrs.define
class ListSessionsResult:
    sessions: list[SessionSummary]


@attrs.define
class SendMessageResult:
    sessionId: str
    messageId: str
    disposition: str


@attrs.define
class LaneView:
    blocks: list[dict[str, Any]]
    hasMore: bool


@attrs.define
class ViewLanes:
    chat: LaneView
    tasks: LaneView
    run: LaneView
    debug: LaneView


@attrs.define
class View:
    epoch: str
    seq: int
    lanes: ViewLanes


@attrs.define
class Resume:
    verdict: str


@attrs.define
class SelectSessionResult:
    sessionId: str
    seq: int
    view: View
    resume: Resume


@attrs.define
class LineRange:
    startLine: int
    endLine: int


@attrs.define
class ReadFileSnippetResult:
    path: str
    content: str
    totalBytes: int
    truncated: bool
    ranges: list[LineRange]
    source: str


@attrs.define
class Event:
    id: str
    type: str
    payload: dict[str, Any]
    seq: int
    klass: str
    pane: list[str]
    origin: str
    turn: Optional[int] = None
    ts: Optional[int] = None


@attrs.define
class EventsParams:
    sessionId: str
    epoch: str
    fromSeq: int
    toSeq: int
    events: list[Event]


@attrs.define
class Change:
    lane: str
    op: str
    id: str
    block: Optional[dict[str, Any]] = None
    text: Optional[str] = None


@attrs.define
class ViewParams:
    sessionId: str
    epoch: str
    fromSeq: int
    toSeq: int
    changes: list[Change]
    snapshot: Optional[View] = None


@attrs.define
class StateParams:
    sessions: list[SessionSummary]
    activeSessionId: Optional[str] = None
    running: Optional[bool] = None
    pendingPermissionCount: Optional[int] = None


@attrs.define
class ConnectionParams:
    status: str
    sessionId: Optional[str] = None
    lastError: Optional[str] = None


RESULTS = {
    "bb/init": InitResult,
    "bb/createSession": SessionResult,
    "bb/listSessions": ListSessionsResult,
    "bb/sendMessage": SendMessageResult,
    "bb/selectSession": SelectSessionResult,
    "bb/readFileSnippet": ReadFileSnippetResult,
}

NOTIFICATIONS = {
    "bb/events": EventsParams,
    "bb/view": ViewParams,
    "bb/state": StateParams,
    "bb/connection": ConnectionParams,
}


def _exactly(kind: type):
    def structure(value: Any, _: type) -> Any:
        # `bool` is an `int` to Python, and never one on this wire.
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise TypeError(f"{value!r} is no {kind.__name__}")
        return value

    return structure


def _strict() -> Converter:
    converter = Converter()
    for kind in (str, int, bool):
        converter.register_structure_hook(kind, _exactly(kind))
    converter.register_structure_hook(
        Event, make_dict_structure_fn(Event, converter, klass=override(rename="class"))
    )
    return converter


_CONVERTER = _strict()


def parse(kind: type, value: Any) -> Any:
    """`value` as a `kind`, or an error that names what does not fit."""
    return _CONVERTER.structure(value, kind)
