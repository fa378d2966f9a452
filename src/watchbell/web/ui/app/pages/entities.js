/** Entities with their tags and contacts. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { ask, post, remove, url, useList } from "../api.js";
import { useQuery } from "../location.js";
import { may } from "../session.js";
import { confirm, Dialog } from "../kit/dialog.js";
import { Button, Choice, Field, Form, Search } from "../kit/form.js";
import { Card, Empty, Page } from "../kit/layout.js";
import { Chip } from "../kit/state.js";
import { Listed } from "../kit/table.js";
import { showToast } from "../kit/toast.js";
import { Importing } from "./contact/importing.js";
import { Tokens } from "../kit/tokens.js";

/**
 * @typedef {{name: string, id: string, tags: string[], contacts: string[], check_contacts: Record<string, string[]>,
 *   checks: number, failing: number, version: string}} Entity
 */

const DELETE_ALL = {
  title: "Delete links to all entities?",
  words: html`<p>Contacts that get alerts for all entities no longer get them. Entities, checks and other links stay.</p>`,
  yes: "Delete links",
};

/** @param {{row: Entity}} props */
function LinkedContacts({ row }) {
  const single = Object.entries(row.check_contacts);
  if (row.contacts.length === 0 && single.length === 0) return html`<span class="soft">–</span>`;
  return html`<div class="contact-chips">${row.contacts.map((id) => html`<${Chip} href=${url("/contact", { id })}>${id}<//>`)}
    ${single.map(([check, ids]) => html`<div class="soft">${check}: ${ids.map((id) => html`<${Chip} tone="soft" href=${url("/contact", { id })}>${id}<//>`)}</div>`)}</div>`;
}

export default function Entities() {
  const [query, setQuery] = useQuery();
  const [open, setOpen] = useState(/** @type {Entity | "new" | null} */ (null));
  const [isImport, setIsImport] = useState(false);
  const text = query.get("text") ?? "";
  const tag = query.get("tag") ?? "";
  const contact = query.get("contact") ?? "";
  const isFailing = query.get("failing") === "true";
  const list = useList(url("/entities", { text, tag, contact, failing: isFailing }));
  const isFiltered = Boolean(text || tag || contact || isFailing);
  const drop = (/** @type {Entity} */ row) =>
    confirm({
      ...(row.id === "ALL" ? DELETE_ALL : { title: `Delete ${row.name}?`, words: html`<p>Its tags and links to contacts are deleted. Its checks stay, and the next report creates the entity again.</p>`, yes: "Delete entity" }),
      act: async () => {
        await remove(url("/entity", { name: row.name }));
        showToast(row.id === "ALL" ? "Links to all entities deleted." : `${row.name} deleted.`);
        list.reload();
      },
    });
  /** @type {import("../kit/table.js").Column<Entity>[]} */
  const columns = [
    {
      head: "Entity",
      kind: "main",
      cell: (row) => (row.id === "ALL" ? html`<strong>All entities</strong>` : html`<a href=${url("/checks", { entity: row.name })}>${row.name}</a>`),
    },
    {
      head: "Tags",
      cell: (row) =>
        row.tags.length === 0
          ? html`<span class="soft">–</span>`
          : html`<div class="contact-chips">${row.tags.map((one) => html`<${Chip} tone="soft" href=${url("/entities", { tag: one })}>${one}<//>`)}</div>`,
    },
    { head: "Contacts", cell: (row) => html`<${LinkedContacts} row=${row} />` },
    { head: "Checks", kind: "number", cell: (row) => (row.id === "ALL" ? "" : row.checks.toLocaleString("en")) },
    {
      head: "Failing",
      kind: "number",
      cell: (row) => (row.failing > 0 ? html`<a class="bad" href=${url("/checks", { entity: row.name, state: ["critical", "warning", "unknown"] })}>${row.failing.toLocaleString("en")}</a>` : html`<span class="soft">–</span>`),
    },
    ...(may("write")
      ? [
          /** @type {import("../kit/table.js").Column<Entity>} */ ({
            head: "",
            kind: "actions",
            cell: (row) => html`<div class="actions"><${Button} small kind="quiet" label=${`Edit ${row.name}`} onClick=${() => setOpen(row)}>Edit<//>
              <${Button} small kind="quiet" label=${`Delete ${row.name}`} onClick=${() => drop(row)}>Delete<//></div>`,
          }),
        ]
      : []),
  ];
  return html`<${Page} title="Entities" lead="Hosts and services that report checks. Entities are created with their first report; add tags and contacts here."
    actions=${html`<${Button} href="/api/v1/entities/export" download="entities.json">Export<//>
      ${may("write") && html`<${Button} onClick=${() => setIsImport(true)}>Import<//>
      <${Button} kind="main" onClick=${() => setOpen("new")}>New entity<//>`}`}>
    <div class="bar-of">
      <${Search} value=${text} onSearch=${(/** @type {string} */ value) => setQuery({ text: value })} placeholder="Filter by name or tag" />
      <${Choice} label="Filter by state" value=${isFailing ? "true" : ""} options=${[["", "All"], ["true", "Failing"]]} onChange=${(/** @type {string} */ to) => setQuery({ failing: to })} />
      ${tag && html`<${Button} small onClick=${() => setQuery({ tag: null })} label=${`Remove the filter: tag ${tag}`}>tag ${tag} ✕<//>`}
      ${contact && html`<${Button} small onClick=${() => setQuery({ contact: null })} label=${`Remove the filter: contact ${contact}`}>contact ${contact} ✕<//>`}
    </div>
    <div class="contact-list medium-list"><${Card} flush><${Listed} list=${list} columns=${columns} id=${(/** @type {Entity} */ row) => row.id} label="Entities"
      empty=${isFiltered
        ? html`<${Empty} title="No entities match these filters." action=${html`<${Button} onClick=${() => setQuery({ text: null, tag: null, contact: null, failing: null })}>Clear filters<//>`} />`
        : html`<${Empty} title="No entities yet."><p>An entity appears here with its first report. Try <code>watchbell simulate fail web-1 HTTP</code>.</p><//>`} /><//></div>
    ${open !== null && html`<${Edit} entity=${open === "new" ? null : open} onClose=${() => setOpen(null)} onDone=${list.reload} />`}
    ${isImport && html`<${Importing} what="entities" onClose=${() => setIsImport(false)} onDone=${list.reload} />`}
  <//>`;
}

/** @param {{entity: Entity | null, onClose: () => void, onDone: () => void}} props */
function Edit({ entity, onClose, onDone }) {
  const [name, setName] = useState(entity?.name ?? "");
  const [tags, setTags] = useState(entity?.tags ?? []);
  const [contacts, setContacts] = useState(entity?.contacts ?? []);
  const isAll = entity?.id === "ALL";
  const save = async () => {
    const body = { name, tags, contacts };
    if (entity) await ask("PUT", url("/entity", { name: entity.name }), body, { headers: { "if-match": `"${entity.version}"` } });
    else await post("/entities", body);
    showToast("Saved.");
    onDone();
    onClose();
  };
  return html`<${Dialog} title=${entity ? `Edit ${isAll ? "all entities" : entity.name}` : "New entity"} onClose=${onClose}>
    <${Form} onSubmit=${save} cancel=${onClose} disabled=${!name.trim()}>
      ${!isAll && html`<${Field} label="Name" name="name" value=${name} onInput=${setName}
        hint=${entity ? "A renamed entity keeps its id, tags and contacts. Past reports stay under the old name." : "As in the reports"} />
      <${Tokens} label="Tags" words=${tags} onChange=${setTags} hint="Separate tags with Enter or a comma" />`}
      <${Tokens} label="Contacts" words=${contacts} onChange=${setContacts} hint=${isAll ? "Ids of contacts that get alerts for all entities" : "Ids of contacts that get alerts for all its checks"} />
    <//>
  <//>`;
}
