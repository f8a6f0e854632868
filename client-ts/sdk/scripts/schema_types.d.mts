/** The type expression of one schema node. */
export function typeOf(node: object, indent?: string): string;
