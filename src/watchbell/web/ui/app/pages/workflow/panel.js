/** Beside the graph: the fields of what is selected, its wires, and what is wrong. */

import { html } from "htm/preact";
import { Button, Field } from "../../kit/form.js";
import { Mark } from "../../kit/state.js";
import { Adding } from "../events/items.js";
import { counted } from "../../words.js";
import { pathsOf } from "./draft.js";
import { NEW_NODES, newNode, NodeFields } from "./fields.js";
import { conditionOf, isAttached, nodeOf } from "./graph.js";
import { targetsOf } from "./use_editor.js";
import { conditionsFor } from "./words.js";

/**
 * @typedef {import("./use_editor.js").Editing} Editing
 * @typedef {import("./graph.js").Connection} Connection
 * @typedef {{field: string, reason: string, node: string, connection: string, is_warning: boolean}} Problem
 * @typedef {{editing: Editing, facts: Map<string, import("./words.js").Fact>, problems: Problem[], modifiers: number, options: import("../events/words.js").Options,
 *   events: ReadonlyMap<string, string>, middle: () => {x: number, y: number}, focus: (id: string | null) => void,
 *   show: (node: import("./graph.js").GraphNode) => void}} PanelProps
 *   `modifiers`: how many timings have no node; `middle`: of the part that is shown
 */

/** @param {PanelProps} props */
export function Panel(props) {
  const { editing } = props;
  const { graph, selected } = editing;
  const node = graph.nodes.find((one) => selected.has(one.id));
  const wires = graph.connections.filter((one) => selected.has(one.id));
  if (selected.size === 1 && node) return html`<${NodePanel} key=${`${node.id} ${editing.version}`} ...${props} node=${node} />`;
  if (selected.size === 1 && wires[0]) return html`<${WirePanel} ...${props} wire=${wires[0]} />`;
  if (selected.size > 1) {
    return html`<h3>${counted(selected.size, "part")} selected</h3>
      <div class="actions">
        <${Button} onClick=${editing.duplicate}>Duplicate<//>
        <${Button} kind="danger" onClick=${() => props.focus(editing.remove())}>Delete<//>
      </div>`;
  }
  return html`<${Problems} ...${props} /><${Hints} />`;
}

/** @param {PanelProps & {node: import("./graph.js").GraphNode}} props */
function NodePanel({ node, ...props }) {
  const { editing, facts, problems, modifiers, options, events } = props;
  const { graph } = editing;
  const paths = pathsOf(graph, node.id, modifiers);
  const isShown = (/** @type {string} */ field) => field.startsWith(`${paths.data}.`) || field.startsWith(`${paths.timing}.`);
  const others = problems.filter((one) => one.node === node.id && !isShown(one.field));
  const leads = !isAttached(node.type) && node.type !== "note";
  const add = (/** @type {string} */ kind) => {
    const [type, data] = newNode(kind);
    props.focus(editing.add(type, data, props.middle(), node.id).id);
  };
  return html`<h3>${facts.get(node.id)?.title}</h3><div class="stack">
    ${others.map((one) => html`<p class="wrong">${one.reason}</p>`)}
    <${NodeFields} type=${node.type} data=${node.data} change=${(/** @type {Record<string, any>} */ data) => editing.setData(node.id, data)} path=${paths.data} timing=${paths.timing} options=${options} events=${events} />
    <${WiresOf} ...${props} id=${node.id} />
    ${leads && html`<div class="stack">
      <${Adding} label="Add a node after it" options=${NEW_NODES} onAdd=${add} />
      <${Adding} label="Draw a wire to" options=${targetsOf(graph, node.id).map((id) => [id, facts.get(id)?.title ?? id])} onAdd=${(/** @type {string} */ id) => editing.connect(node.id, id, true)} />
    </div>`}
    <div class="actions">
      <${Button} small onClick=${editing.duplicate}>Duplicate<//>
      <${Button} small kind="danger" onClick=${() => props.focus(editing.remove())}>Delete<//>
    </div></div>`;
}

