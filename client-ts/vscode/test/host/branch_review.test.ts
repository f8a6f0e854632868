/** A review of what a branch changes: its commits since it began, with their diff. */
import { expect, it, vi } from "vitest";
import * as stub from "./vscode_stub";

vi.mock("vscode", () => import("./vscode_stub"));
const { branchReview } = await import("../../src/host/branch_review");

interface Story {
  readonly head?: { name?: string; commit?: string };
  readonly bases?: Readonly<Record<string, string>>;
  readonly told?: { name: string; remote?: string };
  readonly diffs?: Readonly<Record<string, string>>;
}

function repository({ head = { name: "work", commit: "c3" }, bases = { main: "c1" }, told, diffs = { "src/a.rs": "+a\n" } }: Story) {
  const compared: string[] = [];
  const of = {
    rootUri: stub.Uri.file("/ws"),
    state: { HEAD: head },
    getMergeBase: async (one: string) => {
      if (bases[one] === undefined) throw new Error("no such ref");
      return bases[one];
    },
    ...(told === undefined ? {} : { getBranchBase: async () => told }),
    diffBetween: async (one: string, other: string, path?: string) => {
      compared.push(`${one}..${other}`);
      if (path === undefined) return Object.keys(diffs).map((file) => ({ uri: stub.Uri.file(`/ws/${file}`) }));
      return diffs[path.replace("/ws/", "")] ?? "";
    },
  };
  stub.extensions.git = { isActive: true, exports: { getAPI: () => ({ repositories: [of] }) } };
  return compared;
}

it("the commits since the branch began go along, with the names of their files", async () => {
  const compared = repository({ diffs: { "src/a.rs": "+a ``` b\n", "README.md": "+r\n" } });
  const text = await branchReview(undefined);
  expect(text).toContain("the branch `work` changes since `main`");
  expect(text).toContain("src/a.rs");
  // A fence in the change does not close that of the diff.
  expect(text).toContain("````diff\n+a ``` b\n\n+r\n\n````\n");
  expect(new Set(compared)).toEqual(new Set(["c1..HEAD"]));
});

it("what git knows of the branch comes before the usual names", async () => {
  const compared = repository({ told: { name: "next", remote: "origin" }, bases: { "origin/next": "c2", main: "c1" } });
  expect(await branchReview(undefined)).toContain("since `origin/next`");
  expect(compared[0]).toBe("c2..HEAD");
});

it("a branch without a beginning, without a change or without a commit is said", async () => {
  repository({ bases: {} });
  await expect(branchReview(undefined)).rejects.toThrow("there is no main or master to compare it with");
  repository({ diffs: {} });
  await expect(branchReview(undefined)).rejects.toThrow("The branch changes nothing since main");
  repository({ head: {} });
  await expect(branchReview(undefined)).rejects.toThrow("no commit yet");
});

it("of a long diff the beginning goes along", async () => {
  repository({ diffs: { "src/a.rs": `+${"a".repeat(70_000)}\n`, "src/b.rs": "+never read\n" } });
  const text = await branchReview(undefined);
  expect([text.includes("… the rest is left out"), text.includes("never read"), text.length < 62_000]).toEqual([true, false, true]);
});
