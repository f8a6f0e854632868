/**
 * What changed in a view, as ids per lane, and how several changes become one.
 *
 * Owns the merge, so that a user interface that draws once a frame gets each block once, however many changes it had.
 */

import type { Disposable } from "./connection.js";
import type { Lane } from "./generated/types.js";

/**
 * What changed in one lane. An id stands in one of the lists at most, except that one in `removed` may come again in
 * `added` or `older`.
 */
export interface LaneDelta {
  /** Blocks that are new at the end, in order. One that its change puts behind another block stands there. */
  readonly added: readonly string[];
  /** Blocks that were there and have other content; their place is the same. */
  readonly changed: readonly string[];
  /** Blocks that were there and are gone from their place; they go before the others come. */
  readonly removed: readonly string[];
  /** Blocks of an older page, new in front, in order. */
  readonly older: readonly string[];
}

/** What changed in a view. */
export interface ViewDelta {
  /** Everything was replaced: draw all lanes anew. `lanes` says nothing then. */
  readonly reset: boolean;
  /** The lanes that changed. A lane with four empty lists changed `hasMore` alone. */
  readonly lanes: { readonly [L in Lane]?: LaneDelta };
}

class LaneChanges {
  readonly added = new Set<string>();
  readonly changed = new Set<string>();
  readonly removed = new Set<string>();
  older = new Set<string>();
}

/** Collects changes. */
export class DeltaBuilder {
  #reset = false;
  #lanes = new Map<Lane, LaneChanges>();

  /** Whether nothing was collected. */
  get isEmpty(): boolean {
    return !this.#reset && this.#lanes.size === 0;
  }

  /** A block came at the end. */
  added(lane: Lane, id: string): void {
    this.#lane(lane).added.add(id);
  }

  /** A block has other content. */
  changed(lane: Lane, id: string): void {
    const changes = this.#lane(lane);
    if (!changes.added.has(id) && !changes.older.has(id)) changes.changed.add(id);
  }

  /** A block was taken away. */
  removed(lane: Lane, id: string): void {
    const changes = this.#lane(lane);
    changes.changed.delete(id);
    if (!changes.older.delete(id) && !changes.added.delete(id)) changes.removed.add(id);
  }

  /** A block of an older page came in front. */
  older(lane: Lane, id: string): void {
    this.#lane(lane).older.add(id);
  }

  /** Adds what `delta` says to what was collected. */
  merge(delta: ViewDelta): void {
    if (delta.reset) {
      this.#reset = true;
      this.#lanes.clear();
    }
    if (this.#reset) return;
    for (const [name, { added, changed, removed, older }] of Object.entries(delta.lanes)) {
      const lane = name as Lane;
      for (const id of removed) this.removed(lane, id);
      for (const id of added) this.added(lane, id);
      for (const id of changed) this.changed(lane, id);
      const changes = this.#lane(lane);
      changes.older = new Set([...older, ...changes.older]);
    }
  }

  /** What was collected; begins anew. `also` is a lane that is named even if none of its blocks changed. */
  take(also?: Lane): ViewDelta {
    if (also) this.#lane(also);
    const lanes: { [L in Lane]?: LaneDelta } = {};
    for (const [lane, { added, changed, removed, older }] of this.#lanes) {
      lanes[lane] = { added: [...added], changed: [...changed], removed: [...removed], older: [...older] };
    }
    const delta = { reset: this.#reset, lanes };
    this.#reset = false;
    this.#lanes = new Map();
    return delta;
  }

  #lane(lane: Lane): LaneChanges {
    let changes = this.#lanes.get(lane);
    if (!changes) this.#lanes.set(lane, (changes = new LaneChanges()));
    return changes;
  }
}

/**
 * Calls `render` with everything that changed since the last time, when `schedule` runs what it was given:
 * `onEachFrame(store, requestAnimationFrame, draw)` draws at most once a frame, and never when nothing changed.
 */
export function onEachFrame(
  store: { onDidChange(listener: (delta: ViewDelta) => void): Disposable },
  schedule: (run: () => void) => unknown,
  render: (delta: ViewDelta) => void,
): Disposable {
  const collected = new DeltaBuilder();
  let live = true;
  let waiting = false;
  const subscription = store.onDidChange((delta) => {
    collected.merge(delta);
    if (waiting) return;
    waiting = true;
    schedule(() => {
      waiting = false;
      if (live && !collected.isEmpty) render(collected.take());
    });
  });
  return {
    dispose: () => {
      live = false;
      subscription.dispose();
    },
  };
}
