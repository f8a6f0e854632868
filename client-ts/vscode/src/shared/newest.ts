/** The session that was used last: in the list of the server those that are pinned stand before it. Pure. */
export function newest<T extends { readonly updatedAt?: number | null }>(sessions: readonly T[] | undefined): T | undefined {
  return sessions?.reduce<T | undefined>(
    (best, one) => (best === undefined || (one.updatedAt ?? 0) > (best.updatedAt ?? 0) ? one : best),
    undefined,
  );
}
