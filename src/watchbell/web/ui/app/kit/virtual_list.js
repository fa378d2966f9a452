/** A list of any number of rows that renders only the visible ones. */

import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

const BEYOND = 5;

/**
 * Whether a media query matches.
 * @param {string} query
 */
export function useMedia(query) {
  const [holds, setHolds] = useState(() => window.matchMedia(query).matches);
  useEffect(() => {
    const media = window.matchMedia(query);
    const change = () => setHolds(media.matches);
    change();
    media.addEventListener("change", change);
    return () => media.removeEventListener("change", change);
  }, [query]);
  return holds;
}

/**
 * The list scrolls and has the focus as a whole; `current` is the index of the active row.
 *
 * @template T
 * @param {{rows: T[], height: number, id: (row: T) => string, draw: (row: T, index: number) => any, label: string,
 *   current: number, onHover: (isOver: boolean) => void, onScroll: (isAtTop: boolean) => void,
 *   onFocus: (hasFocus: boolean) => void, children?: any}} props
 *   `height`: of each row, in pixels; `children`: the sticky header
 */
export function VirtualList({ rows, height, id, draw, label, current, onHover, onScroll, onFocus, children }) {
  const frame = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [first, setFirst] = useState(0);
  const [room, setRoom] = useState(800);
  const head = useRef(/** @type {HTMLDivElement | null} */ (null));

  useLayoutEffect(() => {
    const box = frame.current;
    if (!box) return undefined;
    const watch = new ResizeObserver(() => setRoom(box.clientHeight));
    watch.observe(box);
    return () => watch.disconnect();
  }, []);

  useLayoutEffect(() => {
    const box = frame.current;
    if (!box || current < 0) return;
    const covered = head.current?.offsetHeight ?? 0;
    const top = current * height;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + height > box.scrollTop + box.clientHeight - covered) box.scrollTop = top + height - box.clientHeight + covered;
  }, [current, height]);

  const scrolled = () => {
    const top = frame.current?.scrollTop ?? 0;
    onScroll(top < height);
    setFirst(Math.max(0, Math.floor(top / height) - BEYOND));
  };
  const last = Math.min(rows.length, first + Math.ceil(room / height) + 2 * BEYOND);
  const from = Math.min(first, Math.max(0, rows.length - 1));
  const shown = rows.slice(from, last);
  const active = rows[current];
  return html`<div class="list-frame" ref=${frame} onScroll=${scrolled} role="grid" tabindex="0" aria-label=${label}
    aria-rowcount=${rows.length + 1} aria-multiselectable="true"
    aria-activedescendant=${active && current >= from && current < last ? rowId(id(active)) : undefined}
    onFocusIn=${() => onFocus(true)}
    onFocusOut=${(/** @type {FocusEvent} */ event) => frame.current?.contains(/** @type {Node | null} */ (event.relatedTarget)) || onFocus(false)}
    onPointerEnter=${(/** @type {PointerEvent} */ event) => event.pointerType === "mouse" && onHover(true)}
    onPointerLeave=${() => onHover(false)}>
    <div class="list-head" ref=${head} role="row">${children}</div>
    <div class="list-room" role="presentation" style=${{ height: `${rows.length * height}px` }}>
      <div role="rowgroup" style=${{ transform: `translateY(${from * height}px)` }}>
        ${shown.map((row, i) => draw(row, from + i))}
      </div>
    </div>
  </div>`;
}

/** The element id of a row. @param {string} id */
export function rowId(id) {
  return `row-${encodeURIComponent(id)}`;
}
