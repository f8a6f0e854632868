/**
 * The view of one session as a client holds it: snapshots replace, changes apply, older pages go in front.
 *
 * Owns the client's law of PROTOCOL.md, "Applying changes", the same that `tests/fixtures/client` tells the server.
 * Never
 * reduces events and never asks the server for anything. A change costs what it changes, not what the lane holds.
 */

import type { Disposable } from "./connection.js";
import { Emitter } from "./emitter.js";
import type { Block, Change, Lane, View, ViewPageResult, ViewParams } from "./generated/types.js";
import { noteGrowth } from "./growth.js";
import { DeltaBuilder, type ViewDelta } from "./view_delta.js";

/** A block of one kind: `BlockOf<"tool">`. */
export type BlockOf<K extends Block["kind"]> = Extract<Block, { kind: K }>;

/**
 * What became of a `bb/view`: `applied`; `stale`, the view is at this `seq` or beyond; `gap`, changes in between are
 * missing; `epoch`, its numbers are of another journal. After the last two the view must be selected again.
 */
export type ViewOutcome = "applied" | "stale" | "gap" | "epoch";

interface LaneHeld {
  /** In order: a map keeps the place of a key that is set again, and puts a new one at the end. */
  blocks: Map<string, Block>;
  hasMore: boolean;
  /** `blocks` as a list, until the next change. */
  list: readonly Block[] | undefined;
}

const EMPTY: View = {
  epoch: "",
  seq: 0,
  lanes: {
    chat: { blocks: [], hasMore: false },
    tasks: { blocks: [], hasMore: false },
    run: { blocks: [], hasMore: false },
    debug: { blocks: [], hasMore: false },
  },
};

const LANES = Object.keys(EMPTY.lanes) as Lane[];

/** The blocks of one session. Blocks are never changed in place: an old reference stays what it was. */
export class ViewStore {
  #epoch = "";
  #seq = 0;
  #lanes = new Map<string, LaneHeld>();
  readonly #changed = new Emitter<ViewDelta>();

  constructor(view: View = EMPTY) {
    this.#take(view);
  }

  /** Opaque name of the journal; `""` before the first view. */
  get epoch(): string {
    return this.#epoch;
  }

  /** The view holds every event up to this one. */
  get seq(): number {
    return this.#seq;
  }

  /**
   * The blocks of a lane, oldest first. The list is a new one after each change of the lane, and never changes itself.
   */
  blocks(lane: Lane): readonly Block[] {
    const held = this.#lanes.get(lane);
    if (!held) return [];
    held.list ??= [...held.blocks.values()];
    return held.list;
  }

  /** One block, if the lane holds it. */
  block(lane: Lane, id: string): Block | undefined {
    return this.#lanes.get(lane)?.blocks.get(id);
  }

  /** Id of the oldest block held: `before` of `bb/view/page`. */
  oldest(lane: Lane): string | undefined {
    return this.#lanes.get(lane)?.blocks.keys().next().value;
  }

  /** Whether older blocks can be read. */
  hasMore(lane: Lane): boolean {
    return this.#lanes.get(lane)?.hasMore ?? false;
  }

  /** Everything as one view. */
  snapshot(): View {
    const lanes = Object.fromEntries(
      [...this.#lanes].map(([lane, { blocks, hasMore }]) => [lane, { blocks: [...blocks.values()], hasMore }]),
    );
    return { epoch: this.#epoch, seq: this.#seq, lanes: lanes as View["lanes"] };
  }

  /** Calls `listener` after each change, with what changed. */
  onDidChange(listener: (delta: ViewDelta) => void): Disposable {
    return this.#changed.on(listener);
  }

  /** Replaces everything, older pages too, by a view. */
  reset(view: View): void {
    this.#take(view);
    this.#changed.emit({ reset: true, lanes: {} });
  }

  /** Takes one `bb/view`. */
  apply(params: ViewParams): ViewOutcome {
    const { snapshot } = params;
    if (params.epoch === this.#epoch && params.toSeq <= this.#seq) return "stale";
    if (snapshot) {
      this.reset(snapshot);
      return "applied";
    }
    if (params.epoch !== this.#epoch) return "epoch";
    if (params.fromSeq > this.#seq + 1) return "gap";
    this.#seq = params.toSeq;
    this.applyChanges(params.changes);
    return "applied";
  }

  /** Applies changes in order, whatever their `seq`. */
  applyChanges(changes: readonly Change[]): void {
    const delta = new DeltaBuilder();
    for (const change of changes) this.#applyOne(change, delta);
    if (!delta.isEmpty) this.#changed.emit(delta.take());
  }

  /**
   * Puts a page of `bb/view/page` in front. A block that the lane holds already keeps what it holds, since that is what
   * the changes were applied to, and gets the place that the page gives it.
   */
  addOlder(lane: Lane, page: ViewPageResult): void {
    const held = this.#lanes.get(lane);
    if (!held) return;
    const delta = new DeltaBuilder();
    const blocks = new Map<string, Block>();
    for (const block of page.blocks) {
      const known = held.blocks.get(block.id);
      blocks.set(block.id, known ?? block);
      if (known) delta.removed(lane, block.id);
      delta.older(lane, block.id);
    }
    for (const [id, block] of held.blocks) if (!blocks.has(id)) blocks.set(id, block);
    const ended = held.hasMore !== page.hasMore;
    this.#lanes.set(lane, { blocks, hasMore: page.hasMore, list: undefined });
    if (!delta.isEmpty || ended) this.#changed.emit(delta.take(lane));
  }

  #take(view: View): void {
    this.#epoch = view.epoch;
    this.#seq = view.seq;
    this.#lanes = new Map(
      // Beside them may stand what a newer server says of a view.
      LANES.map((lane) => [lane, view.lanes[lane]] as const).map(([lane, { blocks, hasMore }]) => [
        lane,
        { blocks: new Map(blocks.map((block) => [block.id, block])), hasMore, list: undefined },
      ]),
    );
  }

  #applyOne({ lane, op, id, block, after: behind, text }: Change, delta: DeltaBuilder): void {
    const held = this.#lanes.get(lane);
    if (!held) return;
    const before = held.blocks.get(id);
    if (op === "put" && block && !before && behind != null) {
      // What stands behind the other one is put anew, since a map keeps the order of its keys.
      if (!held.blocks.has(behind)) return;
      const blocks = [...held.blocks];
      const at = blocks.findIndex(([key]) => key === behind) + 1;
      held.blocks = new Map([...blocks.slice(0, at), [id, block], ...blocks.slice(at)]);
      delta.added(lane, id);
    } else if (op === "put" && block) {
      held.blocks.set(id, block);
      if (before) delta.changed(lane, id);
      else delta.added(lane, id);
    } else if (op === "append" && before && "text" in before && typeof before.text === "string") {
      const after = { ...before, text: before.text + (text ?? "") };
      noteGrowth(before, after, text ?? "");
      held.blocks.set(id, after);
      delta.changed(lane, id);
    } else if (op === "remove" && before) {
      held.blocks.delete(id);
      delta.removed(lane, id);
    } else {
      return;
    }
    held.list = undefined;
  }
}
