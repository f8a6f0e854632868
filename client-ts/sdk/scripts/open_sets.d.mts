/** The names of the shapes that a server says and a newer one may add to. */
export function openShapes(contract: { shapes: ReadonlyMap<string, unknown> }): ReadonlySet<string>;
