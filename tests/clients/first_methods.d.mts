/** What every server of version 1 of the wire has. */
export const FIRST: ReadonlySet<string>;
