import path from "node:path";
import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { alias: { vscode: path.join(import.meta.dirname, "test/host/vscode_stub.ts") } },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  test: { include: ["test/**/*.test.{ts,tsx}"], testTimeout: 20_000 },
});
