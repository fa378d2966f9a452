/** Draws a graph: nodes, wires with their conditions, and what is being drawn by hand. */

import { html } from "htm/preact";
import { useMemo, useRef } from "preact/hooks";
import { curveOf, curveTo, pathOf, pointOn } from "./geometry.js";
import { useGestures } from "./gestures.js";
import { conditionOf, GRID, isAttached, moveNodes, nodeOf } from "./graph.js";
import { readingOrder } from "./navigation.js";
import { Drawn, nodeBox } from "./node_box.js";
import { conditionWords } from "./words.js";

/**
 * @typedef {import("./graph.js").Graph} Graph
 * @typedef {import("./graph.js").GraphNode} GraphNode
 * @typedef {{graph: Graph, facts: Map<string, import("./words.js").Fact>, badges?: ReadonlyMap<string, import("./node_box.js").Badge>, wrong?: ReadonlySet<string>,
 *   viewing: import("./view.js").Viewing, selected: ReadonlySet<string>, current: string | null, label: string, hint: string, isEditable: boolean,
 *   isSnapping?: boolean, aim?: {source: string, target: string | null} | null, onSelect: import("./gestures.js").Given["onSelect"],
 *   onMove?: import("./gestures.js").Given["onMove"], onConnect?: import("./gestures.js").Given["onConnect"], onKeyDown: (event: KeyboardEvent) => void,
 *   onOpen?: () => void, onFocus?: (id: string) => void, fired?: ReadonlySet<string>, children?: any}} CanvasProps
 *   `wrong`: ids of connections with a problem; `aim`: a wire that is drawn by keyboard; `onOpen`: after a double click; `onFocus`: of a node, by keyboard; `fired`: ids of connections
 */

const nothing = () => undefined;
/** @type {ReadonlyMap<string, import("./node_box.js").Badge>} */
const NO_BADGES = new Map();
/** @type {ReadonlySet<string>} */
const NONE = new Set();

/** @param {CanvasProps} props */
export function Canvas(props) {
  const { facts, badges = NO_BADGES, wrong = NONE, fired = NONE, viewing, selected, label, hint, isEditable, aim, children } = props;
  const gestures = useGestures({ onMove: nothing, onConnect: nothing, isSnapping: false, ...props });
  const { drag, wire, marquee } = gestures;
  const graph = useMemo(() => (drag ? moveNodes(props.graph, drag.ids, drag.dx, drag.dy) : props.graph), [props.graph, drag]);
  const current = props.current ?? readingOrder(props.graph)[0]?.id;
  const target = wire?.target ?? aim?.target;
  const drawn = useRef(new Drawn()).current;
  const { x, y, scale } = viewing.view;
  const step = GRID * scale * (scale < 0.5 ? 4 : 1);
  const boxes = graph.nodes.map((node) => {
    const fact = facts.get(node.id);
    const badge = badges.get(node.id);
    const flags = [selected.has(node.id), node.id === current, node.id === target, isEditable];
    return fact && drawn.of(node.id, [node, fact, badge, ...flags], () =>
      nodeBox({ node, fact, badge, isSelected: !!flags[0], isCurrent: !!flags[1], isTarget: !!flags[2], isEditable }));
  });
  // A node that gets the focus by keyboard is brought into view, by moving the graph and not the page.
  const reveal = (/** @type {HTMLElement} */ element) => {
    const node = element.matches("[data-node]:focus-visible") && nodeOf(graph, element.dataset.node ?? "");
    if (!node) return;
    viewing.show(node);
    props.onFocus?.(node.id);
  };
  return html`<div class=${`graph${isEditable ? " graph-editable" : ""}`} ref=${viewing.frame} role="application" aria-label=${label} aria-roledescription="graph" aria-describedby="graph-hint"
      tabindex=${graph.nodes.length === 0 ? 0 : -1} ...${gestures.handlers} onKeyDown=${props.onKeyDown} onDblClick=${props.onOpen}
      onFocusIn=${(/** @type {FocusEvent} */ event) => reveal(/** @type {HTMLElement} */ (event.target))} onScroll=${(/** @type {Event} */ event) => /** @type {HTMLElement} */ (event.currentTarget).scrollTo(0, 0)}
      style=${{ backgroundPosition: `${x}px ${y}px`, backgroundSize: `${step}px ${step}px` }}>
    <div class="graph-world" style=${{ transform: `translate(${x}px, ${y}px) scale(${scale})` }}>
      <${Wires} graph=${graph} selected=${selected} wrong=${wrong} fired=${fired} />
      ${boxes}
      <svg class="graph-wires" aria-hidden="true">
        ${(wire || aim) && drawing(graph, wire, aim)}
        ${marquee && html`<rect class="graph-marquee" x=${Math.min(marquee[0].x, marquee[1].x)} y=${Math.min(marquee[0].y, marquee[1].y)}
          width=${Math.abs(marquee[0].x - marquee[1].x)} height=${Math.abs(marquee[0].y - marquee[1].y)} />`}
      </svg>
    </div>
    <p class="unseen" id="graph-hint">${hint}</p>
    ${children}
  </div>`;
}

