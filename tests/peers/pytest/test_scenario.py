"""One story through pytest-lsp, as three editors: initialize, open, ask, stream, cancel, refuse, shut down.

Standard messages are read through lsprotocol's types, `bb/*` through `wire.py`; what does not parse fails the test.
pytest-lsp also checks each message of the server against what the editor said it can do.
"""

from __future__ import annotations

import asyncio
import copy
import os
from pathlib import Path
from typing import Any, Callable

import pytest
import pytest_lsp
from lsprotocol import converters
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.protocol import JsonRPCNotification, JsonRPCRequestMessage, JsonRPCResponseMessage
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities
from pytest_lsp.client import register_lsp_features
from pytest_lsp.protocol import LanguageClientProtocol

import wire

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.filterwarnings("error::pytest_lsp.LspSpecificationWarning"),
]

EDITORS = ["visual_studio_code", "neovim", "emacs"]
PATIENCE = 20.0  # seconds that the server may owe us anything; test machines are busy

# The emoji is one, two or four units, by encoding: an edit behind it tells the encodings apart.
LINE = "/// Waits 😀 longer each time."
DISK = f"{LINE}\npub fn wait_time(attempt: u32) -> u64 {{\n    100 * u64::from(attempt)\n}}\n"
BUFFER = DISK.replace("longer each time", "a random while").replace("wait_time", "jittered_wait_time")
QUESTION = "Where is jittered_wait_time defined?"


class PeerProtocol(LanguageClientProtocol):
    """pytest-lsp's protocol, which also counts the answers to each request."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.answers: dict[Any, int] = {}

    def _handle_response(self, msg_id: Any, result: Any = None, error: Any = None) -> None:
        self.answers[msg_id] = self.answers.get(msg_id, 0) + 1
        super()._handle_response(msg_id, result, error)


class Peer(LanguageClient):
    """The client under test's other end: keeps every `bb/*` notification, parsed, in the order of the wire."""

    def __init__(self) -> None:
        super().__init__(protocol_cls=PeerProtocol, converter_factory=_plain_converter)
        self.heard: dict[str, list[Any]] = {method: [] for method in wire.NOTIFICATIONS}
        self.registered: list[lsp.Registration] = []
        self.news = asyncio.Event()
        self.encoding = "utf-16"
        self.initialized_with: lsp.InitializeResult | None = None
        self.workspace = Path()
        register_lsp_features(self)
        for method, kind in wire.NOTIFICATIONS.items():
            self.feature(method)(self._keeper(method, kind))

        @self.feature(lsp.CLIENT_REGISTER_CAPABILITY)
        def register(params: lsp.RegistrationParams) -> None:
            self.registered.extend(params.registrations)

    def _keeper(self, method: str, kind: type) -> Callable[[Any], None]:
        def keep(params: Any) -> None:
            self.heard[method].append(wire.parse(kind, params))
            self.news.set()

        return keep

    async def until(self, what: str, look: Callable[[], Any]) -> Any:
        """The first truthy value of `look`, which runs again after every notification."""
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while not (found := look()):
            left = deadline - asyncio.get_running_loop().time()
            self.news.clear()
            try:
                await asyncio.wait_for(self.news.wait(), max(left, 0))
            except asyncio.TimeoutError:
                raise AssertionError(f"waited {PATIENCE:.0f} s for {what}") from None
        return found

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        """The parsed result of a `bb/*` request."""
        result = await asyncio.wait_for(self.protocol.send_request_async(method, params), PATIENCE)
        return wire.parse(wire.RESULTS[method], result)

    async def refused(self, method: str, params: dict[str, Any]) -> tuple[int, str | None]:
        """Number and code with which a request is refused."""
        with pytest.raises(JsonRpcException) as refusal:
            await asyncio.wait_for(self.protocol.send_request_async(method, params), PATIENCE)
        assert len(refusal.value.message) > 10, "a refusal says a sentence"
        data = refusal.value.data
        code = data.get("code") if isinstance(data, dict) else getattr(data, "code", None)
        return refusal.value.code, code

    def units(self, text: str) -> int:
        """Length of `text` in the encoding that was negotiated."""
        width = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
        codec, size = width[self.encoding]
        return len(text.encode(codec)) // size

    def events(self, session: str) -> list[wire.Event]:
        return [event for batch in self.batches(session) for event in batch.events]

    def batches(self, session: str) -> list[wire.EventsParams]:
        return [batch for batch in self.heard["bb/events"] if batch.sessionId == session]

    def lanes(self, session: str) -> dict[str, list[dict[str, Any]]]:
        """The view as a client holds it: it only applies changes."""
        lanes: dict[str, list[dict[str, Any]]] = {lane: [] for lane in ("chat", "tasks", "run", "debug")}
        seq = 0
        for params in self.heard["bb/view"]:
            if params.sessionId != session:
                continue
            if params.snapshot is not None:
                lanes = blocks_of(params.snapshot)
                seq = params.snapshot.seq
                continue
            if params.toSeq <= seq:
                continue
            for change in params.changes:
                apply(lanes[change.lane], change)
            seq = params.toSeq
        return lanes


