// What a client does with `bb/view`: it only applies changes. Reducing events is the server's.

const LANES = ['chat', 'tasks', 'run', 'debug'];

/** The view of one session as a client holds it. */
export class ClientView {
  constructor() {
    this.seq = 0;
    this.lanes = Object.fromEntries(LANES.map((lane) => [lane, []]));
  }

  /** Takes the params of one `bb/view`. */
  take({ toSeq, changes, snapshot }) {
    if (snapshot) {
      for (const lane of LANES) this.lanes[lane] = structuredClone(snapshot.lanes[lane].blocks);
      this.seq = snapshot.seq;
      return;
    }
    if (toSeq <= this.seq) return;
    for (const change of changes) this.apply(change);
    this.seq = toSeq;
  }

  apply({ lane, op, id, block, text }) {
    const blocks = this.lanes[lane];
    const at = blocks.findIndex((known) => known.id === id);
    switch (op) {
      case 'put':
        if (at < 0) blocks.push(structuredClone(block));
        else blocks[at] = structuredClone(block);
        return;
      case 'append':
        if (at < 0) throw new Error(`append to ${lane}/${id}, which was never put`);
        blocks[at].text += text;
        return;
      case 'remove':
        if (at >= 0) blocks.splice(at, 1);
        return;
      default:
        throw new Error(`unknown change ${op}`);
    }
  }

  /** The part that a snapshot shows: the newest page of each lane. */
  pageLike(snapshot) {
    return Object.fromEntries(
      LANES.map((lane) => {
        const { blocks, hasMore } = snapshot.lanes[lane];
        return [lane, hasMore ? this.lanes[lane].slice(-blocks.length) : this.lanes[lane]];
      }),
    );
  }
}

/** The blocks of a snapshot, without its paging. */
export function blocksOf(snapshot) {
  return Object.fromEntries(LANES.map((lane) => [lane, snapshot.lanes[lane].blocks]));
}
