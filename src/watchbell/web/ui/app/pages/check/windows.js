/** Maintenance of a check, open and to come, and the times that are set for it. */

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
import { say } from "../../kit/toast.js";
import { sayEnded } from "../checks/undo.js";

/** @typedef {import("./timeline.js").Span} Span */

/**
 * Does something with one check, by the call that does it with many.
 * @param {string} verb
 * @param {Record<string, unknown> & {checks: string[]}} body
 */
export async function act(verb, body) {
  const acted = await post(`/checks/${verb}`, body);
  const [one] = acted.items;
  if (!one?.done) throw new Problem(422, one?.reason || "Nothing was done.");
}

/** @param {{check: string, windows: Span[], reload: () => void, onPlan: () => void}} props */
export function Windows({ check, windows, reload, onPlan }) {
  /** @type {import("../../kit/table.js").Column<Span>[]} */
  const columns = [
    { head: "Kind", kind: "tight", cell: (row) => html`<${State} state=${row.kind === "scheduled" ? "maintenance" : "acknowledged"} word=${named(row)} />` },
    { head: "From", kind: "tight", cell: (row) => html`<${When} at=${row.start} as="short" />` },
    { head: "Until", kind: "tight", cell: (row) => html`<${When} at=${row.end} as="short" />` },
    { head: "For", kind: "tight", cell: (row) => html`<${Lasting} seconds=${row.end - row.start} />` },
    { head: "Why", kind: "main", cell: (row) => row.summary || html`<span class="soft">–</span>` },
  ];
  if (may("operate")) {
    columns.push({ head: "", kind: "actions", cell: (row) => html`<${Button} small onClick=${() => end(check, row, reload)}>${row.is_open ? "End" : "Take back"}<//>` });
  }
  return html`<${Card} flush>
    ${windows.length === 0
      ? html`<${Empty} title="No maintenance is open or planned." action=${may("operate") && html`<${Button} onClick=${onPlan}>Schedule maintenance<//>`}>
          <p>While there is some, nobody is told of failures. What is over is in the picture above.</p><//>`
      : html`<${Table} columns=${columns} rows=${windows} id=${(/** @type {Span} */ row) => row.id} label="Maintenance" />`}
  <//>`;
}

/** @param {Span} span */
export function named(span) {
  if (span.kind === "unscheduled") return "acknowledged";
  return span.is_open ? "maintenance" : "planned";
}

/** @param {string} check @param {Span} span @param {() => void} reload */
export function end(check, span, reload) {
  const isAcknowledgement = span.kind === "unscheduled";
  confirm({
    title: isAcknowledgement ? "End the acknowledgement?" : span.is_open ? "End the maintenance?" : "Take the plan back?",
    words: span.is_open
      ? html`<p>From now on people are told of failures of <strong>${check}</strong> again.</p>`
      : html`<p>The maintenance of <strong>${check}</strong> that begins <${When} at=${span.start} as="exact" /> is taken back.</p>`,
    yes: span.is_open ? "End it" : "Take it back",
    act: async () => {
      await post("/maintenance/end", { id: span.id, checks: [check] });
      sayEnded(isAcknowledgement ? "Acknowledgement ended." : span.is_open ? "Maintenance ended." : "Maintenance removed.", span, [check], reload);
      reload();
    },
  });
}

/** @type {[name: string, label: string, hint: string][]} */
const TERMS = [
  ["initial_failure_delay", "Told after", "Seconds that a failure lasts before anybody is told."],
  ["repeat_failure_delay", "Told again after", "Seconds before the same failure is told again."],
  ["initial_recovery_delay", "Recovery told after", "Seconds that a recovery lasts before it is told."],
  ["ttl", "Silence", "Seconds without a report after which it is unknown."],
];

/**
 * What is set for this check alone; an empty field leaves it to its reports and the settings.
 * @param {{check: string, held: Record<string, number | null>, onClose: () => void, reload: () => void}} props
 */
export function Terms({ check, held, onClose, reload }) {
  const [terms, setTerms] = useState(/** @type {Record<string, string>} */ (
    Object.fromEntries(TERMS.map(([name]) => [name, held[name] === null || held[name] === undefined ? "" : String(held[name])]))
  ));
  const save = async () => {
    const given = Object.fromEntries(TERMS.map(([name]) => [name, terms[name]?.trim() ? Number(terms[name]) : null]));
    await act("settings", { checks: [check], ...given });
    say("Saved.");
    reload();
    onClose();
  };
  return html`<${Dialog} title="Times of this check" onClose=${onClose}>
    <${Form} onSubmit=${save} cancel=${onClose}>
      <p class="soft">What is empty is as its reports say, or as the settings have it for all.</p>
      ${TERMS.map(([name, label, hint]) => html`<${Field} label=${label} name=${name} type="number" min="0" inputmode="numeric" hint=${hint}
        value=${terms[name] ?? ""} onInput=${(/** @type {string} */ text) => setTerms({ ...terms, [name]: text })} />`)}
    <//>
  <//>`;
}
