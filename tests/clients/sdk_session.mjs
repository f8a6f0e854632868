// A usual session of the SDK, for `record.sh` to write down: `node sdk_session.mjs SDK WORKSPACE STATE PROGRAM [ARGUMENT …]`.
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [sdk, workspace, stateDir, command, ...args] = process.argv.slice(2);
const { LastSeenTracker, openSession, Tabs } = await import(pathToFileURL(join(sdk, "dist/core/index.js")).href);
const { startServer } = await import(pathToFileURL(join(sdk, "dist/node/index.js")).href);

const start = () =>
  startServer({
    command,
    args,
    workspaceFolders: [workspace],
    initializationOptions: { stateDir, engine: { kind: "embedded" }, workspaceTrusted: true },
  });
const until = (session, look) =>
  new Promise((resolve) => {
    const subscription = session.view.onDidChange(tell);
    function tell() {
      const found = look();
      if (!found) return;
      subscription.dispose();
      resolve(found);
    }
    tell();
  });
const ended = (session, turns) =>
  until(session, () => session.view.blocks("run").filter(({ kind }) => kind === "summary").length === turns);

// A question, an edit that is allowed, and what a client reads afterwards.
const first = await start();
const { client } = first;
const seen = new LastSeenTracker();
seen.follow(client);
await client.request("bb/init", {});
const { sessionId } = await client.request("bb/createSession", {});
const session = await openSession(client, sessionId, { lastSeen: seen });
await client.request("bb/sendMessage", { sessionId, text: "Where is the number of retries?" });
await ended(session, 1);
await client.request("bb/sendMessage", { sessionId, text: "replace `retries` with `attempts` in src/lib.rs" });
const ask = await until(session, () =>
  session.view.blocks("chat").find(({ kind, status }) => kind === "permission" && status === "pending"),
);
const { requestId, digest } = ask.permission;
await client.request("bb/permission/get", { sessionId, requestId });
await client.request("bb/approvePermission", { sessionId, requestId, decision: "allow_once", digest });
await ended(session, 2);
await until(session, () => session.view.blocks("chat").find(({ kind }) => kind === "changes"));
await client.request("bb/listSessions", {});
await client.request("bb/session/rename", { sessionId, title: "Attempts" });
await client.request("bb/listFiles", { sessionId, path: "src" });
await client.request("bb/readFileSnippet", { sessionId, path: "src/lib.rs" });
const { turns } = await client.request("bb/turn/list", { sessionId });
await client.request("bb/turn/changes", { sessionId, turn: turns.at(-1).turn });
await client.request("bb/events/read", { sessionId, fromSeq: 1 });
await client.request("bb/stop", { sessionId });
session.dispose();
await first.stop();

// Another day: what was missed, and a tab.
const second = await start();
await second.client.request("bb/init", { subscribe: { tabs: true }, lastSeen: seen.value() });
const again = await openSession(second.client, sessionId);
await again.loadOlder("chat", 2);
again.dispose();
const tabs = new Tabs(second.client);
const tab = tabs.open();
const { messageId } = tab.prompt("Where is the number of attempts?");
await new Promise((resolve) => {
  const subscription = tab.onDidChange(() => {
    if (tab.model.prompts.get(messageId)?.status !== "complete") return;
    subscription.dispose();
    resolve();
  });
});
await tab.close();
await second.client.request("bb/deleteSession", { sessionId });
await second.stop();
