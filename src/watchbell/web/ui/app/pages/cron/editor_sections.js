/** The job form's sections on failures, environment and limits. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { Button, Field, Toggle } from "../../kit/form.js";
import { Card } from "../../kit/layout.js";

/** @typedef {import("./editor.js").Parts} Parts */
/** @typedef {import("./editor.js").Wrong} Wrong */

/** @param {Parts} props */
export function Failures({ draft, change, wrong }) {
  return html`<${Card} title="Failures"><div class="stack">
    <div class="form-row">
      ${text("Time limit (seconds)", "watchbell.time_limit", draft.time_limit, (time_limit) => change({ time_limit }), wrong, { placeholder: "no limit", inputmode: "decimal" })}
      ${text("Retries", "watchbell.retries", draft.retries, (retries) => change({ retries }), wrong, { placeholder: "0", inputmode: "numeric", hint: "How many times a failed run is retried. Only the last failure is reported." })}
    </div>
    ${Number(draft.retries) > 0 && html`<div class="form-row">
      ${text("First retry after (seconds)", "watchbell.retry_delay", draft.retry_delay, (retry_delay) => change({ retry_delay }), wrong, { placeholder: "60", inputmode: "decimal" })}
      ${text("Backoff factor", "watchbell.retry_factor", draft.retry_factor, (retry_factor) => change({ retry_factor }), wrong, { placeholder: "2", inputmode: "decimal", hint: "Each delay is this many times longer than the last." })}
    </div>`}
  </div><//>`;
}

/** @param {Parts} props */
export function Environment({ draft, change, wrong }) {
  return html`<${Card} title="Environment"><div class="stack">
    <${Pairs} label="Variables" first="Variable" second="Value" pairs=${draft.environment} problem=${wrong("watchbell.environment")} onChange=${(/** @type {[string, string][]} */ environment) => change({ environment })}
      hint="Values are hidden from people who can't edit jobs." />
    <div class="form-row">
      ${text("Working directory", "watchbell.folder", draft.folder, (folder) => change({ folder }), wrong, { mono: true, placeholder: "same as the instance" })}
      ${text("User", "watchbell.user", draft.user, (user) => change({ user }), wrong, { placeholder: "same as the instance" })}
    </div>
  </div><//>`;
}

/** Collapsed unless something in it is set. @param {Parts} props */
export function Advanced({ draft, change, wrong, defaults }) {
  const isSet = draft.lingers || draft.limits.length > 0
    || [draft.kill_after, draft.linger, draft.daemons, draft.group, draft.nice, draft.output_limit].some(Boolean);
  const [isOpen] = useState(isSet);
  return html`<details class="card" open=${isOpen}><summary>Advanced</summary><div class="stack">
    <div class="form-row">
      ${text("SIGKILL after SIGTERM (seconds)", "watchbell.kill_after", draft.kill_after, (kill_after) => change({ kill_after }), wrong, { placeholder: String(defaults?.kill_after ?? ""), inputmode: "decimal" })}
      ${text("Output limit (MiB)", "watchbell.output_limit", draft.output_limit, (output_limit) => change({ output_limit }), wrong, { placeholder: String(defaults?.output_limit ?? ""), inputmode: "numeric", hint: "Beyond this, only the newest lines are kept." })}
    </div>
    <${Toggle} label="Leave background processes running" checked=${draft.lingers} onChange=${(/** @type {boolean} */ lingers) => change({ lingers })} />
    <div class="form-row">
      ${!draft.lingers && text("Stop background processes after (seconds)", "watchbell.linger", draft.linger, (linger) => change({ linger }), wrong, { placeholder: "10", inputmode: "decimal" })}
      <${Field} label="Daemons (processes with their own session)" name="watchbell.daemons" value=${draft.daemons} onInput=${(/** @type {string} */ daemons) => change({ daemons })}
        options=${[["", "Stop with the run (default)"], ["leave", "Leave running"]]} problem=${wrong("watchbell.daemons")} />
    </div>
    <div class="form-row">
      ${text("Group", "watchbell.group", draft.group, (group) => change({ group }), wrong, { placeholder: "groups of the user" })}
      ${text("Nice", "watchbell.nice", draft.nice, (nice) => change({ nice }), wrong, { placeholder: "-20 to 19", inputmode: "numeric" })}
    </div>
    <${Pairs} label="Limits" first="Resource" second="Limit" pairs=${draft.limits} list=${defaults?.limits ?? []} problem=${wrong("watchbell.limits")} onChange=${(/** @type {[string, string][]} */ limits) => change({ limits })} />
  </div></details>`;
}

/**
 * @param {string} label @param {string} name @param {string} value @param {(value: string) => void} onInput
 * @param {Wrong} wrong @param {Record<string, any>} [more]
 */
export function text(label, name, value, onInput, wrong, more = {}) {
  return html`<${Field} key=${name} label=${label} name=${name} value=${value} onInput=${onInput} problem=${wrong(name)} ...${more} />`;
}

/**
 * A list of names with values.
 * @param {{label: string, first: string, second: string, pairs: [string, string][], onChange: (pairs: [string, string][]) => void,
 *   list?: string[], hint?: string, problem?: string}} props
 */
function Pairs({ label, first, second, pairs, onChange, list, hint, problem }) {
  const set = (/** @type {number} */ index, /** @type {[string, string]} */ pair) => onChange(pairs.with(index, pair));
  return html`<fieldset class="pairs"><legend>${label}</legend>
    ${pairs.map(([name, value], i) => html`<div class="pair" key=${i}>
      <${Field} label=${html`<span class="unseen">${first} ${i + 1}</span>`} name=${`${label}-${i}`} mono value=${name} placeholder=${first} list=${list} spellcheck=${false} onInput=${(/** @type {string} */ to) => set(i, [to, value])} />
      <${Field} label=${html`<span class="unseen">${second} ${i + 1}</span>`} name=${`${label}-value-${i}`} mono value=${value} placeholder=${second} spellcheck=${false} onInput=${(/** @type {string} */ to) => set(i, [name, to])} />
      <${Button} small kind="quiet" label=${`Remove ${name || `${first} ${i + 1}`}`} onClick=${() => onChange(pairs.toSpliced(i, 1))}>✕<//>
    </div>`)}
    <${Button} small onClick=${() => onChange([...pairs, ["", ""]])}>Add<//>
    ${(problem || hint) && html`<div class=${problem ? "wrong" : "hint"}>${problem || hint}</div>`}
  </fieldset>`;
}
