/**
 * The pieces of a long answer, put together to sheets.
 *
 * Owns how many pieces the browser lays out, paints and leaves out as one. Pure: knows no page.
 */

/**
 * Shortest text of a full sheet, in characters: some heights of a sidebar. Each sheet is watched by the browser with
 * every frame, so few large ones cost less than many small ones; a larger one is more to paint when it comes into sight.
 */
export const SHEET = 6_000;

/** The pieces in their order, each sheet as long as it must be to be full. */
export function sheetsOf(pieces: readonly string[], full = SHEET): string[][] {
  const sheets: string[][] = [];
  let room = 0;
  for (const piece of pieces) {
    if (room <= 0) {
      sheets.push([]);
      room = full;
    }
    sheets.at(-1)?.push(piece);
    room -= piece.length;
  }
  return sheets;
}
