import { beforeEach, expect, it } from "vitest";
import { saveDocument } from "../../src/host/document_saver";
import * as stub from "./vscode_stub";

beforeEach(stub.reset);

const URI = "file:///w/a%20b.txt";

/** An open document, and how often it was saved. */
function opened(isDirty: boolean, works = true) {
  const document = {
    uri: stub.Uri.parse(URI),
    version: 3,
    isDirty,
    saves: 0,
    save: async () => {
      document.saves += 1;
      return works;
    },
  };
  stub.workspace.textDocuments = [document];
  return document;
}

it("saves the text that is meant, and says so also where there was nothing to save", async () => {
  for (const [version, isDirty, saves] of [
    [3, true, 1],
    [null, true, 1],
    [3, false, 0],
  ] as const) {
    const document = opened(isDirty);
    expect(await saveDocument({ uri: URI, version })).toEqual({ saved: true });
    expect(document.saves).toBe(saves);
  }
});

it("saves no other text, no other document and nothing without trust, and says when the editor did not save", async () => {
  const typed = opened(true);
  expect(await saveDocument({ uri: URI, version: 2 })).toEqual({ saved: false });
  expect(await saveDocument({ uri: "file:///w/other", version: null })).toEqual({ saved: false });
  stub.workspace.isTrusted = false;
  expect(await saveDocument({ uri: URI, version: 3 })).toEqual({ saved: false });
  expect(typed.saves).toBe(0);
  stub.workspace.isTrusted = true;
  opened(true, false);
  expect(await saveDocument({ uri: URI, version: 3 })).toEqual({ saved: false });
});
