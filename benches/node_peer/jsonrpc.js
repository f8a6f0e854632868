// The peer on vscode-jsonrpc alone: the lighter of the two.

const { createMessageConnection, StreamMessageReader, StreamMessageWriter } = require("vscode-jsonrpc/node");
const { serve } = require("./answers");

const connection = createMessageConnection(
  new StreamMessageReader(process.stdin),
  new StreamMessageWriter(process.stdout),
);
serve(connection, (result) => {
  connection.onRequest("initialize", () => result);
  connection.onNotification("initialized", () => {});
  connection.onRequest("shutdown", () => null);
  connection.onNotification("exit", () => process.exit(0));
});
connection.onClose(() => process.exit(0));
connection.listen();
