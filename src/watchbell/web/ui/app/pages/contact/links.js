/** What a contact gets alerts for: entities, single checks, or everything. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { post, remove, url, useFetched, useList } from "../../api.js";
import { may } from "../../session.js";
import { Dialog } from "../../kit/dialog.js";
import { Button, Choice, Field, Form } from "../../kit/form.js";
import { Card, Empty, Failed, Loading } from "../../kit/layout.js";
import { attempt, showToast } from "../../kit/toast.js";
import { nameOf } from "./shapes.js";

/**
 * @typedef {import("./shapes.js").Contact} Contact
 * @typedef {{entity: string, check: string | null}} Link
 */

/** @param {Link} link */
function words(link) {
  if (link.entity === "ALL") return "everything";
  return link.check === null ? link.entity : `${link.entity}:${link.check}`;
}

/** @param {Link} link */
function place(link) {
  if (link.entity === "ALL") return "/checks";
  return link.check === null ? url("/checks", { entity: link.entity }) : url("/check", { id: words(link) });
}

/** @param {{contact: Contact}} props */
export function Links({ contact }) {
  const [isOpen, setIsOpen] = useState(false);
  const list = useList(url("/contact/links", { id: contact.id }));
  const drop = async (/** @type {Link} */ link) => {
    const path = url("/contact/links", { id: contact.id, entity: link.entity, check: link.check });
    const undo = async () => {
      await attempt(() => post(url("/contact/links", { id: contact.id }), link), `Link to ${words(link)} restored.`);
      list.reload();
    };
    const done = await attempt(async () => (await remove(path)) ?? true);
    if (done) showToast(`Link to ${words(link)} removed.`, { action: { words: "Undo", act: undo } });
    list.reload();
  };
  return html`<${Card} title="Alerts for" actions=${may("write") && html`<${Button} small onClick=${() => setIsOpen(true)}>Add<//>`}>
    ${list.problem && html`<${Failed} problem=${list.problem} retry=${list.reload} />`}
    ${list.items.length === 0 && list.isLoading && html`<${Loading} lines=${2} />`}
    ${list.items.length === 0 && !list.isLoading && !list.problem &&
    html`<${Empty} title="No links yet."><p>Link ${nameOf(contact)} to entities, checks, or everything. Rules decide when and how alerts are sent.</p><//>`}
    <ul class="contact-links">
      ${list.items.map((/** @type {Link} */ link) => html`<li key=${words(link)}><a href=${place(link)}>${words(link)}</a>
        ${may("write") && html`<button type="button" aria-label=${`Remove link to ${words(link)}`} title="Remove link" onClick=${() => drop(link)}>✕</button>`}</li>`)}
    </ul>
    ${list.hasMore && html`<${Button} small onClick=${list.more} busy=${list.isLoading}>Load more<//>`}
    ${isOpen && html`<${Add} contact=${contact} onClose=${() => setIsOpen(false)} onDone=${list.reload} />`}
  <//>`;
}

/** @param {{contact: Contact, onClose: () => void, onDone: () => void}} props */
function Add({ contact, onClose, onDone }) {
  const [kind, setKind] = useState("entity");
  const [entity, setEntity] = useState("");
  const [check, setCheck] = useState("");
  const near = useFetched(kind === "all" ? null : url("/entities", { text: entity, limit: 20 }));
  const names = (near.value?.items ?? []).map((/** @type {{name: string}} */ one) => one.name).filter((/** @type {string} */ name) => name !== "ALL");
  const save = async () => {
    const link = { entity: kind === "all" ? "ALL" : entity, check: kind === "check" ? check : null };
    const made = await post(url("/contact/links", { id: contact.id }), link);
    showToast(`${contact.first_name} gets alerts for ${made.words}.${made.is_new ? " It has not reported yet." : ""}`);
    onDone();
    onClose();
  };
  const isReady = kind === "all" || (entity.trim() && (kind === "entity" || check.trim()));
  return html`<${Dialog} title=${`Add alerts for ${contact.first_name}`} onClose=${onClose}>
    <${Form} onSubmit=${save} submit="Add" cancel=${onClose} disabled=${!isReady}>
      <${Choice} label="Alerts for" value=${kind} onChange=${setKind} options=${[["entity", "Entity"], ["check", "Check"], ["all", "Everything"]]} />
      ${kind === "all" && html`<p>${contact.first_name} gets alerts for all current and future entities.</p>`}
      ${kind !== "all" && html`<${Field} label="Entity" name="entity" value=${entity} onInput=${setEntity} list=${names} autofocus placeholder="web-1.example.com" />`}
      ${kind === "check" && html`<${Field} label="Check" name="check" value=${check} onInput=${setCheck} placeholder="HTTP" />`}
    <//>
  <//>`;
}
