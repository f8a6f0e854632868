import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // A test that waits for something that never comes ends with its name instead of hanging.
    testTimeout: 20_000,
  },
});
