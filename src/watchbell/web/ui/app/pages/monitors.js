/** Monitors: what is measured of servers, each on one plot for several servers. */

import { html } from "htm/preact";
import { url } from "../api.js";
import { Chip } from "../kit/state.js";
import { DefinitionPages } from "./definitions/definition_page.js";
import { sent } from "./definitions/common_fields.js";
import { Compare } from "./monitors/compare.js";
import { Failing } from "./monitors/failing.js";
import { MonitorFields } from "./monitors/fields.js";

const PROPERTIES = ["notes", "source", "data_match", "data_type", "suffix", "groups", "display", "min_vert_scale", "delta", "divide_by_delta", "sort_order"];

/** @type {Record<string, string>} */
const TYPES = { integer: "whole number", bytes: "bytes", seconds: "seconds", milliseconds: "milliseconds" };
/** As `bytes` or `number, %`. @param {{data_type?: string, suffix?: string}} record */
const typeWords = ({ data_type = "", suffix = "" }) => [TYPES[data_type] ?? "number", suffix].filter(Boolean).join(", ");

/** @type {import("./definitions/definitions.js").Kind & {path: string, rights: string, to: (id: string) => string}} */
const KIND = {
  noun: "monitor",
  plural: "monitors",
  path: "monitors",
  rights: "monitors",
  filter: "",
  lead: "What is measured of servers. Each is an expression over the samples that they send once a minute, and its values are kept for a year.",
  empty: "A monitor is an expression, such as the memory in use.",
  to: (id) => (id ? url("/monitors", { id }) : "/monitors?new=yes"),
  blank: { title: "", source: "", data_type: "float", display: true, groups: [] },
  body: (draft, isNew) => ({ ...sent(draft, PROPERTIES, isNew), ...("delta_min_value" in draft ? { delta_min_value: draft.delta_min_value ?? null } : {}) }),
  notice: html`<${Failing} of="monitors" />`,
  columns: [
    { head: "Source", cell: ({ record }) => html`<code class="notes-line">${record.source}</code>` },
    { head: "Kind", kind: "tight", cell: ({ record }) => html`<span class="chips"><${Chip}>${typeWords(/** @type {any} */ (record))}<//>${record.delta && html` <${Chip}>${record.divide_by_delta ? "per second" : "difference"}<//>`}${record.display === false && html` <${Chip} tone="soft">hidden<//>`}</span>` },
    { head: "Servers", kind: "tight", cell: ({ record }) => html`<a href=${url("/monitors", { id: record.id, tab: "compare" })}>Plot</a>` },
  ],
  Fields: MonitorFields,
};

export default function Monitors() {
  return html`<${DefinitionPages} kind=${KIND} parts=${[["compare", "Servers", (/** @type {import("./monitors/words.js").Monitor} */ record) => html`<${Compare} monitor=${record} />`]]} />`;
}
