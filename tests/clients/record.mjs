// Stands between a client and the real server and writes down what both say: `node record.mjs FILE PROGRAM [ARGUMENT …]`.
//
// One message a line, in the order in which they came by here. Changes nothing.
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { between } from "./frames.mjs";

const [file, program, ...args] = process.argv.slice(2);
const noting = (from) => (message) => {
  appendFileSync(file, `${JSON.stringify({ from, message })}\n`);
  return message;
};
between(spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] }), {
  ofClient: noting("client"),
  ofServer: noting("server"),
});