/** @param {{graph: Graph, selected: ReadonlySet<string>, wrong: ReadonlySet<string>, fired: ReadonlySet<string>}} props */
function Wires({ graph, selected, wrong, fired }) {
  const drawn = useRef(new Drawn()).current;
  const labels = useRef(new Drawn()).current;
  const nodes = new Map(graph.nodes.map((one) => [one.id, one]));
  const all = graph.connections.flatMap((one) => {
    const [from, to] = [nodes.get(one.source), nodes.get(one.dest)];
    if (!from || !to) return [];
    const condition = conditionOf(graph, one);
    const flags = [selected.has(one.id), wrong.has(one.id), fired.has(one.id)];
    const by = [from.x, from.y, to.x, to.y, condition, ...flags];
    const look = wireLook(condition, flags);
    return [{
      path: drawn.of(one.id, by, () => wirePath(one.id, from, to, look)),
      label: isLabelled(condition, to) && labels.of(one.id, by, () => wireLabel(one.id, from, to, condition, look)),
    }];
  });
  return html`<svg class="graph-wires" aria-hidden="true">${all.map((one) => one.path)}</svg>${all.map((one) => one.label)}`;
}

/** @param {string} condition @param {GraphNode} to */
function isLabelled(condition, to) {
  return condition !== "" && (to.type === "action" || condition !== "success");
}

/** @param {string} condition @param {(boolean | undefined)[]} flags */
function wireLook(condition, [isSelected, isWrong, isFired]) {
  const tone = ["error", "critical", "abort"].includes(condition) ? " wire-bad" : condition === "warning" ? " wire-warn" : condition === "success" ? " wire-good" : "";
  return `wire${tone}${isFired ? " wire-fired" : ""}${isWrong ? " wire-wrong" : ""}${isSelected ? " wire-selected" : ""}`;
}

/** @param {string} id @param {GraphNode} from @param {GraphNode} to @param {string} look */
function wirePath(id, from, to, look) {
  const curve = curveOf(from, to);
  return html`<g key=${id} class=${look}><path d=${pathOf(curve)} /><path class="wire-head" d=${headOf(curve[3])} /></g>`;
}

/** @param {string} id @param {GraphNode} from @param {GraphNode} to @param {string} condition @param {string} look */
function wireLabel(id, from, to, condition, look) {
  const isBelow = isAttached(to.type);
  const curve = curveOf(from, to);
  const { x, y } = isBelow ? { x: curve[1].x - 6, y: curve[1].y } : pointOn(curve, 0.5);
  return html`<span key=${`${id} label`} class=${`${look} wire-label`} aria-hidden="true" style=${{ transform: `translate(${x}px, ${y}px) translate(${isBelow ? -100 : -50}%, -50%)` }}>${conditionWords(condition, true)}</span>`;
}

/** The wire that is being drawn. @param {Graph} graph @param {import("./gestures.js").Wire | null} wire @param {{source: string, target: string | null} | null | undefined} aim */
function drawing(graph, wire, aim) {
  const from = nodeOf(graph, wire?.source ?? aim?.source ?? "");
  const to = nodeOf(graph, wire?.target ?? aim?.target ?? "");
  if (!from) return null;
  const curve = to ? curveOf(from, to) : wire && curveTo(from, wire.to);
  return curve && html`<g class="wire wire-drawn"><path d=${pathOf(curve)} /></g>`;
}

/** An arrow head. @param {import("./geometry.js").Point} end */
const headOf = ({ x, y }) => `M${x} ${y}l-9 -5v10z`;
