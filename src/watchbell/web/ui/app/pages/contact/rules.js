/** The notification rules of a contact, shown as sentences. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { remove, url, useFetched } from "../../api.js";
import { may } from "../../session.js";
import { confirm } from "../../kit/dialog.js";
import { Button } from "../../kit/form.js";
import { Card, Fetched } from "../../kit/layout.js";
import { Chip } from "../../kit/state.js";
import { showToast } from "../../kit/toast.js";
import { Editor } from "./editor.js";
import { EMPTY_RULE, fieldsOf, nameOf } from "./shapes.js";
import { Trial } from "./trial.js";
import { ALWAYS } from "./weeks.js";

/**
 * @typedef {import("./shapes.js").Contact} Contact
 * @typedef {import("./shapes.js").Rule} Rule
 * @typedef {import("./shapes.js").RuleBody} RuleBody
 */

const NEW = "";

/** @returns {Rule} */
function newRule() {
  return { ...EMPTY_RULE, id: NEW, words: "", is_specific: false, week: ALWAYS, not_weekly: [], unreadable: [], missing_media: [], version: "" };
}

/** Specific rules first, as they are matched first. @param {Rule[]} rules */
function ordered(rules) {
  return [...rules.filter((rule) => rule.is_specific), ...rules.filter((rule) => !rule.is_specific)];
}

/** @param {{contact: Contact}} props */
export function Rules({ contact }) {
  const found = useFetched(url("/rules", { contact: contact.id }));
  const [open, setOpen] = useState(/** @type {string | null} */ (null));
  const [draft, setDraft] = useState(/** @type {RuleBody | null} */ (null));
  const close = () => {
    setOpen(null);
    setDraft(null);
  };
  const done = () => {
    found.reload();
    close();
  };
  const add = may("write") && open === null && html`<${Button} small onClick=${() => setOpen(NEW)}>Add rule<//>`;
  return html`<${Card} title="Rules" actions=${add} id="rules">
      <${Fetched} of=${found}>${(/** @type {{items: Rule[]}} */ page) => html`<${List} contact=${contact} rules=${ordered(page.items)} open=${open} edit=${setOpen}
        onDraft=${setDraft} onDone=${done} onCancel=${close} onGone=${found.reload} />`}<//>
    <//>
    ${found.value && html`<${Trial} contact=${contact} rules=${tried(ordered(found.value.items), open, draft)} isDraft=${draft !== null} />`}`;
}

/**
 * The rules to test, numbered as on the page.
 * @param {Rule[]} rules @param {string | null} open @param {RuleBody | null} draft
 */
function tried(rules, open, draft) {
  const all = rules.map((rule, index) => ({ ...(rule.id === open && draft ? draft : fieldsOf(rule)), id: `${index + 1}` }));
  return open === NEW && draft ? [...all, { ...draft, id: `${all.length + 1} (new)` }] : all;
}

/**
 * @param {{contact: Contact, rules: Rule[], open: string | null, edit: (id: string) => void, onDraft: (body: RuleBody) => void,
 *   onDone: () => void, onCancel: () => void, onGone: () => void}} props
 */
function List({ contact, rules, open, edit, onDraft, onDone, onCancel, onGone }) {
  const editor = (/** @type {Rule} */ rule, /** @type {string} */ title) =>
    html`<${Editor} key=${rule.id} contact=${contact} rule=${rule} title=${title} onDraft=${onDraft} onDone=${onDone} onCancel=${onCancel} />`;
  return html`<div class="rules">
    ${rules.map((rule, index) => rule.id === open
      ? editor(rule, `Rule ${index + 1}`)
      : html`<${Shown} key=${rule.id} contact=${contact} rule=${rule} number=${index + 1} isQuiet=${open !== null} edit=${edit} onGone=${onGone} />`)}
    ${open === NEW && editor(newRule(), "New rule")}
    ${rules.every((rule) => rule.is_specific) && open !== NEW &&
    html`<div class="rule rule-imagined"><h3>Default</h3>
      <p class="rule-words">${rules.length ? "If no rule matches" : "At any time"}: critical and warning by all media, no alerts for unknown.</p>
      <p class="hint">${nameOf(contact)} has no general rule. This one is created with the first alert and can be edited then.</p></div>`}
  </div>`;
}

/** @param {{contact: Contact, rule: Rule, number: number, isQuiet: boolean, edit: (id: string) => void, onGone: () => void}} props */
function Shown({ contact, rule, number, isQuiet, edit, onGone }) {
  const drop = () =>
    confirm({
      title: `Delete rule ${number} of ${nameOf(contact)}?`,
      words: html`<p class="rule-words">${rule.words}</p><p>The other rules apply from now on.</p>`,
      yes: "Delete rule",
      act: async () => {
        await remove(url("/rule", { contact: contact.id, id: rule.id }));
        showToast("Rule deleted.");
        onGone();
      },
    });
  return html`<article class="rule" aria-label=${`Rule ${number}`}>
    <div class="rule-head"><h3>Rule ${number}</h3>
      <${Chip} tone="soft">${rule.is_specific ? "specific" : "general"}<//>
      ${rule.unreadable.length > 0 && html`<${Chip} tone="bad">can't be read: ${rule.unreadable.join(", ")}<//>`}
      ${rule.missing_media.length > 0 && rule.is_specific && html`<${Chip} tone="warn" title="Nothing is sent by this medium">no address for ${rule.missing_media.join(", ")}<//>`}
      ${may("write") && !isQuiet && html`<div class="actions">
        <${Button} small onClick=${() => edit(rule.id)} label=${`Edit rule ${number}`}>Edit<//>
        <${Button} small kind="quiet" onClick=${drop} label=${`Delete rule ${number}`}>Delete<//></div>`}
    </div>
    <p class="rule-words">${rule.words}</p>
  </article>`;
}
