/** Arranging things by mouse, pen and finger: one is dragged to the place of another. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";

/**
 * @param {number} count
 * @param {(from: number, to: number) => void} onMove called when it is dropped at another place
 * @returns {{orderOf: (index: number) => number, isDragged: (index: number) => boolean, begin: (index: number, event: PointerEvent) => void}}
 *   `orderOf`: where each one stands meanwhile. Elements stay where they are in the document until
 *   then, so none of them loses the pointer; each has its index in `data-place`.
 */
export function useDrag(count, onMove) {
  const [drag, setDrag] = useState(/** @type {{from: number, to: number} | null} */ (null));
  const latest = useRef(drag);
  const put = (/** @type {{from: number, to: number} | null} */ next) => {
    latest.current = next;
    setDrag(next);
  };
  const done = useRef(onMove);
  done.current = onMove;
  const isDragging = drag !== null;
  useLayoutEffect(() => {
    if (!isDragging) return undefined;
    let last = -1;
    const over = (/** @type {PointerEvent} */ event) => {
      const found = document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-place]");
      const place = found instanceof HTMLElement ? Number(found.dataset.place) : -1;
      // The one that made room may lie under the pointer again; only another one is news.
      if (place === last) return;
      last = place;
      const known = latest.current;
      if (place < 0 || !known || place === known.from) return;
      put({ from: known.from, to: standing(known, place) });
    };
    const end = () => {
      const known = latest.current;
      put(null);
      if (known && known.from !== known.to) done.current(known.from, known.to);
    };
    const cancel = () => put(null);
    const escape = (/** @type {KeyboardEvent} */ event) => event.key === "Escape" && cancel();
    window.addEventListener("pointermove", over);
    window.addEventListener("pointerup", end);
    window.addEventListener("pointercancel", cancel);
    window.addEventListener("keydown", escape);
    return () => {
      window.removeEventListener("pointermove", over);
      window.removeEventListener("pointerup", end);
      window.removeEventListener("pointercancel", cancel);
      window.removeEventListener("keydown", escape);
    };
  }, [isDragging]);
  return {
    orderOf: (index) => (drag && index < count ? standing(drag, index) : index),
    isDragged: (index) => drag?.from === index,
    begin: (index, event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      /** @type {HTMLElement} */ (event.currentTarget).focus();
      put({ from: index, to: index });
    },
  };
}

/** Where an element stands while one is dragged. @param {{from: number, to: number}} drag @param {number} index */
function standing({ from, to }, index) {
  if (index === from) return to;
  if (from < to && index > from && index <= to) return index - 1;
  return to < from && index >= to && index < from ? index + 1 : index;
}

/**
 * @template T
 * @param {T[]} items @param {number} from @param {number} to
 */
export function moved(items, from, to) {
  const rest = items.filter((_, index) => index !== from);
  return [...rest.slice(0, to), /** @type {T} */ (items[from]), ...rest.slice(to)];
}
