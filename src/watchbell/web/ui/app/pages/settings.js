/** The server's settings: value, meaning and origin. */

import { html } from "htm/preact";
import { useFetched } from "../api.js";
import { useQuery } from "../location.js";
import { Choice, Search } from "../kit/form.js";
import { Card, Empty, Fetched, Page } from "../kit/layout.js";
import { withCode } from "../kit/text.js";
import { Table } from "../kit/table.js";

/**
 * @typedef {string | number | boolean} Value
 * @typedef {{name: string, value: Value, default: Value | null, is_default: boolean, origin: string, words: string}} Setting
 */

/** @param {{value: Value}} props */
function Shown({ value }) {
  if (value === "") return html`<span class="soft">empty</span>`;
  return html`<span class="mono">${String(value)}</span>`;
}

/** @param {{one: Setting}} props */
function Origin({ one }) {
  const isChanged = one.origin === "" ? !one.is_default : one.origin !== "default";
  if (!isChanged) return html`<span class="soft">default</span>`;
  return html`<div>${one.origin || "changed"}
    ${one.default !== null && html`<div class="soft plain">${one.is_default ? "same as the default" : html`default: ${one.default === "" ? "empty" : html`<span class="mono">${String(one.default)}</span>`}`}</div>`}</div>`;
}

/** @type {import("../kit/table.js").Column<Setting>[]} */
const COLUMNS = [
  { head: "Setting", kind: "main", cell: (one) => html`<div><span class="mono">${one.name}</span>${one.words && html`<div class="soft plain">${withCode(one.words)}</div>`}</div>` },
  { head: "Value", cell: (one) => html`<${Shown} value=${one.value} />` },
  { head: "From", cell: (one) => html`<${Origin} one=${one} />` },
];

/** @param {Setting[]} all @returns {[part: string, settings: Setting[]][]} grouped by the name before the last dot, in order */
function parts(all) {
  /** @type {Map<string, Setting[]>} */
  const found = new Map();
  for (const one of all) {
    const part = one.name.includes(".") ? one.name.slice(0, one.name.lastIndexOf(".")) : "Watchbell";
    found.set(part, [...(found.get(part) ?? []), one]);
  }
  return [...found];
}

export default function Settings() {
  const [query, setQuery] = useQuery();
  const all = useFetched("/system/settings");
  const text = (query.get("text") ?? "").toLowerCase();
  const isChanged = query.get("from") === "changed";
  const fits = (/** @type {Setting} */ one) =>
    (!isChanged || !one.is_default) && `${one.name} ${one.value} ${one.origin} ${one.words}`.toLowerCase().includes(text);
  return html`<${Page} title="Settings" lead=${html`Settings of the process that serves this page. Options override <code>WATCHBELL_…</code> variables, which override the settings file.`}>
    <div class="bar-of">
      <${Search} value=${query.get("text") ?? ""} onSearch=${(/** @type {string} */ value) => setQuery({ text: value })} />
      <${Choice} label="Filter by origin" value=${isChanged ? "changed" : ""} options=${[["", "All"], ["changed", "Changed"]]} onChange=${(/** @type {string} */ from) => setQuery({ from })} />
    </div>
    <${Fetched} of=${all} lines=${8}>${(/** @type {Setting[]} */ settings) => {
      const found = settings.filter(fits);
      if (found.length === 0) return html`<${Card}><${Empty} title=${isChanged && !text ? "All settings have their default values." : "No settings match these filters."} /><//>`;
      return parts(found).map(([part, some]) => html`<${Card} key=${part} flush title=${part}>
        <div class="settings"><${Table} columns=${COLUMNS} rows=${some} id=${(/** @type {Setting} */ one) => one.name} label=${`Settings: ${part}`} /></div><//>`);
    }}<//>
  <//>`;
}
