/** The form of an event, with a preview of its next runs. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { Errors, Field, Form, Toggle } from "../../kit/form.js";
import { Card } from "../../kit/layout.js";
import { Tokens } from "../../kit/tokens.js";
import { useUnsaved } from "../../kit/unsaved.js";
import { usePreview } from "../../runs/preview.js";
import { Actions } from "./actions.js";
import { defined, drafted, itemsOf } from "./draft.js";
import { Limits } from "./limits.js";
import { ParamFields } from "./params.js";
import { Previewing } from "./preview.js";
import { Timings } from "./timings.js";
import { Where } from "./where.js";
import { listed } from "./words.js";

/** @typedef {import("./draft.js").Draft} Draft */
/** @typedef {import("./draft.js").Item} Item */
/** @type {{field: string, reason: string}[]} */
const NONE = [];

/**
 * @param {{event: any, isNew: boolean, options: import("./words.js").Options, onSave: (body: any) => Promise<any>, cancel?: () => void, extra?: any}} props
 *   `event`: what the form begins with
 */
export function Editor({ event, isNew, options, onSave, cancel, extra }) {
  const [draft, setDraft] = useState(() => drafted(event));
  const change = (/** @type {Partial<Draft>} */ changes) => setDraft((old) => ({ ...old, ...changes }));
  const timings = useMemo(() => itemsOf({ timings: draft.timings }).timings, [draft.timings]);
  const preview = /** @type {import("../../runs/preview.js").Preview<import("./preview.js").Previewed>} */ (usePreview("/events/preview", { timings }));
  const shown = html`<${Previewing} preview=${preview} />`;
  const body = useMemo(() => defined(draft), [draft]);
  useUnsaved(body);
  const parts = { draft, change, options };
  return html`<div class="editor">
    <${Form} onSubmit=${() => onSave(body)} submit=${isNew ? "Create event" : "Save"} cancel=${cancel} extra=${extra}>
      <${Errors} errors=${preview.value?.errors ?? NONE}>
        <${Basics} ...${parts} first=${event?.params ? { plugin: event.plugin, params: event.params } : null} isNew=${isNew} />
        <${Where} ...${parts} />
        <${Timings} ...${parts} preview=${shown} />
        <${Limits} limits=${draft.limits} tags=${options.tags} onChange=${(/** @type {Item[]} */ limits) => change({ limits })} />
        <${Actions} actions=${draft.actions} options=${options} onChange=${(/** @type {Item[]} */ actions) => change({ actions })} />
      <//>
    <//>
    <aside class="editor-aside"><${Card} title="Next runs">${shown}<//></aside>
  </div>`;
}

/** @param {import("./draft.js").Parts & {first: {plugin: string, params: any} | null, isNew: boolean}} props `first`: what was stored */
function Basics({ draft, change, options, first, isNew }) {
  const plugin = options.plugins.find((one) => one.id === draft.plugin);
  const select = (/** @type {string} */ id) => change({ plugin: id, params: id === first?.plugin ? first.params : {} });
  return html`<${Card} title="Event"><div class="stack">
      <${Field} label="Title" name="title" value=${draft.title} onInput=${(/** @type {string} */ title) => change({ title })} placeholder="Nightly backup" ...${isNew ? { autofocus: true } : {}} />
      <div class="form-row">
        <${Field} label="Category" name="category" value=${draft.category} options=${listed(options.categories, draft.category)} onInput=${(/** @type {string} */ category) => change({ category })} />
        <${Field} label="Plugin" name="plugin" value=${draft.plugin} options=${listed(options.plugins, draft.plugin)} onInput=${select} hint=${plugin?.notes} />
      </div>
      <${Tokens} label="Tags" words=${draft.tags} list=${options.tags.map((one) => one.id)} onChange=${(/** @type {string[]} */ tags) => change({ tags })} hint="Its jobs have them, too. Separate tags with Enter or a comma." />
      <${Field} label="Notes" name="notes" rows=${2} value=${draft.notes} onInput=${(/** @type {string} */ notes) => change({ notes })} placeholder="What it is for, and whom to ask" />
      <${Toggle} label="Enabled" checked=${draft.enabled} onChange=${(/** @type {boolean} */ enabled) => change({ enabled })} hint="A disabled event starts no jobs." />
    </div><//>
    <${Card} title=${plugin ? plugin.title : "Parameters"}>
      <${ParamFields} key=${draft.plugin} params=${plugin?.params ?? []} values=${draft.params} onChange=${(/** @type {Record<string, any>} */ params) => change({ params })} />
    <//>`;
}
