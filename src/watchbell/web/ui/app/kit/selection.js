/** The current row and the selected rows. */

import { useCallback, useMemo, useRef, useState } from "preact/hooks";

/** @type {ReadonlySet<string>} */
const NONE = new Set();

/**
 * Rows are identified by id, because they may move.
 * @template {{id: string}} R
 * @param {R[]} rows
 */
export function useSelection(rows) {
  const [currentId, setCurrentId] = useState("");
  const [state, setState] = useState({ ids: NONE, isAll: false });
  const latest = useRef(rows);
  latest.current = rows;
  const anchor = useRef(-1);
  const current = useMemo(() => (currentId ? rows.findIndex((row) => row.id === currentId) : -1), [rows, currentId]);

  const move = useCallback((/** @type {number} */ by) => {
    const found = latest.current;
    const at = found.findIndex((row) => row.id === currentId);
    const next = at < 0 ? 0 : Math.min(Math.max(at + by, 0), found.length - 1);
    setCurrentId(found[next]?.id ?? "");
    /** @type {HTMLElement | null} */ (document.querySelector(".list-frame"))?.focus({ preventScroll: true });
  }, [currentId]);

  const toggle = useCallback((/** @type {number} */ index, /** @type {boolean} */ isRange) => {
    const found = latest.current;
    const row = found[index];
    if (!row) return;
    const from = isRange && anchor.current >= 0 ? Math.min(anchor.current, index) : index;
    const to = isRange && anchor.current >= 0 ? Math.max(anchor.current, index) : index;
    anchor.current = index;
    setState(({ ids }) => {
      const selected = new Set(ids);
      const adds = isRange || !selected.has(row.id);
      for (const { id } of found.slice(from, to + 1)) adds ? selected.add(id) : selected.delete(id);
      return { ids: selected, isAll: false };
    });
  }, []);

  const all = useCallback(() => setState({ ids: new Set(latest.current.map((row) => row.id)), isAll: true }), []);
  const clear = useCallback(() => {
    anchor.current = -1;
    setState({ ids: NONE, isAll: false });
  }, []);
  /** The selected rows, or else the current one. @returns {string[]} */
  const targets = () => (state.ids.size > 0 ? [...state.ids] : currentId ? [currentId] : []);
  return { ...state, current, currentId: current < 0 ? "" : currentId, move, toggle, all, clear, targets };
}
