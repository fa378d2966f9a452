/** Which row is meant, and which rows are chosen. */

import { useCallback, useMemo, useRef, useState } from "preact/hooks";

/** @typedef {import("./rows.js").Row} Row */

/** @type {ReadonlySet<string>} */
const NOBODY = new Set();

/**
 * Rows are known by their names: they may move.
 * @param {Row[]} rows
 */
export function useSelection(rows) {
  const [currentId, setCurrentId] = useState("");
  const [state, setState] = useState({ ids: NOBODY, isAll: false });
  const latest = useRef(rows);
  latest.current = rows;
  const anchor = useRef(-1);
  const current = useMemo(() => (currentId ? rows.findIndex((row) => row.id === currentId) : -1), [rows, currentId]);

  const move = useCallback((/** @type {number} */ by) => {
    const found = latest.current;
    const at = found.findIndex((row) => row.id === currentId);
    const next = at < 0 ? 0 : Math.min(Math.max(at + by, 0), found.length - 1);
    setCurrentId(found[next]?.id ?? "");
    /** @type {HTMLElement | null} */ (document.querySelector(".checks-frame"))?.focus({ preventScroll: true });
  }, [currentId]);

  const toggle = useCallback((/** @type {number} */ index, /** @type {boolean} */ isRange) => {
    const found = latest.current;
    const row = found[index];
    if (!row) return;
    const from = isRange && anchor.current >= 0 ? Math.min(anchor.current, index) : index;
    const to = isRange && anchor.current >= 0 ? Math.max(anchor.current, index) : index;
    anchor.current = index;
    setState(({ ids }) => {
      const chosen = new Set(ids);
      const adds = isRange || !chosen.has(row.id);
      for (const { id } of found.slice(from, to + 1)) adds ? chosen.add(id) : chosen.delete(id);
      return { ids: chosen, isAll: false };
    });
  }, []);

  const all = useCallback(() => setState({ ids: new Set(latest.current.map((row) => row.id)), isAll: true }), []);
  const clear = useCallback(() => {
    anchor.current = -1;
    setState({ ids: NOBODY, isAll: false });
  }, []);
  /** The chosen ones, or else the one that is meant. @returns {string[]} */
  const meant = () => (state.ids.size > 0 ? [...state.ids] : currentId ? [currentId] : []);
  return { ...state, current, currentId: current < 0 ? "" : currentId, move, toggle, all, clear, meant };
}
