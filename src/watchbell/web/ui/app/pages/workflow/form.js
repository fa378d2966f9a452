/** The form of a workflow: the graph, and what it shares with other events. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { Problem } from "../../api.js";
import { Errors, Field, Form, Toggle } from "../../kit/form.js";
import { Card } from "../../kit/layout.js";
import { Tokens } from "../../kit/tokens.js";
import { useUnsaved } from "../../kit/unsaved.js";
import { usePreview } from "../../runs/preview.js";
import { Actions } from "../events/actions.js";
import { drafted, itemsOf } from "../events/draft.js";
import { Limits } from "../events/limits.js";
import { Previewing } from "../events/preview.js";
import { Modifiers } from "../events/timings.js";
import { Where } from "../events/where.js";
import { listed } from "../events/words.js";
import { begin, define, nodeOfField } from "./draft.js";
import { GraphEditor } from "./graph_editor.js";
import { useEventTitles } from "./titles.js";
import { useEditor } from "./use_editor.js";
import { factsOf } from "./words.js";

/**
 * @typedef {import("../events/draft.js").Draft} Draft
 * @typedef {import("../events/draft.js").Item} Item
 */

/**
 * @param {{event: any, isNew: boolean, options: import("../events/words.js").Options, onSave: (body: any) => Promise<any>, cancel?: () => void, extra?: any}} props
 *   `event`: what the form begins with
 */
export function WorkflowForm({ event, isNew, options, onSave, cancel, extra }) {
  const first = useMemo(() => begin(event), []);
  const [draft, setDraft] = useState(() => drafted(event));
  const [modifiers, setModifiers] = useState(first.modifiers);
  const editing = useEditor(first.graph);
  const { graph } = editing;
  const events = useEventTitles();
  const facts = useMemo(() => factsOf(graph, { events, plugins: options.plugins }), [graph, events, options.plugins]);
  const defined = useMemo(() => define(graph, modifiers), [graph, modifiers]);
  const check = usePreview("/events/check", { id: event?.id ?? "", ...withoutPlaces(defined) });
  const preview = /** @type {import("../../runs/preview.js").Preview<import("../events/preview.js").Previewed>} */ (usePreview("/events/preview", { timings: defined.timings }));
  const problems = useMemo(() => readable(check.value?.problems ?? [], graph, modifiers.length, facts), [check.value, graph, modifiers, facts]);
  const change = (/** @type {Partial<Draft>} */ changes) => setDraft((old) => ({ ...old, ...changes }));
  const body = useMemo(() => ({ ...shared(draft), type: "workflow", ...defined }), [draft, defined]);
  useUnsaved(body);
  const save = async () => {
    try {
      await onSave(body);
    } catch (error) {
      const node = error instanceof Problem && nodeOfField(error.errors[0]?.field ?? "", graph, modifiers.length);
      if (node) editing.select([node.id], node.id);
      throw error;
    }
  };
  return html`<div class="editor editor-one">
    <${Form} onSubmit=${save} submit=${isNew ? "Create workflow" : "Save"} cancel=${cancel} extra=${extra}>
      <${Errors} errors=${problems}>
        <${About} draft=${draft} change=${change} options=${options} isNew=${isNew} />
        <${Card} title="Graph">
          <${GraphEditor} editing=${editing} facts=${facts} problems=${problems} modifiers=${modifiers.length} options=${options} events=${events} />
        <//>
        <div class="columns">
          <${Card} title="Next runs"><${Previewing} preview=${preview} /><//>
          <${Card} title="Conditions of its triggers"><${Modifiers} timings=${modifiers} onChange=${setModifiers} options=${options} /><//>
        </div>
        <${Where} draft=${draft} change=${change} options=${options} />
        <${Limits} limits=${draft.limits} tags=${options.tags} onChange=${(/** @type {Item[]} */ limits) => change({ limits })} />
        <${Actions} actions=${draft.actions} options=${options} onChange=${(/** @type {Item[]} */ actions) => change({ actions })} />
      <//>
    <//>
  </div>`;
}

/** What a workflow has like any event. @param {Draft} draft */
function shared({ title, enabled, icon, category, tags, targets, algo, notes, limits, actions }) {
  return { title: title.trim(), enabled, icon, category, tags, targets, algo, notes, ...itemsOf({ limits, actions }) };
}

/** @param {import("../events/draft.js").Parts & {isNew: boolean}} props */
function About({ draft, change, options, isNew }) {
  return html`<${Card}><div class="stack">
    <div class="form-row">
      <${Field} label="Title" name="title" value=${draft.title} onInput=${(/** @type {string} */ title) => change({ title })} placeholder="Nightly release" ...${isNew ? { autofocus: true } : {}} />
      <${Field} label="Category" name="category" value=${draft.category} options=${listed(options.categories, draft.category)} onInput=${(/** @type {string} */ category) => change({ category })} />
    </div>
    <details open=${Boolean(draft.tags.length || draft.notes)}><summary>Tags and notes</summary><div class="stack">
      <${Tokens} label="Tags" words=${draft.tags} list=${options.tags.map((one) => one.id)} onChange=${(/** @type {string[]} */ tags) => change({ tags })} hint="Separate tags with Enter or a comma." />
      <${Field} label="Notes" name="notes" rows=${2} value=${draft.notes} onInput=${(/** @type {string} */ notes) => change({ notes })} placeholder="What it is for, and whom to ask" />
    </div></details>
    <${Toggle} label="Enabled" checked=${draft.enabled} onChange=${(/** @type {boolean} */ enabled) => change({ enabled })} hint="A disabled workflow does not start." />
  </div><//>`;
}

/** Moving a node changes nothing that could be wrong. @param {ReturnType<typeof define>} defined */
function withoutPlaces({ timings, workflow }) {
  return { timings, workflow: { ...workflow, nodes: workflow.nodes.map(({ x: _, y: __, ...node }) => node) } };
}

/**
 * Problems with the titles of nodes in place of their ids, and the nodes of timings.
 * @param {import("./panel.js").Problem[]} problems @param {import("./graph.js").Graph} graph @param {number} modifiers @param {Map<string, import("./words.js").Fact>} facts
 */
function readable(problems, graph, modifiers, facts) {
  return problems.map((one) => ({
    ...one,
    node: one.node || (nodeOfField(one.field, graph, modifiers)?.id ?? ""),
    reason: one.reason.replaceAll(/'(\w+)'/g, (whole, id) => (facts.has(id) ? `“${facts.get(id)?.title}”` : whole)),
  }));
}
