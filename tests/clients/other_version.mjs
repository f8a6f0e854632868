// Stands between a client and the real server and makes that one of another release: `node other_version.mjs RELEASE PROGRAM …`.
//
// `older` offers no method that came late, refuses those as a server does that never heard of them, and says of everything only what
// it must. `newer` says more everywhere: fields, methods, notifications, requests, kinds of blocks and of
// subjects, classes of events, and words for how something stands that nobody knows yet. Both speak the same version of the wire, within which a client must get along with either. `broken` speaks another version.
import { spawn } from "node:child_process";
import { between } from "./frames.mjs";
import { changed, shapeOf } from "./shapes.mjs";

const [release, program, ...args] = process.argv.slice(2);

/** Methods that the first servers of this version had. */
const FIRST = new Set(
  `init createSession listSessions selectSession deleteSession sendMessage stop approvePermission permission/list listFiles
  readFileSnippet openDiff textDocument downloadArtifact events/read eventBody view/page attachment/put command queue/list queue/edit
  queue/move queue/remove queue/resume tab/open tab/prompt tab/stop tab/close tab/visibility tab/detach tab/attach tab/ack
  agent/restart session/info rebuild models/list models/set setCredentials rpc`
    .split(/\s+/)
    .map((name) => `bb/${name}`),
);

/** What each request under way asks, by its id; inside of an envelope, what that asks. */
const asked = new Map();
const inside = ({ method, params }) => (method === "bb/rpc" ? params?.method?.replaceAll(".", "/") : method);

/** A message of the server with `change` made to all that is ours in it. */
function ours(message, change) {
  if (message.method !== undefined) {
    const shape = message.method.startsWith("bb/") ? shapeOf(message.method, "params") : undefined;
    return shape === undefined ? message : { ...message, params: changed(shape, message.params, change) };
  }
  const request = asked.get(message.id);
  const shape = request === undefined ? undefined : shapeOf(inside(request), "result");
  if (shape === undefined || message.result === undefined) return message;
  if (request.method !== "bb/rpc") return { ...message, result: changed(shape, message.result, change) };
  const { result } = message.result;
  return result === undefined
    ? message
    : { ...message, result: { ...message.result, result: changed(shape, result, change) } };
}

const announcement = ({ result }) => result?.capabilities?.experimental?.breadboard;

const older = {
  ofClient(message) {
    const method = inside(message);
    if (message.id === undefined || !method?.startsWith("bb/") || FIRST.has(method)) return message;
    const said = `There is no method \`${method}\`; update the server.`;
    const error = { code: "unknown_method", message: said };
    const answer =
      message.method === "bb/rpc"
        ? { result: { v: 1, kind: "res", id: message.params.id, ok: false, error } }
        : { error: { code: -32601, message: said, data: error } };
    tell({ jsonrpc: "2.0", id: message.id, ...answer });
    return undefined;
  },
  ofServer(message) {
    // Of what came later, nothing is asked of a client either.
    if (message.id !== undefined && message.method?.startsWith("bb/")) {
      back({ jsonrpc: "2.0", id: message.id, error: { code: -32601, message: "There is no such method." } });
      return undefined;
    }
    const said = announcement(message);
    if (said !== undefined) said.methods = said.methods.filter((method) => FIRST.has(method) || !method.startsWith("bb/"));
    return ours(message, (object, required) =>
      Object.fromEntries(Object.entries(object).filter(([name]) => required.has(name) || KEPT.has(name))),
    );
  },
};

/** What no server leaves out though the schemas let it: what a change and a permission are about, and how a page goes on. */
const KEPT = new Set(["after", "block", "changes", "snapshot", "permission", "text", "status", "resume", "sessionId", "messageId", "blocks", "blockId", "epoch"]);

const OF_TOMORROW = { ofTomorrow: { is: ["new"] } };
/** Blocks of a kind, and with words, that nobody knows yet. */
const ofTomorrow = (id, seq) => [
  { id, seq, kind: "hologram", text: "seen from the side", depth: 3 },
  { id: `${id}-tool`, seq, kind: "tool", name: "weave", title: "Weave a carpet", status: "shelved" },
  { id: `${id}-notice`, seq, kind: "notice", level: "whisper", text: "Somebody may listen." },
  {
    id: `${id}-ask`,
    seq,
    kind: "permission",
    status: "excused",
    permission: {
      requestId: `${id}-ask`,
      digest: "d",
      title: "Cast a spell",
      subject: { kind: "spell", words: "abracadabra" },
      options: [{ optionId: "maybe", label: "Maybe", kind: "allow_on_sundays" }],
    },
  },
];

/** The ends of turns in a word that nobody knows yet. */
const postponed = (blocks) => {
  for (const block of blocks) if (block?.kind === "turn-end" && block.outcome === "done") block.outcome = "postponed";
};

const newer = {
  ofClient(message) {
    // The answer to what this program itself asked.
    return String(message.id).startsWith("tomorrow-") && message.method === undefined ? undefined : message;
  },
  ofServer(message) {
    const said = announcement(message);
    if (said !== undefined) {
      said.methods.push("bb/tomorrow/do");
      said.notifications.push("bb/tomorrow");
      message.result.capabilities.tomorrowProvider = true;
    }
    if (message.error?.data !== undefined) Object.assign(message.error.data, OF_TOMORROW);
    const more = ours(message, (object) => ({ ...object, ...OF_TOMORROW }));
    const { method, params } = more;
    for (const event of method === "bb/events" ? params.events : [])
      if (event.pane.length === 1 && event.pane[0] === "debug") event.class = "tomorrow.class";
    if (method === "bb/view") {
      postponed(params.changes.map(({ block }) => block));
      postponed(params.snapshot?.lanes.chat.blocks ?? []);
      // Each time the same ones: a transcript of holograms alone shows nothing else.
      for (const block of ofTomorrow(`tomorrow-${params.sessionId}`, params.toSeq))
        params.changes.push({ lane: "chat", op: "put", id: block.id, block });
    }
    const view = more.result?.view ?? more.result?.result?.view;
    postponed(view?.lanes.chat.blocks ?? []);
    view?.lanes.chat.blocks.push(...ofTomorrow(`tomorrow-${(more.result.result ?? more.result).sessionId}`, view.seq));
    if (method !== "bb/state") return more;
    return [
      { jsonrpc: "2.0", method: "bb/tomorrow", params: { anything: [1] } },
      { jsonrpc: "2.0", id: `tomorrow-${(questions += 1)}`, method: "bb/tomorrow/ask", params: { anything: [1] } },
      more,
    ];
  },
};

const broken = {
  ofClient: (message) => message,
  ofServer(message) {
    const said = announcement(message);
    if (said !== undefined) said.v += 1;
    return message;
  },
};

let questions = 0;
const server = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
const { ofClient, ofServer } = { older, newer, broken }[release];
const { tell, back } = between(server, {
  ofClient(message) {
    if (message.method !== undefined && message.id !== undefined) asked.set(message.id, message);
    return ofClient(message);
  },
  ofServer(message) {
    const said = ofServer(message);
    if (message.method === undefined) asked.delete(message.id);
    return said;
  },
});
