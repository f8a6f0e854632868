// Makes a recording a fixture: `node keep.mjs LOG OUT CLIENT VERSION WORKSPACE STATE`.
//
// Before the messages stands a line of what a replay needs: the workspace, and what the client saved there. The folders of the machine
// that made it, and its process, are taken out; nothing else is changed.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const [log, out, client, version, workspace, state] = process.argv.slice(2);
const lines = readFileSync(log, "utf8").replaceAll(workspace, "{workspace}").replaceAll(state, "{state}").trim().split("\n");
const messages = lines.map((line) => JSON.parse(line));
for (const { message } of messages) if (message.method === "initialize") message.params.processId = null;
const answer = messages.find(({ message }) => message.result?.capabilities?.experimental?.breadboard);
const wire = answer.message.result.capabilities.experimental.breadboard.v;
const NAME = "src/lib.rs";
const files = { [NAME]: "pub fn retries() -> u32 {\n    3\n}\n" };
const saved = { [NAME]: readFileSync(join(workspace, NAME), "utf8") };
const header = { client, version, wire, files, saved };
mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, [header, ...messages].map((one) => `${JSON.stringify(one)}\n`).join(""));
