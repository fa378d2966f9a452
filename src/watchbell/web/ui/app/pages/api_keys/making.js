/** Making a key: for a program, or for a job that pings. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { post } from "../../api.js";
import { Dialog } from "../../kit/dialog.js";
import { Choice, Field, Form, Toggle } from "../../kit/form.js";

/** @type {[scope: string, may: string][]} */
const SCOPES = [
  ["intake", "Report check events, and nothing else."],
  ["metrics", "Read /metrics for Prometheus, and nothing else."],
  ["read", "Look at everything that a viewer sees."],
  ["operate", "Also acknowledge, put into maintenance, start and end runs, report."],
  ["write", "Also change what is watched, what is run and who is told."],
  ["admin", "Also keep users, keys and sessions."],
];
/** @type {[days: string, words: string][]} */
const DAYS = [
  ["", "never"],
  ["30", "in 30 days"],
  ["90", "in 90 days"],
  ["365", "in a year"],
];
/** @type {[seconds: string, words: string][]} */
const UNITS = [
  ["60", "minutes"],
  ["3600", "hours"],
  ["86400", "days"],
];

/**
 * @param {{scopes: string[], onClose: () => void, onMade: (made: import("../api_keys.js").NewKey) => void}} props
 *   `scopes`: which may be given
 */
export function Making({ scopes, onClose, onMade }) {
  const mayPing = scopes.includes("operate");
  const offered = SCOPES.filter(([scope]) => scopes.includes(scope));
  const [kind, setKind] = useState("program");
  const [name, setName] = useState("");
  const [chosen, setChosen] = useState(/** @type {string[]} */ ([offered[0]?.[0] ?? "read"]));
  const [days, setDays] = useState("");
  const [check, setCheck] = useState("");
  const [count, setCount] = useState("25");
  const [unit, setUnit] = useState("3600");
  const isPing = kind === "ping";
  const seconds = Math.round(Number(count) * Number(unit));
  const make = async () => {
    const common = { name, days: days === "" ? null : Number(days) };
    const given = isPing ? { ...common, scopes: ["ping"], ping: { check, ttl: seconds } } : { ...common, scopes: chosen };
    onMade(await post("/api-keys", given));
  };
  const toggle = (/** @type {string} */ scope, /** @type {boolean} */ isOn) =>
    setChosen(isOn ? [...chosen, scope] : chosen.filter((one) => one !== scope));
  const isWhole = name.trim() !== "" && (isPing ? check.includes(":") && seconds >= 1 : chosen.length > 0);
  return html`<${Dialog} title="Make a key" onClose=${onClose}>
    <${Form} onSubmit=${make} submit="Make" cancel=${onClose} disabled=${!isWhole}>
      ${mayPing && html`<div><${Choice} label="What for" value=${kind} onChange=${setKind} options=${[["program", "For a program"], ["ping", "For a job that pings"]]} /></div>`}
      <${Field} label="Name" name="name" value=${name} onInput=${setName} maxlength="100" placeholder=${isPing ? "nightly backup" : "prometheus"}
        hint="By which you know it again." />
      ${isPing
        ? html`<${Field} label="Check" name="check" value=${check} onInput=${setCheck} mono placeholder="db-1:backup" maxlength="1000"
            hint="ENTITY:CHECK, which the pings speak for. It need not be there yet." />
          <div class="form-row">
            <${Field} label="Alert when silent for" name="ttl" type="number" min="1" value=${count} onInput=${setCount} />
            <${Field} label="Unit" name="unit" value=${unit} onInput=${setUnit} options=${UNITS} />
          </div>`
        : html`<fieldset class="scopes"><legend>It may</legend>${offered.map(
            ([scope, words]) => html`<${Toggle} label=${scope} name=${`scope-${scope}`} hint=${words} checked=${chosen.includes(scope)} onChange=${(/** @type {boolean} */ isOn) => toggle(scope, isOn)} />`,
          )}</fieldset>`}
      <${Field} label="Expires" name="days" value=${days} onInput=${setDays} options=${DAYS} />
    <//>
  <//>`;
}
