// Stands between a client and the real server and makes that one of another release: `node other_version.mjs RELEASE PROGRAM …`.
//
// `older` offers no method that came late, refuses those as a server does that never heard of them, and says of everything only what
// it must. `newer` says more everywhere: fields, methods, notifications, requests, kinds of blocks and of
// subjects, classes of events, and words for how something stands that nobody knows yet. Both speak the same version of the wire, within which a client must get along with either. `broken` speaks the
// next version, `ancient` the one before.
import { spawn } from "node:child_process";
import { FIRST } from "./first_methods.mjs";
import { between } from "./frames.mjs";
import { changed, shapeOf } from "./shapes.mjs";

const [release, program, ...args] = process.argv.slice(2);

/** As what each of them names itself. */
const VERSIONS = { ancient: "0.0.1", older: "0.0.9", newer: "0.9.0", broken: "2.0.0" };

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
    if (said !== undefined) message.result.serverInfo.version = VERSIONS.older;
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

/** An option of a kind that nobody knows yet, which stands for this one of the real server. */
const SUNDAYS = { optionId: "sundays", label: "Allow on Sundays", kind: "allow_on_sundays" };
const once = ({ kind }) => kind === "allow_once";

/** The options of a request that waits, by its id, as the real server has them. */
const offered = new Map();
function withSundays(object) {
  if (typeof object.requestId !== "string" || !object.options?.some(once)) return object;
  offered.set(object.requestId, object.options);
  return { ...object, options: [...object.options, SUNDAYS] };
}

/** The answer of a client that chose it: what it says beside the id must be no, for it cannot know more. */
function sundays(message) {
  const params = inside(message) === "bb/approvePermission" && (message.method === "bb/rpc" ? message.params.params : message.params);
  if (params?.optionId !== SUNDAYS.optionId) return message;
  if (params.decision !== "deny") params.optionId = `a client takes ${SUNDAYS.kind} for ${params.decision}`;
  else params.optionId = offered.get(params.requestId).find(once).optionId;
  return message;
}

/** The ends of turns in a word that nobody knows yet. */
const postponed = (blocks) => {
  for (const block of blocks) if (block?.kind === "turn-end" && block.outcome === "done") block.outcome = "postponed";
};

const newer = {
  ofClient(message) {
    // The answer to what this program itself asked.
    return String(message.id).startsWith("tomorrow-") && message.method === undefined ? undefined : sundays(message);
  },
  ofServer(message) {
    const said = announcement(message);
    if (said !== undefined) {
      message.result.serverInfo.version = VERSIONS.newer;
      said.methods.push("bb/tomorrow/do");
      said.notifications.push("bb/tomorrow");
      message.result.capabilities.tomorrowProvider = true;
    }
    if (message.error?.data !== undefined) Object.assign(message.error.data, OF_TOMORROW);
    const more = ours(message, (object) => withSundays({ ...object, ...OF_TOMORROW }));
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

/** One that speaks so many versions of the wire further. */
const speaking = (further, version) => ({
  ofClient: (message) => message,
  ofServer(message) {
    const said = announcement(message);
    if (said !== undefined) {
      said.v += further;
      message.result.serverInfo.version = version;
    }
    return message;
  },
});

let questions = 0;
const server = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
const { ofClient, ofServer } = {
  older,
  newer,
  ancient: speaking(-1, VERSIONS.ancient),
  broken: speaking(1, VERSIONS.broken),
}[release];
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
