import { expect, it } from "vitest";
import { LONGEST_PAUSE_MS, MOST_ENDS, RestartPolicy, WELL_AFTER_MS } from "../../src/host/restart_policy";

it("waits twice as long after each end, and gives up in the end", () => {
  const policy = new RestartPolicy();
  const pauses = Array.from({ length: MOST_ENDS - 1 }, () => policy.ended(0)).map((verdict) =>
    verdict.kind === "again" ? verdict.afterMs : -1,
  );
  expect(pauses).toEqual([500, 1000, 2000, 4000, 8000]);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(LONGEST_PAUSE_MS);
  expect(policy.ended(0)).toEqual({ kind: "give_up", ends: MOST_ENDS });
});

it("counts anew after a server that was well, and after the user asked", () => {
  const policy = new RestartPolicy();
  policy.ended(0);
  policy.ended(0);
  policy.started(1_000);
  expect(policy.ended(1_000 + WELL_AFTER_MS)).toEqual({ kind: "again", afterMs: 500, attempt: 1 });
  policy.forget();
  expect(policy.ended(0)).toEqual({ kind: "again", afterMs: 500, attempt: 1 });
});
