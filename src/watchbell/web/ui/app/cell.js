/** An observable value: components that use it are drawn again when it changes. */

import { useEffect, useState } from "preact/hooks";

/** @template T */
export class Cell {
  /** @param {T} value */
  constructor(value) {
    this.value = value;
    /** @type {Set<(value: T) => void>} */
    this.listeners = new Set();
  }

  /** @param {T} value */
  set(value) {
    if (Object.is(value, this.value)) return;
    this.value = value;
    for (const listener of [...this.listeners]) listener(value);
  }

  /**
   * @param {(value: T) => void} listener
   * @returns {() => void} stops listening
   */
  listen(listener) {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }
}

/**
 * @template T
 * @param {Cell<T>} cell
 * @returns {T}
 */
export function useCell(cell) {
  const [, redraw] = useState(0);
  const seen = cell.value;
  useEffect(() => {
    const end = cell.listen(() => redraw((count) => count + 1));
    // It may have changed since the render: effects run after the browser has painted.
    if (!Object.is(seen, cell.value)) redraw((count) => count + 1);
    return end;
  }, [cell]);
  return seen;
}
