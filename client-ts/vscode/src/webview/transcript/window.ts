/**
 * Which rows of a long list are on the page.
 *
 * Owns the use of the virtualiser: rows are measured as they are drawn, rows that come in front keep the reader where
 * he is, and a reader at the end stays at the end.
 */
import {
  elementScroll,
  measureElement,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualItem,
} from "@tanstack/virtual-core";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/** Height of a row that was never measured, in pixels. */
const ESTIMATE = 72;
/** Rows beside the visible ones. */
const OVERSCAN = 6;
/** So close to the end counts as at the end. */
const NEAR_END = 48;
/** So long after a wheel, a key or a finger a movement is still its doing, in milliseconds; a busy machine is late with it. */
const HAND_MS = 3_000;
/** Keys that scroll up. */
const UPWARDS: ReadonlySet<string> = new Set(["ArrowUp", "PageUp", "Home"]);
/**
 * How long the height of the whole may lag behind rows that grow, in milliseconds. A growing last row scrolls by itself,
 * so each of its lines need not draw the list anew.
 */
const LAG_MS = 200;
/** Height of a view that has none yet: while it is laid out, and where there is no layout. */
const SOME_HEIGHT = 600;

export interface Rows {
  readonly items: readonly VirtualItem[];
  readonly height: number;
  readonly scroller: { current: HTMLDivElement | null };
  readonly measure: (row: Element | null) => void;
  readonly atEnd: boolean;
  toEnd(): void;
  toRow(index: number): void;
}

