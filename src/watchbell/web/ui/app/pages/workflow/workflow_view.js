/** The graph of a workflow, to look at. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { Facts } from "../../kit/layout.js";
import { Canvas } from "./canvas.js";
import { viewCommands } from "./commands.js";
import { begin } from "./draft.js";
import { conditionOf, nodeOf } from "./graph.js";
import { useLooking } from "./looking.js";
import { useEventTitles } from "./titles.js";
import { useView } from "./view.js";
import { ViewBar } from "./view_bar.js";
import { conditionWords, factsOf } from "./words.js";

const HINT = "Arrow keys go from node to node.";

/** @param {{event: any, options: import("../events/words.js").Options}} props */
export function WorkflowView({ event, options }) {
  const graph = useMemo(() => begin(event).graph, [event.revision]);
  const events = useEventTitles();
  const facts = useMemo(() => factsOf(graph, { events, plugins: options.plugins }), [graph, events, options.plugins]);
  const viewing = useView(graph);
  const [isFull, setIsFull] = useState(false);
  const commands = viewCommands(viewing, { isFull, toggleFull: () => setIsFull(!isFull) });
  const { current, selected, select, key } = useLooking(graph, commands);
  return html`<div class=${isFull ? "workflow workflow-full" : "workflow workflow-seen"}>
    <div class="workflow-main">
      <${ViewBar} commands=${commands} />
      <${Canvas} graph=${graph} facts=${facts} viewing=${viewing} selected=${selected} current=${current} label="Workflow" hint=${HINT} isEditable=${false} onSelect=${select} onKeyDown=${key} />
    </div>
    <aside class="workflow-side" aria-label="Node"><${Details} graph=${graph} facts=${facts} id=${current} /></aside>
  </div>`;
}

/** @param {{graph: import("./graph.js").Graph, facts: Map<string, import("./words.js").Fact>, id: string | null}} props */
function Details({ graph, facts, id }) {
  const node = id === null ? undefined : nodeOf(graph, id);
  if (!node) return html`<h3>Nodes</h3><p class="soft">Select a node to see what it does.</p>`;
  const wires = graph.connections.filter((one) => one.source === id || one.dest === id);
  const { timing: _, ...data } = node.data;
  return html`<h3>${facts.get(node.id)?.title}</h3><p class="soft">${facts.get(node.id)?.about}</p>
    ${wires.length > 0 && html`<h4>Wires</h4><ul class="workflow-wires">${wires.map((one) => html`<li key=${one.id}>${wireWords(graph, facts, one, node.id)}</li>`)}</ul>`}
    <${Facts} rows=${Object.entries(data).map(([name, value]) => [name, typeof value === "object" ? html`<code>${JSON.stringify(value)}</code>` : String(value)])} />`;
}

/** @param {import("./graph.js").Graph} graph @param {Map<string, import("./words.js").Fact>} facts @param {import("./graph.js").Connection} wire @param {string} id */
function wireWords(graph, facts, wire, id) {
  const isOut = wire.source === id;
  const condition = conditionOf(graph, wire);
  return `${isOut ? "To" : "From"} ${facts.get(isOut ? wire.dest : wire.source)?.title ?? ""}${condition ? `, ${conditionWords(condition).toLowerCase()}` : ""}`;
}