def _plain_converter():
    """lsprotocol's converter, with `bb/*` left as plain dicts for `wire.py`."""
    converter = converters.get_converter()
    for kind in (JsonRPCNotification, JsonRPCRequestMessage, JsonRPCResponseMessage):
        converter.register_structure_hook(kind, _plain)
    return converter


def _plain(message: dict[str, Any], kind: type) -> Any:
    return kind(**{"params": None, **message} if kind is not JsonRPCResponseMessage else message)


def apply(blocks: list[dict[str, Any]], change: wire.Change) -> None:
    at = next((index for index, block in enumerate(blocks) if block["id"] == change.id), None)
    if change.op == "put":
        block = copy.deepcopy(change.block)
        assert block is not None, "a put has a block"
        if at is None:
            blocks.append(block)
        else:
            blocks[at] = block
    elif change.op == "append":
        assert at is not None, f"append to {change.id}, which was never put"
        blocks[at]["text"] += change.text
    elif change.op == "remove":
        if at is not None:
            del blocks[at]
    else:
        raise AssertionError(f"unknown change {change.op}")


def blocks_of(view: wire.View) -> dict[str, list[dict[str, Any]]]:
    lanes = view.lanes
    return {
        "chat": copy.deepcopy(lanes.chat.blocks),
        "tasks": copy.deepcopy(lanes.tasks.blocks),
        "run": copy.deepcopy(lanes.run.blocks),
        "debug": copy.deepcopy(lanes.debug.blocks),
    }


def page_like(held: dict[str, list[dict[str, Any]]], view: wire.View) -> dict[str, list[dict[str, Any]]]:
    """The newest page of each lane, as long as the snapshot's."""
    page = {}
    for lane, blocks in held.items():
        shown = getattr(view.lanes, lane)
        page[lane] = blocks[len(blocks) - len(shown.blocks) :] if shown.hasMore else blocks
    return page


@pytest_lsp.fixture(
    config=ClientServerConfig(server_command=[os.environ["BB_SERVER"], "--stdio"], client_factory=Peer),
    params=EDITORS,
)
async def client(request: pytest.FixtureRequest, lsp_client: Peer, tmp_path: Path):
    workspace = tmp_path / "workspace"
    (workspace / "src").mkdir(parents=True)
    (workspace / "src" / "backoff.rs").write_text(DISK, encoding="utf-8")
    (workspace / "notes.md").write_text("Nothing about waiting here.\n", encoding="utf-8")
    lsp_client.workspace = workspace
    lsp_client.initialized_with = await asyncio.wait_for(
        lsp_client.initialize_session(
            lsp.InitializeParams(
                capabilities=client_capabilities(request.param),
                root_uri=workspace.as_uri(),
                workspace_folders=[lsp.WorkspaceFolder(uri=workspace.as_uri(), name="workspace")],
                initialization_options={"stateDir": str(tmp_path / "state")},
            )
        ),
        PATIENCE,
    )
    lsp_client.encoding = lsp_client.initialized_with.capabilities.position_encoding or "utf-16"
    yield
    if lsp_client._server.returncode is None:
        await asyncio.wait_for(lsp_client.shutdown_session(), PATIENCE)


def open_with_unsaved_change(client: Peer) -> None:
    uri = (client.workspace / "src" / "backoff.rs").as_uri()
    client.text_document_did_open(
        lsp.DidOpenTextDocumentParams(
            lsp.TextDocumentItem(uri=uri, language_id="rust", version=1, text=DISK)
        )
    )
    start = client.units("/// Waits 😀 ")
    end = start + client.units("longer each time")
    client.text_document_did_change(
        lsp.DidChangeTextDocumentParams(
            lsp.VersionedTextDocumentIdentifier(uri=uri, version=2),
            [
                lsp.TextDocumentContentChangePartial(
                    range=lsp.Range(lsp.Position(0, start), lsp.Position(0, end)), text="a random while"
                ),
                lsp.TextDocumentContentChangePartial(
                    range=lsp.Range(lsp.Position(1, 7), lsp.Position(1, 7)), text="jittered_"
                ),
            ],
        )
    )


async def finished_turn(client: Peer) -> str:
    """A session in which one prompt was answered."""
    open_with_unsaved_change(client)
    await client.ask("bb/init", {})
    session = (await client.ask("bb/createSession", {})).sessionId
    accepted = await client.ask("bb/sendMessage", {"sessionId": session, "text": QUESTION, "messageId": "m1"})
    assert accepted == wire.SendMessageResult(sessionId=session, messageId="m1", disposition="started")
    await client.until(
        "run.finished", lambda: any(event.klass == "run.finished" for event in client.events(session))
    )
    return session


async def test_initialize_chooses_an_encoding_that_the_editor_offered(client: Peer):
    assert client.initialized_with is not None
    assert client.initialized_with.server_info is not None
    assert client.initialized_with.server_info.name == "breadboard-ls"
    offered = client.capabilities.general and client.capabilities.general.position_encodings
    assert client.encoding in (offered or ["utf-16"])
    announced = client.initialized_with.capabilities.experimental
    breadboard = announced["breadboard"] if isinstance(announced, dict) else announced.breadboard
    v = breadboard["v"] if isinstance(breadboard, dict) else breadboard.v
    assert v == 1


