/** The SDK's Node part: starts breadboard-ls and speaks with it over stdio. */

export { startServer, type RunningServer, type StartOptions } from "./server_process.js";
