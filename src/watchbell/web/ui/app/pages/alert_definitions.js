/** Alert definitions: when a server has an alert, and what is done then. */

import { html } from "htm/preact";
import { url, useFetched } from "../api.js";
import { Button } from "../kit/form.js";
import { Chip } from "../kit/state.js";
import { counted } from "../words.js";
import { DefinitionPages } from "./definitions/definition_page.js";
import { sent } from "./definitions/common_fields.js";
import { itemsOf, keyed } from "./events/draft.js";
import { Failing } from "./monitors/failing.js";
import { AlertFields } from "./server_alerts/fields.js";
import { SnoozeButton } from "./server_alerts/snooze.js";

const PROPERTIES = ["enabled", "notes", "expression", "message", "samples", "groups", "monitor_id", "limit_jobs", "abort_jobs", "exclusive_actions"];

/** @type {import("./definitions/definitions.js").Kind & {path: string, rights: string, to: (id: string) => string}} */
const KIND = {
  noun: "alert definition",
  plural: "alert definitions",
  path: "alert-definitions",
  rights: "alerts",
  filter: "",
  lead: "They say when a server has an alert. Each is an expression over the samples that servers send once a minute.",
  empty: "An alert definition is an expression, such as a file system that is nearly full.",
  to: (id) => (id ? url("/alert-definitions", { id }) : "/alert-definitions?new=yes"),
  blank: { title: "", enabled: true, expression: "", message: "", samples: 1, groups: [], actions: [] },
  drafted: (record) => ({ ...record, actions: (record.actions ?? []).map(keyed) }),
  body: (draft, isNew) => ({ ...sent(draft, PROPERTIES, isNew), actions: itemsOf(draft).actions }),
  actions: html`<${Button} href="/server-alerts">Server alerts<//>`,
  notice: html`<${Failing} of="alerts" />`,
  columns: [
    { head: "Expression", cell: ({ record }) => html`<code class="notes-line">${record.expression}</code>` },
    { head: "Also", cell: ({ record }) => html`<span class="chips">${record.samples > 1 && html`<${Chip}>${record.samples} samples<//>`}${record.limit_jobs && html`<${Chip}>no new jobs<//>`}${record.abort_jobs && html`<${Chip} tone="warn">aborts jobs<//>`}${record.actions?.length > 0 && html`<${Chip}>${counted(record.actions.length, "action")}<//>`}</span>` },
  ],
  Fields: AlertFields,
};

export default function AlertDefinitions() {
  return html`<${DefinitionPages} kind=${KIND} acts=${(/** @type {{id: string, title: string}} */ record) => html`<${Acts} record=${record} />`} />`;
}

/** @param {{record: {id: string, title: string}}} props */
function Acts({ record }) {
  const snoozes = useFetched("/server-alerts/snoozes", { every: 30 });
  return html`<${Button} href=${url("/server-alerts", { definition: record.id })}>Its alerts<//>
    <${SnoozeButton} definition=${record.id} title=${record.title} snoozes=${snoozes} />`;
}
