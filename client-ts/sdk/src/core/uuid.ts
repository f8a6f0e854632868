/** UUIDs of version 4, from the platform's own randomness (Node, browsers, webviews). */

interface Randomness {
  getRandomValues(bytes: Uint8Array): Uint8Array;
}

/** A new UUID v4 in lower case. */
export function newUuid(): string {
  const { crypto } = globalThis as unknown as { crypto: Randomness };
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const hex = Array.from(bytes, (byte, at) => {
    const bits = at === 6 ? (byte & 0x0f) | 0x40 : at === 8 ? (byte & 0x3f) | 0x80 : byte;
    return bits.toString(16).padStart(2, "0");
  }).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