/** @param {PanelProps & {id: string}} props */
function WiresOf({ id, ...props }) {
  const all = props.editing.graph.connections.filter((one) => one.source === id || one.dest === id);
  if (all.length === 0) return null;
  return html`<div><h4>Wires</h4><ul class="workflow-wires">${all.map((one) => html`<li key=${one.id}><${WireFields} ...${props} wire=${one} from=${id} /></li>`)}</ul></div>`;
}

/** @param {PanelProps & {wire: Connection, from: string}} props `from`: the node at which one looks */
function WireFields({ editing, facts, options, wire, from }) {
  const isOut = wire.source === from;
  const other = facts.get(isOut ? wire.dest : wire.source)?.title ?? "";
  const words = `${isOut ? "To" : "From"} ${other}`;
  const conditions = conditionsFor(editing.graph, wire, options.tags);
  return html`<span>${words}</span>
    <${Button} small kind="quiet" label=${`Delete the wire: ${words}`} onClick=${() => editing.remove(new Set([wire.id]))}>Delete<//>
    ${conditions.length > 0 && html`<select aria-label=${`When it fires: ${words}`} value=${conditionOf(editing.graph, wire)} onChange=${(/** @type {any} */ event) => editing.setCondition(wire.id, event.currentTarget.value)}>
      ${conditions.map(([value, said]) => html`<option value=${value} selected=${value === conditionOf(editing.graph, wire)}>${said}</option>`)}</select>`}`;
}

/** @param {PanelProps & {wire: Connection}} props */
function WirePanel({ wire, ...props }) {
  const { editing, facts, problems, options } = props;
  const title = (/** @type {string} */ id) => facts.get(id)?.title ?? id;
  const conditions = conditionsFor(editing.graph, wire, options.tags);
  const place = editing.graph.connections.indexOf(wire);
  return html`<h3>Wire from ${title(wire.source)} to ${title(wire.dest)}</h3>
    <div class="stack">
      ${problems.filter((one) => one.connection === wire.id).map((one) => html`<p class="wrong">${one.reason}</p>`)}
      ${conditions.length > 0
        ? html`<${Field} label="When it fires" name=${`workflow.connections[${place}].condition`} value=${conditionOf(editing.graph, wire)} options=${conditions} onInput=${(/** @type {string} */ value) => editing.setCondition(wire.id, value)} />`
        : html`<p class="soft">${nodeOf(editing.graph, wire.dest)?.type === "limit" ? "The limit holds for the jobs of the node." : "It fires when the node before it passes on."}</p>`}
      <div class="actions"><${Button} small kind="danger" onClick=${() => props.focus(editing.remove())}>Delete<//></div>
    </div>`;
}

/** @param {PanelProps} props */
function Problems({ editing, facts, problems, focus, show }) {
  if (problems.length === 0) return html`<h3>No problems found</h3>`;
  const goTo = (/** @type {Problem} */ one) => {
    const node = nodeOf(editing.graph, one.node);
    if (node) show(node);
    if (one.node) editing.select([one.node], one.node);
    else if (one.connection) editing.select([one.connection], null);
    focus(one.node || null);
  };
  return html`<h3>${counted(problems.length, "problem")}</h3>
    <ul class="workflow-problems" aria-label="Problems">${problems.map((one) => html`<li><button type="button" onClick=${() => goTo(one)}>
      <${Mark} state=${one.is_warning ? "warning" : "critical"} title=${one.is_warning ? "Warning" : "Error"} />
      <span>${one.node && html`<strong>${facts.get(one.node)?.title ?? one.node}: </strong>`}${propertyOf(one.field)}${one.reason}</span></button></li>`)}</ul>`;
}

/** @param {string} field such as `workflow.nodes[3].data.split` */
function propertyOf(field) {
  const name = /\.data\.(\w+)/.exec(field)?.[1];
  return name ? `${name}: ` : "";
}

function Hints() {
  return html`<h4>How to draw</h4>
    <p class="soft">Drag from the dot of a node to another node to draw a wire, or press <kbd>c</kbd> on a selected one. Drag the background to move, hold Shift to select several, and pinch or turn the wheel with Ctrl to zoom.</p>`;
}
