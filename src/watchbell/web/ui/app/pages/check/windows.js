/** Maintenance of a check: what is open, what is to come, and a dialog that plans more. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { post, Problem } from "../../api.js";
import { may } from "../../session.js";
import { zone } from "../../times.js";
import { confirm, Dialog } from "../../kit/dialog.js";
import { Button, Field, Form } from "../../kit/form.js";
import { Card, Empty } from "../../kit/layout.js";
import { State } from "../../kit/state.js";
import { Table } from "../../kit/table.js";
import { Lasting, When } from "../../kit/time.js";
import { attempt, say } from "../../kit/toast.js";

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
      ? html`<${Empty} title="No maintenance is open or planned." action=${may("operate") && html`<${Button} onClick=${onPlan}>Plan maintenance<//>`}>
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
      say(isAcknowledgement ? "The acknowledgement is ended." : "The maintenance is ended.");
      reload();
    },
  });
}

const LENGTHS = ["30 minutes", "1 hour", "2 hours", "4 hours", "8 hours", "1 day", "1 week"];

/** @param {{check: string, onClose: () => void, reload: () => void}} props */
export function Planning({ check, onClose, reload }) {
  const [start, setStart] = useState("now");
  const [duration, setDuration] = useState("2 hours");
  const [summary, setSummary] = useState("");
  const plan = async () => {
    await post("/maintenance", { checks: [check], start, duration, summary, zone: zone() });
    say("The maintenance is planned.");
    reload();
    onClose();
  };
  return html`<${Dialog} title="Plan maintenance" onClose=${onClose}>
    <${Form} onSubmit=${plan} submit="Plan it" cancel=${onClose}>
      <p class="soft">Nobody is told of failures of ${check} meanwhile.</p>
      <div class="form-row">
        <${Field} label="From" name="start" value=${start} onInput=${setStart} list=${["now", "in 1 hour", "tomorrow 08:00"]}
          hint="As now, in 1 hour, tomorrow 08:00, Saturday 22:00" />
        <${Field} label="For" name="duration" value=${duration} onInput=${setDuration} list=${LENGTHS} />
      </div>
      <${Field} label="Why" name="summary" value=${summary} onInput=${setSummary} placeholder="New disks" />
    <//>
  <//>`;
}

/** @param {{check: string, onClose: () => void, reload: () => void}} props */
export function Acknowledging({ check, onClose, reload }) {
  const [duration, setDuration] = useState("4 hours");
  const [summary, setSummary] = useState("");
  const acknowledge = async () => {
    await act("acknowledge", { checks: [check], duration, summary });
    say("Acknowledged. Nobody is told again meanwhile.");
    reload();
    onClose();
  };
  return html`<${Dialog} title="Acknowledge" onClose=${onClose}>
    <${Form} onSubmit=${acknowledge} submit="Acknowledge" cancel=${onClose}>
      <p class="soft">Nobody is told of ${check} again until the time is over, or it recovers.</p>
      <${Field} label="What you know of it" name="summary" value=${summary} onInput=${setSummary} placeholder="I am on it" autofocus />
      <${Field} label="For" name="duration" value=${duration} onInput=${setDuration} list=${LENGTHS} />
    <//>
  <//>`;
}

/** @param {string} check @param {() => void} reload */
export function disable(check, reload) {
  confirm({
    title: "Disable this check?",
    words: html`<p><strong>${check}</strong> is no longer listed, and its silence is no failure any more. It comes back by itself with its next report.</p>`,
    yes: "Disable it",
    act: async () => {
      await act("disable", { checks: [check] });
      say("The check is disabled.");
      reload();
    },
  });
}

/** @param {string} check */
export function test(check) {
  confirm({
    title: "Send a test?",
    words: html`<p>Everybody who would be told if <strong>${check}</strong> were critical is sent a test message, by all the media they would be told by.</p>`,
    yes: "Send it",
    kind: "main",
    act: async () => {
      await act("test-notifications", { checks: [check] });
      say("The test is on its way; it will be among the alerts.");
    },
  });
}

/** @param {string} check @param {() => void} reload */
export async function enable(check, reload) {
  await attempt(() => act("enable", { checks: [check] }), "The check is shown again.");
  reload();
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
