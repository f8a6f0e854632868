/** Counts of tokens and amounts of money, in as many characters as a picker or a line has room for. */

/** A count in few characters. */
export function short(count: number): string {
  if (count < 1_000) return String(count);
  const [size, sign] = count < 1_000_000 ? [1_000, "k"] : [1_000_000, "M"];
  const some = count / size;
  return `${some < 10 ? some.toFixed(1) : Math.round(some)}${sign}`;
}

/** No more decimals than a person reads: four, or two digits where all four would be zero. */
export function rounded(amount: number): string {
  const near = Number(amount.toFixed(4));
  return String(near === 0 ? Number(amount.toPrecision(2)) : near);
}

/** Small amounts keep two digits that say something. */
export function money(amount: number): string {
  return amount !== 0 && Math.abs(amount) < 0.01 ? amount.toPrecision(2) : amount.toFixed(2);
}
