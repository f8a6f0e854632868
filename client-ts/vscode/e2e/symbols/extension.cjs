// Answers, as a language server does, what is declared in Rust: in one file, and in the whole workspace. It reads line by line,
// which is enough for the story; what is indented is within what stands above.
const vscode = require("vscode");

const DECLARED = /^( *)(?:pub )?(?:fn|struct|impl) (\w+)/;

async function declaredIn(uri) {
  const document = await vscode.workspace.openTextDocument(uri);
  const found = [];
  for (let at = 0; at < document.lineCount; at += 1) {
    const { text, range } = document.lineAt(at);
    const [, indent, name] = DECLARED.exec(text) ?? [];
    if (name === undefined) continue;
    const one = new vscode.DocumentSymbol(name, "", vscode.SymbolKind.Function, range, range);
    (indent === "" ? found : (found.at(-1)?.children ?? found)).push(one);
  }
  return found;
}

exports.activate = ({ subscriptions }) => {
  subscriptions.push(
    vscode.languages.registerDocumentSymbolProvider({ pattern: "**/*.rs" }, {
      provideDocumentSymbols: ({ uri }) => declaredIn(uri),
    }),
    vscode.languages.registerWorkspaceSymbolProvider({
      // Of a whole workspace it knows what is declared at the beginning of a line, as many do.
      provideWorkspaceSymbols: async (query) => {
        const files = await vscode.workspace.findFiles("**/*.rs");
        const all = await Promise.all(
          files.map(async (uri) =>
            (await declaredIn(uri)).map(({ name, range }) => new vscode.SymbolInformation(name, vscode.SymbolKind.Function, "", new vscode.Location(uri, range))),
          ),
        );
        return all.flat().filter(({ name }) => name.toLowerCase().includes(query.toLowerCase()));
      },
    }),
  );
};
