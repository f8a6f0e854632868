import { expect, it } from "vitest";
import { Keeper } from "../../src/webview/keeper";
import { NOTHING_SAVED, type SavedState } from "../../src/webview/model/saved_state";

it("the newest state gets to the host, one at a time, also after one that failed", async () => {
  const kept: number[] = [];
  const sent: string[] = [];
  const settle: ((ok: boolean) => void)[] = [];
  const keeper = new Keeper(
    ({ at }) => kept.push(at),
    (state) => {
      sent.push(state);
      return new Promise((resolve, reject) =>
        settle.push((ok) => (ok ? resolve(undefined) : reject(new Error("gone")))),
      );
    },
  );
  const state = (at: number): SavedState => ({ ...NOTHING_SAVED, at });
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  for (const at of [1, 2, 3]) keeper.keep(state(at));
  expect([kept, sent]).toEqual([[1, 2, 3], [JSON.stringify(state(1))]]);
  settle[0]?.(false);
  await turn();
  expect(sent).toEqual([state(1), state(3)].map((one) => JSON.stringify(one)));
  settle[1]?.(true);
  await turn();
  keeper.keep(state(4));
  expect(sent.at(-1)).toBe(JSON.stringify(state(4)));
});
