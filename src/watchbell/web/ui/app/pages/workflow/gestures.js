/** What mouse, pen and fingers do on a graph: select, drag, draw wires, pan and zoom. */

import { useRef, useState } from "preact/hooks";
import { connectionAt, nodeAt, nodesWithin, toGraph, zoomAt } from "./geometry.js";
import { snap } from "./graph.js";

/**
 * @typedef {import("./geometry.js").Point} Point
 * @typedef {import("./geometry.js").View} View
 * @typedef {import("./graph.js").Graph} Graph
 * @typedef {{ids: ReadonlySet<string>, dx: number, dy: number}} Drag
 * @typedef {{source: string, to: Point, target: string | null}} Wire
 * @typedef {{kind: "press", node: string | null, start: Point, isMore: boolean, view: View}
 *   | {kind: "drag", drag: Drag, start: Point} | {kind: "wire", source: string, target: string | null} | {kind: "marquee", start: Point}
 *   | {kind: "pan", start: Point, view: View} | {kind: "pinch", middle: Point, distance: number, view: View}} Mode
 * @typedef {{graph: Graph, selected: ReadonlySet<string>, viewing: import("./view.js").Viewing, isEditable: boolean, isSnapping: boolean,
 *   onSelect: (ids: Set<string>, current: string | null) => void, onMove: (drag: Drag) => void, onConnect: (source: string, dest: string | null) => void}} Given
 */

/** How far a finger may slip before it drags, in pixels. */
const SLIP = { mouse: 4, touch: 10 };
/** How near to a node or a wire is near enough, in pixels. */
const NEAR = 12;

/**
 * @param {Given} given
 * @returns {{drag: Drag | null, wire: Wire | null, marquee: [Point, Point] | null, handlers: Record<string, (event: any) => void>}}
 *   what is drawn of a gesture in progress
 */
