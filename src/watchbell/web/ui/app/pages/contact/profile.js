/** The profile of a contact: create, show, edit, delete. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { post, remove, url } from "../../api.js";
import { go } from "../../location.js";
import { may } from "../../session.js";
import { confirm, Dialog } from "../../kit/dialog.js";
import { Button, Field, Form } from "../../kit/form.js";
import { Card, Facts } from "../../kit/layout.js";
import { Chip } from "../../kit/state.js";
import { showToast } from "../../kit/toast.js";
import { zone } from "../../times.js";
import { changed, nameOf } from "./shapes.js";
import { Tokens } from "../../kit/tokens.js";

/** @typedef {import("./shapes.js").Contact} Contact */

/** @returns {string[]} */
function zones() {
  return ["UTC", ...Intl.supportedValuesOf("timeZone")];
}

/** An id derived from a name. @param {string} name */
function idOf(name) {
  return name.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
}

/** @param {{onClose: () => void}} props */
export function NewContact({ onClose }) {
  const [first, setFirst] = useState("");
  const [last, setLast] = useState("");
  const [id, setId] = useState(/** @type {string | null} */ (null));
  const [email, setEmail] = useState("");
  const [timezone, setTimezone] = useState(zone());
  const finalId = id ?? idOf(`${first} ${last}`);
  const save = async () => {
    const media = email ? { email: { address: email } } : {};
    await post("/contacts", { id: finalId, first_name: first, last_name: last, email, timezone, media });
    showToast(`Contact ${first} created.`);
    go(url("/contact", { id: finalId }));
  };
  return html`<${Dialog} title="New contact" onClose=${onClose}>
    <${Form} onSubmit=${save} submit="Create contact" cancel=${onClose} disabled=${!first.trim() || !finalId}>
      <div class="form-row">
        <${Field} label="First name" name="first_name" value=${first} onInput=${setFirst} autofocus hint="Or the name of a group" />
        <${Field} label="Last name" name="last_name" value=${last} onInput=${setLast} />
      </div>
      <${Field} label="Id" name="id" value=${finalId} onInput=${setId} mono hint="Used by commands and files; no colons" />
      <${Field} label="Email address" name="media.email.address" type="email" value=${email} onInput=${setEmail} hint="Add other media on the next page" />
      <${Field} label="Time zone" name="timezone" value=${timezone} onInput=${setTimezone} list=${zones()} hint="For the times in rules" />
    <//>
  <//>`;
}

/** @param {{contact: Contact, put: (contact: Contact) => void}} props */
export function Profile({ contact, put }) {
  const [isOpen, setIsOpen] = useState(false);
  const account = Object.entries(contact.pagerduty);
  return html`<${Card} title="Profile" actions=${may("write") && html`<${Button} small onClick=${() => setIsOpen(true)}>Edit<//>`}>
    <${Facts} rows=${[
      ["Id", html`<code>${contact.id}</code>`],
      contact.email ? ["Email", contact.email] : null,
      ["Time zone", html`${contact.zone}${!contact.timezone && html` <span class="soft">default</span>`}`],
      ["Tags", contact.tags.length ? contact.tags.map((tag) => html`<${Chip} tone="soft" href=${url("/contacts", { tag })}>${tag}<//>`) : html`<span class="soft">none</span>`],
      account.length > 0 && ["PagerDuty", account.map(([name, value]) => `${name} ${value}`).join(", ")],
    ]} />
    ${isOpen && html`<${Edit} contact=${contact} put=${put} onClose=${() => setIsOpen(false)} />`}
  <//>`;
}

const ACCOUNT = /** @type {const} */ (["subdomain", "username", "password", "token"]);

/** @param {{contact: Contact, put: (contact: Contact) => void, onClose: () => void}} props */
function Edit({ contact, put, onClose }) {
  const [draft, setDraft] = useState(contact);
  const set = (/** @type {Partial<Contact>} */ changes) => setDraft({ ...draft, ...changes });
  const save = async () => {
    put(await changed(contact, draft));
    showToast("Saved.");
    onClose();
  };
  const hasAccount = Object.keys(contact.pagerduty).length > 0 || "pagerduty" in contact.media;
  return html`<${Dialog} title=${`Edit ${nameOf(contact)}`} onClose=${onClose}>
    <${Form} onSubmit=${save} cancel=${onClose} disabled=${!draft.first_name.trim()}>
      <div class="form-row">
        <${Field} label="First name" name="first_name" value=${draft.first_name} onInput=${(/** @type {string} */ value) => set({ first_name: value })} />
        <${Field} label="Last name" name="last_name" value=${draft.last_name} onInput=${(/** @type {string} */ value) => set({ last_name: value })} />
      </div>
      <${Field} label="Email" name="email" value=${draft.email} onInput=${(/** @type {string} */ value) => set({ email: value })} hint="For information only; alerts go to the address of the email medium" />
      <${Field} label="Time zone" name="timezone" value=${draft.timezone} onInput=${(/** @type {string} */ value) => set({ timezone: value })} list=${zones()}
        placeholder=${contact.zone} hint="For the times in rules; leave empty to use the default" />
      <${Tokens} label="Tags" words=${draft.tags} onChange=${(/** @type {string[]} */ tags) => set({ tags })} hint="Separate tags with Enter or a comma" />
      ${hasAccount && html`<fieldset class="contact-account"><legend>PagerDuty account for reading acknowledgements</legend>
        <div class="form-row">
          ${ACCOUNT.map((name) => html`<${Field} label=${name} name=${`pagerduty.${name}`} value=${draft.pagerduty[name] ?? ""}
            onInput=${(/** @type {string} */ value) => set({ pagerduty: { ...draft.pagerduty, [name]: value } })} />`)}
        </div>
        <p class="hint">*** keeps the stored secret. You can also refer to a secret with file:PATH or env:NAME.</p>
      </fieldset>`}
    <//>
  <//>`;
}

/** @param {Contact} contact */
export function askRemove(contact) {
  confirm({
    title: `Delete ${nameOf(contact)}?`,
    words: html`<p>${nameOf(contact)} gets no more alerts. Media, rules, links and tags are deleted; sent alerts stay in the list of alerts. This can't be undone.</p>`,
    yes: "Delete contact",
    act: async () => {
      await remove(url("/contact", { id: contact.id }));
      showToast(`${nameOf(contact)} deleted.`);
      go("/contacts");
    },
  });
}
