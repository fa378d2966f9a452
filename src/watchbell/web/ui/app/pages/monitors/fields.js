/** The form of a monitor, which shows what the monitor measures on a server now. */

import { html } from "htm/preact";
import { may } from "../../session.js";
import { NumberField } from "../../kit/amounts.js";
import { Field, Toggle } from "../../kit/form.js";
import { NotesField, TitleFields } from "../definitions/common_fields.js";
import { ExpressionField, ServerField, useServer, useTrial } from "../expressions/trial.js";
import { GroupField } from "./group_field.js";
import { valued } from "./words.js";

/** @typedef {import("../definitions/definitions.js").Change} Change */

/** @type {[string, string][]} */
const TYPES = [["float", "Number"], ["integer", "Whole number"], ["bytes", "Bytes"], ["seconds", "Seconds"], ["milliseconds", "Milliseconds"]];

/** @param {{draft: any, change: Change, isNew: boolean}} props */
export function MonitorFields({ draft, change, isNew }) {
  const on = useServer();
  const text = (/** @type {string} */ label, /** @type {string} */ name, /** @type {Record<string, any>} */ more = {}) =>
    html`<${Field} label=${label} name=${name} value=${draft[name] ?? ""} onInput=${(/** @type {string} */ value) => change({ [name]: value })} ...${more} />`;
  const number = (/** @type {string} */ label, /** @type {string} */ name, /** @type {string} */ hint) =>
    html`<${NumberField} label=${label} name=${name} value=${draft[name] ?? ""} onInput=${(/** @type {any} */ value) => change({ [name]: value })} hint=${hint} />`;
  const toggle = (/** @type {string} */ label, /** @type {string} */ name, /** @type {string} */ hint, isUsual = false) =>
    html`<${Toggle} label=${label} checked=${draft[name] ?? isUsual} onChange=${(/** @type {boolean} */ to) => change({ [name]: to })} hint=${hint} />`;
  return html`<${TitleFields} draft=${draft} change=${change} isNew=${isNew} placeholder="Memory in use" />
    <div class="trial"><${ServerField} on=${on} hint="What you write is evaluated on its last sample." /></div>
    <${ExpressionField} label="Source" name="source" value=${draft.source ?? ""} server=${on.server} onInput=${(/** @type {string} */ source) => change({ source })}
      placeholder="memory.used" hint=${html`An expression over the sample. <a href="/expressions">How to write expressions</a>`} />
    <div class="form-row">
      ${text("Part of a text", "data_match", { mono: true, spellcheck: false, placeholder: "(\\d+)", hint: "For a source that gives a text: a regular expression (RE2). Its first group is the number." })}
      ${text("Type", "data_type", { value: draft.data_type ?? "float", options: TYPES })}
      ${text("Unit", "suffix", { placeholder: "%", hint: "Shown after the value." })}
    </div>
    <${Outcome} draft=${draft} server=${on.server} />
    ${toggle("Counter", "delta", "The source counts up: measure by how much it has grown since the sample before.")}
    ${draft.delta && html`${toggle("Per second", "divide_by_delta", "Divide that by the seconds between the two samples.")}
      <div class="trial">${number("Least difference", "delta_min_value", "Smaller differences count as this. Leave it empty for none.")}</div>`}
    <${GroupField} chosen=${draft.groups ?? []} onChange=${(/** @type {string[]} */ groups) => change({ groups })} none="None selected: of all servers." some="Only of servers of these groups." />
    ${toggle("Show it on the pages of servers", "display", "Its values are kept anyway.", true)}
    <div class="form-row">${number("Top of the plot", "min_vert_scale", "At least, such as 100 for percent.")}${number("Place in lists", "sort_order", "The lowest comes first.")}</div>
    <${NotesField} draft=${draft} change=${change} />`;
}

/** The number that the monitor gives now. @param {{draft: any, server: string}} props */
function Outcome({ draft, server }) {
  const { source = "", data_match = "", data_type = "float" } = draft;
  const { value: tried, problem } = /** @type {{value: {value: number | null} | null, problem: import("../../api.js").Problem | null}} */ (
    useTrial("/monitors/test", may("edit_monitors") && server !== "" && source.trim() !== "" ? { server, source, data_match, data_type } : null)
  );
  const wrong = problem?.of("data_match");
  if (wrong) return html`<output class="trial-outcome"><span class="bad">Part of a text: ${wrong}</span></output>`;
  if (problem) return html`<output class="trial-outcome"><span class="bad">${problem.message}</span></output>`;
  if (!tried) return null;
  if (tried.value === null) return html`<output class="trial-outcome">The sample has no number for this: there will be a gap.</output>`;
  return html`<output class="trial-outcome"><span>Measures <strong>${valued({ ...draft, ...(draft.delta ? { suffix: "" } : {}) })(tried.value)}</strong>${draft.delta && ", which is how far the counter has counted"}.</span></output>`;
}
