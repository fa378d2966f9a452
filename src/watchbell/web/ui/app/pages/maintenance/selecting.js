/** Selects a range of slots by mouse, touch or keyboard. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";

const HOLD_MS = 350;
const SLIP_PX = 8;

/**
 * @typedef {{from: number, to: number}} Stretch the first and the last slot of it
 */

/**
 * @param {{count: number, at: (event: PointerEvent) => number | null, step: (index: number, key: string) => number | null,
 *   first: () => number, onDone: (stretch: Stretch, isPoint: boolean) => void}} options
 *   `at`: the slot under a pointer; `step`: where a key leads, null for a key that is not ours; `first`: where the
 *   keyboard begins; `isPoint`: one slot was clicked and nothing dragged
 */
export function useSelecting({ count, at, step, first, onDone }) {
  const [anchor, setAnchor] = useState(/** @type {number | null} */ (null));
  const [head, setHead] = useState(/** @type {number | null} */ (null));
  const drag = useRef({ isOn: false, x: 0, y: 0, timer: /** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined), from: 0 });
  const ground = useRef(/** @type {HTMLElement | null} */ (null));

  const show = (/** @type {number | null} */ from, /** @type {number | null} */ to) => {
    setAnchor(from);
    setHead(to);
  };
  const stop = () => {
    clearTimeout(drag.current.timer);
    drag.current.isOn = false;
  };

  // While a finger draws, the page is not to be moved by it; only a listener that is not passive can say so.
  useLayoutEffect(() => {
    const element = ground.current;
    const hold = (/** @type {TouchEvent} */ event) => drag.current.isOn && event.preventDefault();
    element?.addEventListener("touchmove", hold, { passive: false });
    return () => {
      clearTimeout(drag.current.timer);
      element?.removeEventListener("touchmove", hold);
    };
  }, []);
  useLayoutEffect(() => show(null, null), [count]);

  const begin = (/** @type {number} */ slot, /** @type {PointerEvent} */ event) => {
    drag.current.isOn = true;
    ground.current?.setPointerCapture(event.pointerId);
    show(slot, slot);
  };

  const handlers = {
    onPointerDown: (/** @type {PointerEvent} */ event) => {
      const slot = at(event);
      if (slot === null || event.button !== 0 || (event.target instanceof Element && event.target.closest("button, a"))) return;
      Object.assign(drag.current, { x: event.clientX, y: event.clientY, from: slot });
      if (event.pointerType === "mouse") {
        event.preventDefault();
        ground.current?.focus({ preventScroll: true });
        begin(slot, event);
      } else {
        clearTimeout(drag.current.timer);
        drag.current.timer = setTimeout(() => begin(slot, event), HOLD_MS);
      }
    },
    onPointerMove: (/** @type {PointerEvent} */ event) => {
      const { isOn, x, y, timer } = drag.current;
      if (!isOn) {
        if (Math.hypot(event.clientX - x, event.clientY - y) > SLIP_PX) clearTimeout(timer);
        return;
      }
      const slot = at(event);
      if (slot !== null) setHead(slot);
    },
    onPointerUp: (/** @type {PointerEvent} */ event) => {
      const { isOn, x, y, from } = drag.current;
      const isStill = Math.hypot(event.clientX - x, event.clientY - y) <= SLIP_PX;
      stop();
      if (isOn && anchor !== null && head !== null) onDone(ordered(anchor, head), anchor === head && isStill);
      else if (event.pointerType !== "mouse" && isStill && at(event) === from && !(event.target instanceof Element && event.target.closest("button, a"))) {
        show(from, from);
        onDone({ from, to: from }, true);
      }
    },
    onPointerCancel: () => {
      const { isOn } = drag.current;
      stop();
      if (isOn) show(null, null);
    },
    onKeyDown: (/** @type {KeyboardEvent} */ event) => {
      if (event.target !== ground.current || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "Escape" && head !== null) return done(event, () => show(null, null));
      if (event.key === "Enter" || event.key === " ") {
        if (anchor === null || head === null) return undefined;
        return done(event, () => onDone(ordered(anchor, head), anchor === head));
      }
      const from = head ?? first();
      const next = head === null && event.key.startsWith("Arrow") ? from : step(from, event.key);
      if (next === null) return undefined;
      const slot = Math.min(Math.max(next, 0), count - 1);
      return done(event, () => show(event.shiftKey && anchor !== null ? anchor : slot, slot));
    },
  };
  const stretch = anchor === null || head === null ? null : ordered(anchor, head);
  return { ground, handlers, stretch, head, clear: () => show(null, null) };
}

/** @param {KeyboardEvent} event @param {() => void} act */
function done(event, act) {
  event.preventDefault();
  act();
}

/** @param {number} one @param {number} other @returns {Stretch} */
const ordered = (one, other) => ({ from: Math.min(one, other), to: Math.max(one, other) });
