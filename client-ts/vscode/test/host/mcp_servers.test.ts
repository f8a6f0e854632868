import { expect, it } from "vitest";
import { standing } from "../../src/host/mcp_servers";

const server = { name: "docs", source: "settings", status: "ready" } as const;
const tool = { name: "search" };

it("a server is told by what it offers, or why it offers nothing", () => {
  expect(standing({ ...server, tools: [tool, tool], commands: [{ name: "docs:review" }] })).toBe("ready: 2 tools, 1 prompt");
  expect(standing(server)).toBe("ready, and offers nothing");
  expect(standing({ ...server, status: "failed", tools: [tool] })).toBe("failed");
  expect(standing({ ...server, source: "workspace", status: "unasked" })).toBe("named by this workspace, not allowed");
});