export function useRows(keys: readonly string[], onTop: () => void): Rows {
  const scroller = useRef<HTMLDivElement>(null);
  const [, redraw] = useState(0);
  const [atEnd, setAtEnd] = useState(true);
  const follows = useRef(true);
  const lastTop = useRef(0);
  const lastHeight = useRef(0);
  /** The virtualiser scrolled, because rows above turned out otherwise than expected. */
  const moved = useRef(false);
  const handUntil = useRef(0);
  const first = useRef(keys[0]);
  const drawn = useRef("");
  const lag = useRef<ReturnType<typeof setTimeout>>(undefined);
  const endsAt = useRef("");
  const stayAtEnd = (): void => {
    if (follows.current && scroller.current !== null) scroller.current.scrollTop = scroller.current.scrollHeight;
  };
  const redrawNow = (): void => {
    clearTimeout(lag.current);
    lag.current = undefined;
    redraw((count) => count + 1);
  };
  const held = useRef<Virtualizer<HTMLDivElement, Element>>(undefined);
  const options = {
    count: keys.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ESTIMATE,
    getItemKey: (index: number) => keys[index] ?? index,
    overscan: OVERSCAN,
    initialRect: { width: 300, height: SOME_HEIGHT },
    scrollToFn: (...to: Parameters<typeof elementScroll<HTMLDivElement>>) => {
      moved.current = true;
      elementScroll(...to);
    },
    observeElementOffset,
    observeElementRect: (
      instance: Virtualizer<HTMLDivElement, Element>,
      tell: (rect: { width: number; height: number }) => void,
    ) => observeElementRect(instance, (rect) => {
        tell(rect.height > 0 ? rect : { width: 300, height: SOME_HEIGHT });
        stayAtEnd();
      }),
    // Measured as soon as it is drawn, so that nothing jumps; a row without a height is one that is not laid out yet.
    measureElement: (
      row: Element,
      entry: ResizeObserverEntry | undefined,
      instance: Virtualizer<HTMLDivElement, Element>,
    ) => {
      // Where the browser says that a row has another height it is laid out already: reading costs nothing then.
      if (entry !== undefined) stayAtEnd();
      return (entry === undefined ? (row as HTMLElement).offsetHeight : measureElement(row, entry, instance)) || ESTIMATE;
    },
    onChange: (instance: Virtualizer<HTMLDivElement, Element>) => {
      if (placesOf(instance.getVirtualItems()) !== drawn.current) redrawNow();
      else lag.current ??= setTimeout(redrawNow, LAG_MS);
    },
  };
  held.current ??= new Virtualizer(options);
  const virtualizer = held.current;
  virtualizer.setOptions(options);

  const items = virtualizer.getVirtualItems();
  const height = virtualizer.getTotalSize();
  const places = placesOf(items);
  drawn.current = places;

  useLayoutEffect(() => virtualizer._didMount(), [virtualizer]);
  useLayoutEffect(() => () => clearTimeout(lag.current), []);
  useLayoutEffect(() => {
    virtualizer._willUpdate();
    // Rows came in front: the row that was first stays where it is.
    const before = first.current;
    first.current = keys[0];
    const shift = before === undefined || before === keys[0] ? -1 : keys.indexOf(before);
    if (shift > 0 && !follows.current) {
      const [offset] = virtualizer.getOffsetForIndex(shift, "start") ?? [];
      if (offset !== undefined) virtualizer.scrollToOffset(offset + (virtualizer.scrollOffset ?? 0));
    }
    // Asking how high all is has the browser lay it out at once; a row that only grew says so by itself.
    if (places === endsAt.current) return;
    endsAt.current = places;
    stayAtEnd();
  });
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const onScroll = (): void => {
      const { scrollTop, scrollHeight } = element;
      const end = isAtEnd(element);
      // Rows that turn out otherwise than expected move a reader who stays; whoever goes up leaves the end.
      const rowsMoved = moved.current || scrollHeight !== lastHeight.current;
      const goesUp = scrollTop < lastTop.current && (!rowsMoved || performance.now() < handUntil.current);
      if (end) follows.current = true;
      else if (goesUp) follows.current = false;
      if (!end) stayAtEnd();
      moved.current = false;
      lastTop.current = element.scrollTop;
      lastHeight.current = scrollHeight;
      setAtEnd(follows.current);
      if (element.scrollTop < 200 && element.scrollHeight > element.clientHeight) onTop();
    };
    const moves = (): void => void (handUntil.current = performance.now() + HAND_MS);
    const turned = ({ deltaY }: WheelEvent): void => {
      if (deltaY < 0) moves();
    };
    const holds = (): void => void (handUntil.current = Number.POSITIVE_INFINITY);
    // What is dragged stands still once it is let go. A button that was pressed changes rows, which move by themselves.
    const letsGo = (): void => void (handUntil.current = 0);
    // The end of a drag of the scroll bar is told to nobody.
    const passes = ({ buttons }: PointerEvent): void => {
      if (buttons === 0 && handUntil.current === Number.POSITIVE_INFINITY) letsGo();
    };
    const pressed = ({ key, shiftKey }: KeyboardEvent): void => {
      if (UPWARDS.has(key) || (key === " " && shiftKey)) moves();
    };
    // A focus that is not in sight scrolls to where it is, however long the browser takes for that. Where it did not, the end stays.
    const focused = ({ target }: FocusEvent): void => {
      if (!follows.current || !(target instanceof Element) || target === element || isInSight(target, element)) return;
      follows.current = false;
      requestAnimationFrame(() => {
        if (isAtEnd(element)) follows.current = true;
      });
    };
    const listeners: [string, (event: never) => void][] = [
      ["scroll", onScroll],
      ["wheel", turned],
      ["touchmove", moves],
      ["keydown", pressed],
      ["focusin", focused],
      ["pointerdown", holds],
      ["pointerup", letsGo],
      ["pointermove", passes],
      ["pointercancel", moves],
    ];
    for (const [name, listener] of listeners) element.addEventListener(name, listener as EventListener, { passive: true });
    return () => {
      for (const [name, listener] of listeners) element.removeEventListener(name, listener as EventListener);
    };
  }, [onTop]);

  return {
    items,
    height,
    scroller,
    measure: virtualizer.measureElement,
    atEnd,
    toEnd: () => {
      follows.current = true;
      setAtEnd(true);
      virtualizer.scrollToIndex(Math.max(0, keys.length - 1), { align: "end" });
      if (scroller.current !== null) scroller.current.scrollTop = scroller.current.scrollHeight;
    },
    toRow: (index) => {
      follows.current = false;
      virtualizer.scrollToIndex(index, { align: "center" });
      const element = scroller.current;
      // Where it is at the end already nothing scrolls, and nothing says so.
      if (element !== null && isAtEnd(element)) follows.current = true;
    },
  };
}

function isAtEnd({ scrollHeight, scrollTop, clientHeight }: Element): boolean {
  return scrollHeight - scrollTop - clientHeight < NEAR_END;
}

function isInSight(target: Element, within: Element): boolean {
  const [inner, outer] = [target.getBoundingClientRect(), within.getBoundingClientRect()];
  return inner.top >= outer.top && inner.bottom <= outer.bottom;
}

/** Which rows are drawn, and where. */
function placesOf(items: readonly VirtualItem[]): string {
  return items.map(({ key, start }) => `${String(key)}@${start}`).join(" ");
}