async def test_registers_for_settings_only_at_an_editor_that_takes_registrations(client: Peer):
    await client.ask("bb/listSessions", {})  # its answer comes after what `initialized` caused
    settings = client.capabilities.workspace and client.capabilities.workspace.did_change_configuration
    takes_them = bool(settings and settings.dynamic_registration)
    registered = [(each.method, each.register_options) for each in client.registered]
    want = [("workspace/didChangeConfiguration", {"section": "breadboard"})]
    assert registered == (want if takes_them else [])


async def test_hello_is_embedded_and_untrusted(client: Peer):
    hello = await client.ask("bb/init", {})
    assert (hello.v, hello.server.name, hello.engine.kind) == (1, "breadboard-ls", "embedded")
    assert hello.workspaceTrusted is False
    assert hello.sessions == []


async def test_events_come_in_order_without_holes_until_the_turn_ends(client: Peer):
    session = await finished_turn(client)
    following = 1
    for batch in client.batches(session):
        assert batch.fromSeq == following
        assert [event.seq for event in batch.events] == list(range(following, batch.toSeq + 1))
        following = batch.toSeq + 1
    first = client.events(session)[0]
    assert (first.type, first.klass, first.origin) == ("local.prompt", "transcript.user_message", "local")


async def test_applied_changes_are_the_view_of_a_fresh_client(client: Peer):
    session = await finished_turn(client)
    fresh = await client.ask("bb/selectSession", {"sessionId": session})
    assert fresh.view.seq == fresh.seq
    want = blocks_of(fresh.view)
    try:
        await client.until("the snapshot", lambda: page_like(client.lanes(session), fresh.view) == want)
    except AssertionError:
        pass  # the comparison below says what differs
    assert page_like(client.lanes(session), fresh.view) == want
    answer = "\n".join(block["text"] for block in want["chat"] if block["kind"] == "assistant")
    assert "src/backoff.rs:" in answer, "only the unsaved buffer has the name that was asked for"


async def test_snippet_shows_the_unsaved_buffer(client: Peer):
    open_with_unsaved_change(client)
    session = (await client.ask("bb/createSession", {})).sessionId
    snippet = await client.ask("bb/readFileSnippet", {"sessionId": session, "path": "src/backoff.rs"})
    assert snippet == wire.ReadFileSnippetResult(
        path="src/backoff.rs",
        content=BUFFER,
        totalBytes=len(BUFFER.encode()),
        truncated=False,
        ranges=[wire.LineRange(1, 4)],
        source="buffer",
    )


async def test_cancelled_request_is_answered_once_under_its_string_id(client: Peer):
    reached = asyncio.Event()
    sockets: list[asyncio.StreamWriter] = []

    async def never_answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sockets.append(writer)
        reached.set()

    deaf = await asyncio.start_server(never_answer, "127.0.0.1", 0)
    port = deaf.sockets[0].getsockname()[1]
    await client.ask("bb/init", {})
    chosen = client.protocol.send_request(
        "bb/models/set", {"provider": "ollama", "name": "never-answers", "url": f"http://127.0.0.1:{port}/"}
    )
    listing = client.protocol.send_request("bb/models/list", {}, msg_id="slow-1")
    await asyncio.wait_for(reached.wait(), PATIENCE)
    assert "slow-1" not in client.protocol.answers, "nothing was answered before the cancel"
    client.cancel_request(lsp.CancelParams(id="slow-1"))
    with pytest.raises(JsonRpcException) as refusal:
        await asyncio.wait_for(asyncio.wrap_future(listing), PATIENCE)
    assert refusal.value.code == -32800
    deaf.close()
    for socket in sockets:
        socket.close()
    await asyncio.wait({asyncio.wrap_future(chosen)}, timeout=PATIENCE)
    assert chosen.done(), "bb/models/set was answered"
    await client.ask("bb/listSessions", {})
    assert client.protocol.answers["slow-1"] == 1


async def test_cancel_of_an_unknown_request_is_ignored(client: Peer):
    client.cancel_request(lsp.CancelParams(id="never-sent"))
    assert (await client.ask("bb/listSessions", {})).sessions == []


async def test_what_cannot_be_served_is_refused_with_its_code(client: Peer):
    assert (await client.refused("bb/nope", {}))[0] == -32601
    assert await client.refused("bb/sendMessage", {"sessionId": 7}) == (-32602, "invalid_params")
    assert await client.refused("bb/selectSession", {"sessionId": "no-such"}) == (-32803, "unknown_session")


async def test_shutdown_and_exit_end_the_process_with_zero(client: Peer):
    assert await asyncio.wait_for(client.shutdown_async(None), PATIENCE) is None
    client.exit(None)
    assert await asyncio.wait_for(client._server.wait(), PATIENCE) == 0
