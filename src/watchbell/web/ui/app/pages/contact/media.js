/** The media of a contact, with test messages. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { post, url, useFetched } from "../../api.js";
import { may } from "../../session.js";
import { confirm, Dialog } from "../../kit/dialog.js";
import { Button, Field, Form } from "../../kit/form.js";
import { Card, Empty } from "../../kit/layout.js";
import { Chip } from "../../kit/state.js";
import { Table } from "../../kit/table.js";
import { Lasting } from "../../kit/time.js";
import { attempt, showToast } from "../../kit/toast.js";
import { changed, nameOf } from "./shapes.js";

/**
 * @typedef {import("./shapes.js").Contact} Contact
 * @typedef {import("./shapes.js").Medium & {name: string}} Row
 * @typedef {{medium: string, has_gateway: boolean}} Known
 */

const EXAMPLES = /** @type {Record<string, string>} */ ({
  email: "alice@example.com",
  sms: "+390551234567",
  sms_twilio: "+390551234567",
  sms_nexmo: "+390551234567",
  jabber: "alice@example.com, or room@conference.example.com",
  slack: "#operations",
  pagerduty: "integration key",
  webhook: "https://example.com/hook",
  sns: "arn:aws:sns:eu-west-1:123456789012:alerts",
});

/** @param {{contact: Contact, put: (contact: Contact) => void}} props */
export function Media({ contact, put }) {
  const known = useFetched("/contacts/media");
  const [open, setOpen] = useState(/** @type {string | null} */ (null));
  const rows = Object.entries(contact.media).map(([name, medium]) => ({ name, ...medium }));
  const sends = (/** @type {string} */ name) =>
    (known.value ?? []).find((/** @type {Known} */ one) => one.medium === name)?.has_gateway ?? known.value === null;
  const drop = (/** @type {Row} */ row) =>
    confirm({
      title: `Delete ${row.name}?`,
      words: html`<p>${nameOf(contact)} gets no more alerts by ${row.name} (${row.address}).</p>`,
      yes: "Delete medium",
      act: async () => {
        const { [row.name]: _, ...media } = contact.media;
        put(await changed(contact, { media }));
        showToast(`${row.name} deleted.`);
      },
    });
  return html`<div class="medium-list"><${Card} title="Media" flush actions=${may("write") && html`<${Button} small onClick=${() => setOpen("")}>Add medium<//>`}>
    ${rows.length === 0
      ? html`<${Empty} title="No media yet."><p>Add an email address, phone number or chat account to reach ${nameOf(contact)}.</p><//>`
      : html`<${Table} label="Media" keys=${false} rows=${rows} id=${(/** @type {Row} */ row) => row.name} columns=${[
          {
            head: "Medium",
            kind: "main",
            cell: (/** @type {Row} */ row) => html`<div>${row.name} <span class="soft medium-address">${row.address}</span>
              <${Test} contact=${contact} medium=${row.name} sends=${sends(row.name)} /></div>`,
          },
          { head: "Repeat interval", kind: "tight", cell: (/** @type {Row} */ row) => html`<${Lasting} seconds=${row.interval} />` },
          { head: "Summary at", kind: "tight", cell: (/** @type {Row} */ row) => (row.rollup_threshold ? `${row.rollup_threshold} failing` : html`<span class="soft">never</span>`) },
          ...(may("write")
            ? [{
                head: "",
                kind: "actions",
                cell: (/** @type {Row} */ row) => html`<div class="actions">
                  <${Button} small kind="quiet" onClick=${() => setOpen(row.name)} label=${`Edit ${row.name}`}>Edit<//>
                  <${Button} small kind="quiet" onClick=${() => drop(row)} label=${`Delete ${row.name}`}>Delete<//></div>`,
              }]
            : []),
        ]} />`}
    ${contact.warnings.length > 0 && html`<div class="medium-warnings" role="status"><ul>${contact.warnings.map((one) => html`<li>${one}</li>`)}</ul></div>`}
    ${open !== null && html`<${Edit} contact=${contact} put=${put} name=${open} known=${known.value ?? []} onClose=${() => setOpen(null)} />`}
  <//></div>`;
}

