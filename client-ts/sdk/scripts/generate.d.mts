/** What schemas/ says: shapes by name. */
export function contract(): { shapes: ReadonlyMap<string, unknown> };
/** Where the generated files are. */
export const folder: string;
/** The generated files: name to text. */
export function generate(): Promise<Record<string, string>>;
