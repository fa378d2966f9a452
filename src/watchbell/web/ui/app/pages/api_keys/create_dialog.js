/** The dialog that creates an API key. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { post } from "../../api.js";
import { Dialog } from "../../kit/dialog.js";
import { Choice, Field, Form, Toggle } from "../../kit/form.js";
import { Limits, names, Privileges } from "../users/rights.js";

/** @type {[scope: string, may: string][]} */
const SCOPES = [
  ["intake", "Report check events only."],
  ["metrics", "Read /metrics for Prometheus only."],
  ["read", "Read everything that a viewer can see."],
  ["operate", "Also acknowledge, schedule maintenance, start, stop and tag jobs, and report events."],
  ["write", "Also edit entities, events, jobs, contacts and rules."],
  ["admin", "Also manage users, keys and sessions."],
];
/** @type {[days: string, words: string][]} */
const DAYS = [
  ["", "Never"],
  ["30", "In 30 days"],
  ["90", "In 90 days"],
  ["365", "In a year"],
];
/** @type {[seconds: string, words: string][]} */
const UNITS = [
  ["60", "minutes"],
  ["3600", "hours"],
  ["86400", "days"],
];

/**
 * @param {{scopes: string[], privileges: string[], onClose: () => void, onCreated: (created: import("../api_keys.js").NewKey) => void}} props
 *   `scopes`, `privileges`: those the user may grant
 */
export function CreateDialog({ scopes, privileges, onClose, onCreated }) {
  const mayPing = scopes.includes("operate");
  const offered = SCOPES.filter(([scope]) => scopes.includes(scope));
  const [kind, setKind] = useState("program");
  const [name, setName] = useState("");
  const [selected, setSelected] = useState(/** @type {string[]} */ ([offered[0]?.[0] ?? "read"]));
  const [single, setSingle] = useState(/** @type {string[]} */ ([]));
  const [categories, setCategories] = useState("");
  const [groups, setGroups] = useState("");
  const [days, setDays] = useState("");
  const [check, setCheck] = useState("");
  const [count, setCount] = useState("25");
  const [unit, setUnit] = useState("3600");
  const isPing = kind === "ping";
  const seconds = Math.round(Number(count) * Number(unit));
  const make = async () => {
    const common = { name, days: days === "" ? null : Number(days) };
    const body = isPing ? { ...common, scopes: ["ping"], ping: { check, ttl: seconds } } : { ...common, scopes: selected, privileges: single, categories: names(categories), groups: names(groups) };
    onCreated(await post("/api-keys", body));
  };
  const toggle = (/** @type {string} */ scope, /** @type {boolean} */ isOn) =>
    setSelected(isOn ? [...selected, scope] : selected.filter((one) => one !== scope));
  const isWhole = name.trim() !== "" && (isPing ? check.includes(":") && seconds >= 1 : selected.length + single.length > 0);
  return html`<${Dialog} title="New API key" onClose=${onClose}>
    <${Form} onSubmit=${make} submit="Create" cancel=${onClose} disabled=${!isWhole}>
      ${mayPing && html`<div><${Choice} label="Use" value=${kind} onChange=${setKind} options=${[["program", "For a program"], ["ping", "For a job that pings"]]} /></div>`}
      <${Field} label="Name" name="name" value=${name} onInput=${setName} maxlength="100" placeholder=${isPing ? "nightly backup" : "prometheus"}
        hint="To recognise the key in the list." />
      ${isPing
        ? html`<${Field} label="Check" name="check" value=${check} onInput=${setCheck} mono placeholder="db-1:backup" maxlength="1000"
            hint="ENTITY:CHECK that the pings report. It is created if it does not exist." />
          <div class="form-row">
            <${Field} label="Alert after no ping for" name="ttl" type="number" min="1" value=${count} onInput=${setCount} />
            <${Field} label="Unit" name="unit" value=${unit} onInput=${setUnit} options=${UNITS} />
          </div>`
        : html`<fieldset class="scopes"><legend>Scopes</legend>${offered.map(
            ([scope, words]) => html`<${Toggle} label=${scope} name=${`scope-${scope}`} hint=${words} checked=${selected.includes(scope)} onChange=${(/** @type {boolean} */ isOn) => toggle(scope, isOn)} />`,
          )}</fieldset>
          <details class="more-rights"><summary>Single privileges and limits</summary><div class="stack">
            <${Privileges} selected=${single} onChange=${setSingle} offered=${privileges} />
            <${Limits} categories=${categories} groups=${groups} onCategories=${setCategories} onGroups=${setGroups} />
          </div></details>`}
      <${Field} label="Expires" name="days" value=${days} onInput=${setDays} options=${DAYS} />
    <//>
  <//>`;
}
