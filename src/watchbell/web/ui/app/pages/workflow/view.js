/** Which part of a graph is shown, and how large. */

import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";
import { firstView, fitView, reveal, zoomAt } from "./geometry.js";

/**
 * @typedef {import("./geometry.js").View} View
 * @typedef {{view: View, setView: (change: View | ((view: View) => View)) => void, frame: {current: HTMLElement | null},
 *   fit: () => void, zoom: (factor: number) => void, show: (node: import("./graph.js").GraphNode) => void}} Viewing
 */

const ZOOM = 1.25;
export const ZOOM_IN = ZOOM;
export const ZOOM_OUT = 1 / ZOOM;

/**
 * The view of a graph. It follows the size of its frame until somebody moves it.
 * @param {import("./graph.js").Graph} graph @returns {Viewing}
 */
export function useView(graph) {
  const [view, set] = useState(/** @type {View} */ ({ x: 40, y: 40, scale: 1 }));
  const frame = useRef(/** @type {HTMLElement | null} */ (null));
  const isMoved = useRef(false);
  const latest = useRef(graph);
  latest.current = graph;
  const size = () => ({ width: frame.current?.clientWidth ?? 0, height: frame.current?.clientHeight ?? 0 });
  const setView = useCallback((/** @type {View | ((view: View) => View)} */ change) => {
    isMoved.current = true;
    set(change);
  }, []);
  const fit = useCallback(() => {
    isMoved.current = true;
    set(fitView(latest.current.nodes, size()));
  }, []);
  const zoom = useCallback((/** @type {number} */ factor) => {
    const { width, height } = size();
    setView((old) => zoomAt(old, { x: width / 2, y: height / 2 }, factor));
  }, []);
  const show = useCallback((/** @type {import("./graph.js").GraphNode} */ node) => set((old) => reveal(old, node, size())), []);
  const open = useCallback(() => set(firstView(latest.current.nodes, size())), []);
  useLayoutEffect(open, []);
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return undefined;
    const seen = new ResizeObserver(() => isMoved.current || open());
    seen.observe(element);
    return () => seen.disconnect();
  }, []);
  useWheel(frame, setView);
  return { view, setView, frame, fit, zoom, show };
}

/**
 * With Ctrl, as by a pinch on a touchpad, the wheel zooms; otherwise it moves the graph if that has
 * the focus, and the page if not.
 * @param {{current: HTMLElement | null}} frame @param {(change: (view: View) => View) => void} setView
 */
function useWheel(frame, setView) {
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return undefined;
    const turn = (/** @type {WheelEvent} */ event) => {
      const isZoom = event.ctrlKey || event.metaKey;
      if (!isZoom && !element.contains(document.activeElement)) return;
      event.preventDefault();
      const { left, top } = element.getBoundingClientRect();
      const at = { x: event.clientX - left, y: event.clientY - top };
      const line = event.deltaMode === 0 ? 1 : 20;
      if (isZoom) setView((old) => zoomAt(old, at, Math.exp(-event.deltaY * line * 0.004)));
      else setView((old) => ({ ...old, x: old.x - event.deltaX * line, y: old.y - event.deltaY * line }));
    };
    element.addEventListener("wheel", turn, { passive: false });
    return () => element.removeEventListener("wheel", turn);
  }, []);
}
