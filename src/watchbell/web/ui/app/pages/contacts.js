/** The list of contacts with their media and links. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { url, useFetched, useList } from "../api.js";
import { useQuery } from "../location.js";
import { may } from "../session.js";
import { Button, Search } from "../kit/form.js";
import { Card, Empty, Page } from "../kit/layout.js";
import { Chip } from "../kit/state.js";
import { Listed } from "../kit/table.js";
import { Importing } from "./contact/importing.js";
import { NewContact } from "./contact/profile.js";

/**
 * @typedef {{id: string, name: string, email: string, timezone: string, tags: string[], media: Record<string, string>,
 *   rules: number, links: number, told_about: string[]}} Listing
 */

/** @param {{row: Listing}} props */
function About({ row }) {
  if (row.links === 0) return html`<span class="soft">nothing yet</span>`;
  const named = row.told_about.slice(0, 3);
  const more = row.links - named.length;
  return html`${named.join(", ")}${more > 0 && html` <span class="soft">and ${more} more</span>`}`;
}

/** @type {import("../kit/table.js").Column<Listing>[]} */
const COLUMNS = [
  {
    head: "Name",
    kind: "main",
    cell: (row) => html`<div><a href=${url("/contact", { id: row.id })}>${row.name || row.id}</a>
      ${row.id !== row.name && html`<div class="soft contact-id">${row.id}</div>`}</div>`,
  },
  {
    head: "Media",
    cell: (row) =>
      Object.keys(row.media).length === 0
        ? html`<${Chip} tone="warn">no media<//>`
        : html`<div class="contact-chips">${Object.entries(row.media).map(([name, address]) => html`<${Chip} title=${address}>${name}<//>`)}</div>`,
  },
  { head: "Alerts for", cell: (row) => html`<div><${About} row=${row} /></div>` },
  { head: "Tags", hide: "phone", cell: (row) => html`<div class="contact-chips">${row.tags.map((tag) => html`<${Chip} tone="soft" href=${url("/contacts", { tag })}>${tag}<//>`)}</div>` },
  { head: "Rules", kind: "number", cell: (row) => row.rules || html`<span class="soft" title="Critical and warning alerts by all media">default</span>` },
];

export default function Contacts() {
  const [query, setQuery] = useQuery();
  const [isNew, setIsNew] = useState(false);
  const [isImport, setIsImport] = useState(false);
  const text = query.get("text") ?? "";
  const tag = query.get("tag") ?? "";
  const medium = query.get("medium") ?? "";
  const list = useList(url("/contacts", { text, tag, medium }));
  const media = useFetched("/contacts/media");
  const isFiltered = Boolean(text || tag || medium);
  const names = (media.value ?? []).map((/** @type {{medium: string}} */ one) => one.medium);
  return html`<${Page} title="Contacts" lead="People and groups that get alerts."
    actions=${html`
      <${Button} href="/api/v1/contacts/export" download="contacts.json">Export<//>
      ${may("write") && html`<${Button} onClick=${() => setIsImport(true)}>Import<//>
      <${Button} kind="main" onClick=${() => setIsNew(true)}>New contact<//>`}`}>
    <div class="bar-of">
      <${Search} value=${text} onSearch=${(/** @type {string} */ value) => setQuery({ text: value })} placeholder="Filter by name, address or tag" />
      <select aria-label="Medium" value=${medium} onChange=${(/** @type {any} */ event) => setQuery({ medium: event.currentTarget.value })}>
        <option value="">Any medium</option>
        ${names.map((/** @type {string} */ name) => html`<option value=${name} selected=${name === medium}>${name}</option>`)}
      </select>
      ${tag && html`<${Button} small onClick=${() => setQuery({ tag: null })} label=${`Remove the filter: tag ${tag}`}>tag ${tag} ✕<//>`}
    </div>
    <div class="contact-list"><${Card} flush><${Listed} list=${list} columns=${COLUMNS} id=${(/** @type {Listing} */ row) => row.id} label="Contacts"
      to=${(/** @type {Listing} */ row) => url("/contact", { id: row.id })}
      empty=${isFiltered
        ? html`<${Empty} title="No contacts match these filters." action=${html`<${Button} onClick=${() => setQuery({ text: null, tag: null, medium: null })}>Clear filters<//>`} />`
        : html`<${Empty} title="No contacts yet." action=${may("write") && html`<${Button} kind="main" onClick=${() => setIsNew(true)}>New contact<//>`}>
            <p>A contact is a person or a group. Link it to entities or checks, and it gets alerts when they fail.</p><//>`} /><//></div>
    ${isNew && html`<${NewContact} onClose=${() => setIsNew(false)} />`}
    ${isImport && html`<${Importing} what="contacts" onClose=${() => setIsImport(false)} onDone=${list.reload} />`}
  <//>`;
}