/**
 * @param {{contact: Contact, put: (contact: Contact) => void, name: string, known: Known[], onClose: () => void}} props
 *   `name`: empty for a new one
 */
function Edit({ contact, put, name, known, onClose }) {
  const before = contact.media[name];
  const [selected, setSelected] = useState(name);
  const [address, setAddress] = useState(before?.address ?? "");
  const [minutes, setMinutes] = useState(String((before?.interval ?? 900) / 60));
  const [threshold, setThreshold] = useState(String(before?.rollup_threshold || ""));
  const interval = Math.round(Number(minutes.replace(",", ".")) * 60);
  const save = async () => {
    const medium = { address, interval, rollup_threshold: Number(threshold) || 0 };
    put(await changed(contact, { media: { ...contact.media, [selected]: medium } }));
    showToast(`${selected} saved.`);
    onClose();
  };
  const isTaken = name === "" && selected in contact.media;
  return html`<${Dialog} title=${name ? `Edit ${name} of ${nameOf(contact)}` : `Add medium for ${nameOf(contact)}`} onClose=${onClose}>
    <${Form} onSubmit=${save} cancel=${onClose} disabled=${!selected || !address || !(interval >= 1) || isTaken}>
      ${name === "" && html`<${Field} label="Medium" name="media" value=${selected} onInput=${setSelected} list=${known.map((one) => one.medium)}
        problem=${isTaken ? "This contact already has this medium" : ""} autofocus hint="For example email, sms, slack, jabber, pagerduty or webhook" />`}
      <${Field} label="Address" name=${`media.${selected}.address`} value=${address} onInput=${setAddress} placeholder=${EXAMPLES[selected] ?? ""} />
      <div class="form-row">
        <${Field} label="Repeat interval (minutes)" name=${`media.${selected}.interval`} value=${minutes} onInput=${setMinutes} inputmode="decimal"
          problem=${interval >= 1 ? "" : "Enter a number greater than 0"} hint="No repeated alert for the same state of a check within this time" />
        <${Field} label="Summary at (failing checks)" name=${`media.${selected}.rollup_threshold`} value=${threshold} onInput=${setThreshold} inputmode="numeric"
          placeholder="never" hint="From this many on, one summary replaces single alerts" />
      </div>
    <//>
  <//>`;
}

/** @type {Record<string, string>} */
const WORDS = { queued: "waiting for the gateway…", underway: "sending…" };

/**
 * A test message, and what becomes of it.
 * @param {{contact: Contact, medium: string, sends: boolean}} props
 */
function Test({ contact, medium, sends }) {
  const [alert, setAlert] = useState("");
  const [isOver, setIsOver] = useState(false);
  const found = useFetched(alert ? url("/alert", { id: alert }) : null, { every: isOver ? 0 : 2 });
  const sent = found.value?.message.sent;
  useEffect(() => setIsOver(sent?.outcome === "delivered" || sent?.outcome === "failed"), [sent?.outcome]);
  const send = async () => {
    const started = await attempt(() => post(url("/contact/test", { id: contact.id }), { medium }));
    setIsOver(false);
    if (started) setAlert(started.alert);
  };
  return html`<div class="medium-test">
    ${may("operate") && html`<${Button} small onClick=${send}>Send test<//>`}
    ${!sends && html`<${Chip} tone="warn" title="This server has no gateway for this medium. Alerts wait in the queue until one is configured.">no gateway<//>`}
    <span role="status">${sent && html`
      ${sent.outcome === "delivered" && html`<span class="good">✓ accepted by the server: ${sent.answer}</span>`}
      ${sent.outcome === "failed" && html`<span class="bad">✕ failed: ${sent.error}</span>`}
      ${sent.outcome in WORDS && html`<span class="soft">${WORDS[sent.outcome]}${!sends && " This server has no gateway for it."}
        ${found.value?.message.problem && ` The last attempt failed: ${found.value.message.problem}`}</span>`}
      ${" "}<a href=${url("/alerts", { id: sent.id })}>Details</a>`}</span>
  </div>`;
}
