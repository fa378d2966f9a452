/** Current and scheduled maintenance of a check, and its delays. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { post, Problem } from "../../api.js";
import { may } from "../../session.js";
import { confirm, Dialog } from "../../kit/dialog.js";
import { Button, Field, Form } from "../../kit/form.js";
import { Card, Empty } from "../../kit/layout.js";
import { State } from "../../kit/state.js";
import { Table } from "../../kit/table.js";
import { Lasting, When } from "../../kit/time.js";
import { showToast } from "../../kit/toast.js";
import { sayEnded } from "../checks/undo.js";

/** @typedef {import("./timeline.js").Span} Span */

/**
 * Runs a bulk action on one check.
 * @param {string} verb
 * @param {Record<string, unknown> & {checks: string[]}} body
 */
async function act(verb, body) {
  const acted = await post(`/checks/${verb}`, body);
  const [one] = acted.items;
  if (!one?.done) throw new Problem(422, one?.reason || "Nothing was changed.");
}

/** @param {{check: string, windows: Span[], reload: () => void, onPlan: () => void}} props */
export function Windows({ check, windows, reload, onPlan }) {
  /** @type {import("../../kit/table.js").Column<Span>[]} */
  const columns = [
    { head: "Kind", kind: "tight", cell: (row) => html`<${State} state=${row.kind === "scheduled" ? "maintenance" : "acknowledged"} word=${named(row)} />` },
    { head: "From", kind: "tight", cell: (row) => html`<${When} at=${row.start} as="short" />` },
    { head: "Until", kind: "tight", cell: (row) => html`<${When} at=${row.end} as="short" />` },
    { head: "Duration", kind: "tight", cell: (row) => html`<${Lasting} seconds=${row.end - row.start} />` },
    { head: "Reason", kind: "main", cell: (row) => row.summary || html`<span class="soft">–</span>` },
  ];
  if (may("operate")) {
    columns.push({ head: "", kind: "actions", cell: (row) => html`<${Button} small onClick=${() => end(check, row, reload)}>${row.is_open ? "End" : "Delete"}<//>` });
  }
  return html`<${Card} flush>
    ${windows.length === 0
      ? html`<${Empty} title="No current or scheduled maintenance." action=${may("operate") && html`<${Button} onClick=${onPlan}>Schedule maintenance<//>`}>
          <p>During maintenance, failures send no alerts. The timeline above shows past maintenance.</p><//>`
      : html`<${Table} columns=${columns} rows=${windows} id=${(/** @type {Span} */ row) => row.id} label="Maintenance" />`}
  <//>`;
}

/** @param {Span} span */
function named(span) {
  if (span.kind === "unscheduled") return "acknowledged";
  return span.is_open ? "maintenance" : "scheduled";
}

/** @param {string} check @param {Span} span @param {() => void} reload */
export function end(check, span, reload) {
  const isAcknowledgement = span.kind === "unscheduled";
  confirm({
    title: isAcknowledgement ? "End this acknowledgement?" : span.is_open ? "End this maintenance?" : "Delete this maintenance?",
    words: span.is_open
      ? html`<p>Failures of <strong>${check}</strong> send alerts again.</p>`
      : html`<p>The maintenance of <strong>${check}</strong> that starts <${When} at=${span.start} as="exact" /> is deleted.</p>`,
    yes: isAcknowledgement ? "End acknowledgement" : span.is_open ? "End maintenance" : "Delete maintenance",
    act: async () => {
      await post("/maintenance/end", { id: span.id, checks: [check] });
      sayEnded(isAcknowledgement ? "Acknowledgement ended." : span.is_open ? "Maintenance ended." : "Maintenance deleted.", span, [check], reload);
      reload();
    },
  });
}

/** @type {[name: string, label: string, hint: string][]} */
const TERMS = [
  ["initial_failure_delay", "Alert after", "Seconds a check must fail before the first alert."],
  ["repeat_failure_delay", "Repeat after", "Seconds before the same failure sends another alert."],
  ["initial_recovery_delay", "Recovery alert after", "Seconds a check must be ok before the recovery alert."],
  ["ttl", "Unknown after", "Seconds without a report before the check becomes unknown."],
];

/**
 * Delays set for this check alone; empty fields use its reports' values or the settings.
 * @param {{check: string, held: Record<string, number | null>, onClose: () => void, reload: () => void}} props
 */
export function Terms({ check, held, onClose, reload }) {
  const [terms, setTerms] = useState(/** @type {Record<string, string>} */ (
    Object.fromEntries(TERMS.map(([name]) => [name, held[name] === null || held[name] === undefined ? "" : String(held[name])]))
  ));
  const save = async () => {
    const given = Object.fromEntries(TERMS.map(([name]) => [name, terms[name]?.trim() ? Number(terms[name]) : null]));
    await act("settings", { checks: [check], ...given });
    showToast("Saved.");
    reload();
    onClose();
  };
  return html`<${Dialog} title="Delays of this check" onClose=${onClose}>
    <${Form} onSubmit=${save} cancel=${onClose}>
      <p class="soft">Empty fields use the values from its reports, or the default settings.</p>
      ${TERMS.map(([name, label, hint]) => html`<${Field} label=${label} name=${name} type="number" min="0" inputmode="numeric" hint=${hint}
        value=${terms[name] ?? ""} onInput=${(/** @type {string} */ text) => setTerms({ ...terms, [name]: text })} />`)}
    <//>
  <//>`;
}
