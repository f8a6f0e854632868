/**
 * When the page is drawn: at most once a frame, whatever arrives.
 *
 * Owns the renderer's own switch for it. Components ask to be drawn as often as they like; the renderer does it when
 * the browser is about to paint.
 */
import { options } from "preact";

/** Draws once a frame from now on. */
export function drawOncePerFrame(schedule: (draw: () => void) => void): void {
  options.debounceRendering = schedule;
}
