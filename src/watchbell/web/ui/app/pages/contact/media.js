/** The media by which a contact is told, each of which can be tried. */

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
import { attempt, say } from "../../kit/toast.js";
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
  pagerduty: "the key of a service's integration",
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
      title: `Take ${row.name} away?`,
      words: html`<p>${nameOf(contact)} is told nothing by ${row.name} (${row.address}) any more, whatever the rules say.</p>`,
      yes: "Take it away",
      act: async () => {
        const { [row.name]: _, ...media } = contact.media;
        put(await changed(contact, { media }));
        say(`${row.name} is taken away.`);
      },
    });
  return html`<div class="medium-list"><${Card} title="Media" flush actions=${may("write") && html`<${Button} small onClick=${() => setOpen("")}>Add a medium<//>`}>
    ${rows.length === 0
      ? html`<${Empty} title=${`${nameOf(contact)} can't be reached.`}><p>Add a medium: mail, SMS, a chat.</p><//>`
      : html`<${Table} label="Media" keys=${false} rows=${rows} id=${(/** @type {Row} */ row) => row.name} columns=${[
          {
            head: "Medium",
            kind: "main",
            cell: (/** @type {Row} */ row) => html`<div>${row.name} <span class="soft medium-address">${row.address}</span>
              <${Test} contact=${contact} medium=${row.name} sends=${sends(row.name)} /></div>`,
          },
          { head: "Not repeated within", kind: "tight", cell: (/** @type {Row} */ row) => html`<${Lasting} seconds=${row.interval} />` },
          { head: "Summary from", kind: "tight", cell: (/** @type {Row} */ row) => (row.rollup_threshold ? `${row.rollup_threshold} failing` : html`<span class="soft">never</span>`) },
          ...(may("write")
            ? [{
                head: "",
                kind: "actions",
                cell: (/** @type {Row} */ row) => html`<div class="actions">
                  <${Button} small kind="quiet" onClick=${() => setOpen(row.name)} label=${`Edit ${row.name}`}>Edit<//>
                  <${Button} small kind="quiet" onClick=${() => drop(row)} label=${`Take ${row.name} away`}>✕<//></div>`,
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
  const [chosen, setChosen] = useState(name);
  const [address, setAddress] = useState(before?.address ?? "");
  const [minutes, setMinutes] = useState(String((before?.interval ?? 900) / 60));
  const [threshold, setThreshold] = useState(String(before?.rollup_threshold || ""));
  const interval = Math.round(Number(minutes.replace(",", ".")) * 60);
  const save = async () => {
    const medium = { address, interval, rollup_threshold: Number(threshold) || 0 };
    put(await changed(contact, { media: { ...contact.media, [chosen]: medium } }));
    say(`${chosen} is saved.`);
    onClose();
  };
  const isTaken = name === "" && chosen in contact.media;
  return html`<${Dialog} title=${name ? `${nameOf(contact)} by ${name}` : `A medium for ${nameOf(contact)}`} onClose=${onClose}>
    <${Form} onSubmit=${save} cancel=${onClose} disabled=${!chosen || !address || !(interval >= 1) || isTaken}>
      ${name === "" && html`<${Field} label="Medium" name="media" value=${chosen} onInput=${setChosen} list=${known.map((one) => one.medium)}
        problem=${isTaken ? "The contact has it already" : ""} autofocus hint="As email, sms, slack, jabber, pagerduty, webhook" />`}
      <${Field} label="Address" name=${`media.${chosen}.address`} value=${address} onInput=${setAddress} placeholder=${EXAMPLES[chosen] ?? ""} />
      <div class="form-row">
        <${Field} label="Minutes between repetitions" name=${`media.${chosen}.interval`} value=${minutes} onInput=${setMinutes} inputmode="decimal"
          problem=${interval >= 1 ? "" : "Expected a number above 0"} hint="The same state of a check is not told again within them" />
        <${Field} label="Failing checks for a summary" name=${`media.${chosen}.rollup_threshold`} value=${threshold} onInput=${setThreshold} inputmode="numeric"
          placeholder="never" hint="From so many on, one summary comes in place of all" />
      </div>
    <//>
  <//>`;
}

/** @type {Record<string, string>} */
const WORDS = { queued: "waits for the gateway…", underway: "is on its way…" };

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
    const told = await attempt(() => post(url("/contact/test", { id: contact.id }), { medium }));
    setIsOver(false);
    if (told) setAlert(told.alert);
  };
  return html`<div class="medium-test">
    ${may("operate") && html`<${Button} small onClick=${send}>Send a test<//>`}
    ${!sends && html`<${Chip} tone="warn" title="This server's settings have no gateway for it: unless another sends by it, alerts wait in the queue">no gateway<//>`}
    <span role="status">${sent && html`
      ${sent.outcome === "delivered" && html`<span class="good">✓ taken by the server: ${sent.answer}</span>`}
      ${sent.outcome === "failed" && html`<span class="bad">✕ given up: ${sent.error}</span>`}
      ${sent.outcome in WORDS && html`<span class="soft">${WORDS[sent.outcome]}${!sends && " No gateway of this server sends by it."}
        ${found.value?.message.problem && ` The last try failed: ${found.value.message.problem}`}</span>`}
      ${" "}<a href=${url("/alerts", { id: sent.id })}>details</a>`}</span>
  </div>`;
}