export function useGestures(given) {
  const { graph, viewing, isEditable, isSnapping, onSelect, onMove, onConnect } = given;
  const pointers = useRef(/** @type {Map<number, Point>} */ (new Map()));
  const mode = useRef(/** @type {Mode | null} */ (null));
  const [drag, setDrag] = useState(/** @type {Drag | null} */ (null));
  const [wire, setWire] = useState(/** @type {Wire | null} */ (null));
  const [marquee, setMarquee] = useState(/** @type {[Point, Point] | null} */ (null));
  const view = viewing.view;

  const at = (/** @type {PointerEvent} */ event) => {
    const box = viewing.frame.current?.getBoundingClientRect();
    return { x: event.clientX - (box?.left ?? 0), y: event.clientY - (box?.top ?? 0) };
  };
  const end = () => {
    mode.current = null;
    setDrag(null);
    setWire(null);
    setMarquee(null);
  };
  const down = (/** @type {PointerEvent} */ event) => {
    const target = /** @type {Element} */ (event.target);
    if (event.button !== 0 || target.closest("[data-own]")) return;
    const point = at(event);
    pointers.current.set(event.pointerId, point);
    viewing.frame.current?.setPointerCapture(event.pointerId);
    if (pointers.current.size === 2) {
      end();
      mode.current = { kind: "pinch", ...spanOf(pointers.current), view };
      return;
    }
    if (pointers.current.size > 2) return;
    const node = target.closest("[data-node]")?.getAttribute("data-node") ?? null;
    if (isEditable && node && target.closest("[data-port]")) {
      mode.current = { kind: "wire", source: node, target: null };
      setWire({ source: node, to: toGraph(view, point), target: null });
    } else {
      mode.current = { kind: "press", node, start: point, isMore: event.shiftKey || event.ctrlKey || event.metaKey, view };
    }
  };
  const move = (/** @type {PointerEvent} */ event) => {
    if (!pointers.current.has(event.pointerId)) return;
    const point = at(event);
    pointers.current.set(event.pointerId, point);
    const now = mode.current;
    if (now?.kind === "press") mode.current = begun(given, now, point, event.pointerType === "mouse" ? SLIP.mouse : SLIP.touch);
    follow(point);
  };
  const follow = (/** @type {Point} */ point) => {
    const now = mode.current;
    if (now?.kind === "drag") {
      const round = (/** @type {number} */ value) => (isSnapping ? snap(value / view.scale) : Math.round(value / view.scale));
      const next = { ids: now.drag.ids, dx: round(point.x - now.start.x), dy: round(point.y - now.start.y) };
      if (next.dx === now.drag.dx && next.dy === now.drag.dy) return;
      now.drag = next;
      setDrag(next);
    } else if (now?.kind === "wire") {
      const to = toGraph(view, point);
      now.target = nodeAt(graph, to, NEAR / view.scale)?.id ?? null;
      if (now.target === now.source) now.target = null;
      setWire({ source: now.source, to, target: now.target });
    } else if (now?.kind === "marquee") {
      setMarquee([now.start, toGraph(view, point)]);
    } else if (now?.kind === "pan") {
      viewing.setView({ ...now.view, x: now.view.x + point.x - now.start.x, y: now.view.y + point.y - now.start.y });
    } else if (now?.kind === "pinch" && pointers.current.size >= 2) {
      const { middle, distance } = spanOf(pointers.current);
      const zoomed = zoomAt(now.view, now.middle, distance / now.distance);
      viewing.setView({ ...zoomed, x: zoomed.x + middle.x - now.middle.x, y: zoomed.y + middle.y - now.middle.y });
    }
  };
  const up = (/** @type {PointerEvent} */ event) => {
    if (!pointers.current.delete(event.pointerId)) return;
    const now = mode.current;
    if (now?.kind === "pinch" && pointers.current.size > 0) return;
    end();
    if (now?.kind === "press") press(given, now);
    else if (now?.kind === "drag") onMove(now.drag);
    else if (now?.kind === "wire") onConnect(now.source, now.target);
    else if (now?.kind === "marquee") {
      const inside = nodesWithin(graph, now.start, toGraph(view, at(event))).map((one) => one.id);
      onSelect(new Set(inside), inside.at(-1) ?? null);
    }
  };
  const cancel = (/** @type {PointerEvent} */ event) => {
    pointers.current.delete(event.pointerId);
    end();
  };
  return { drag, wire, marquee, handlers: { onPointerDown: down, onPointerMove: move, onPointerUp: up, onPointerCancel: cancel } };
}

/** What a press becomes once the pointer has moved. @param {Given} given @param {Mode & {kind: "press"}} press @param {Point} point @param {number} slip @returns {Mode} */
function begun({ isEditable, selected, onSelect, viewing }, press, point, slip) {
  const { node, start, isMore } = press;
  if (Math.hypot(point.x - start.x, point.y - start.y) < slip) return press;
  if (!node && isMore && isEditable) return { kind: "marquee", start: toGraph(viewing.view, start) };
  if (!node || !isEditable) return { kind: "pan", start, view: press.view };
  const ids = selected.has(node) ? selected : new Set([node]);
  if (ids !== selected) onSelect(new Set(ids), node);
  return { kind: "drag", drag: { ids, dx: 0, dy: 0 }, start };
}

/** A press without a move: selects. @param {Given} given @param {Mode & {kind: "press"}} press */
function press({ graph, selected, viewing, onSelect }, { node, start, isMore }) {
  if (node) {
    const ids = new Set(isMore ? selected : []);
    if (isMore && selected.has(node)) ids.delete(node);
    else ids.add(node);
    onSelect(ids, node);
    return;
  }
  const { scale } = viewing.view;
  const connection = connectionAt(graph, toGraph(viewing.view, start), NEAR / scale);
  onSelect(new Set(connection ? [connection.id] : []), null);
}

/** @param {Map<number, Point>} pointers */
function spanOf(pointers) {
  const [one, other] = [...pointers.values()];
  if (!one || !other) return { middle: { x: 0, y: 0 }, distance: 1 };
  return { middle: { x: (one.x + other.x) / 2, y: (one.y + other.y) / 2 }, distance: Math.max(1, Math.hypot(one.x - other.x, one.y - other.y)) };
}
