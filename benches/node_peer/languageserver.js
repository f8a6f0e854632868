// The peer on vscode-languageserver: what most language servers on Node are made of.

const { createConnection, ProposedFeatures } = require("vscode-languageserver/node");
const { serve } = require("./answers");

const connection = createConnection(ProposedFeatures.all, process.stdin, process.stdout);
serve(connection, (result) => connection.onInitialize(() => result));
connection.listen();
