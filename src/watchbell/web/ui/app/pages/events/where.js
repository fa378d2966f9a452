/** Where the jobs of an event run: groups and servers, and which of them takes a job. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { Field, useWrong } from "../../kit/form.js";
import { Card } from "../../kit/layout.js";
import { State } from "../../kit/state.js";
import { counted } from "../../words.js";

/** @typedef {import("./words.js").Target} Target */

const MANY = 12;

/** @param {import("./draft.js").Parts} props */
export function Where({ draft, change, options }) {
  const reach = options.targets.filter((one) => draft.targets.includes(one.id)).reduce((sum, one) => sum + one.servers, 0);
  return html`<${Card} title="Where"><div class="stack">
    <${Targets} targets=${options.targets} selected=${draft.targets} onChange=${(/** @type {string[]} */ targets) => change({ targets })} />
    ${(reach > 1 || draft.targets.length > 1 || draft.algo !== "random") && html`<${Field} label="Which server runs a job" name="algo" value=${draft.algo} onInput=${(/** @type {string} */ algo) => change({ algo })}
      options=${options.algorithms.map((one) => [one.id, one.words])} hint="Of those that are online and have a free slot." />`}
  </div><//>`;
}

/**
 * @param {{targets: Target[], selected: string[], onChange: (ids: string[]) => void, name?: string}} props
 */
export function Targets({ targets, selected, onChange, name = "targets" }) {
  const [text, setText] = useState("");
  const wrong = useWrong(name);
  const gone = selected.filter((id) => !targets.some((one) => one.id === id)).map((id) => /** @type {Target} */ ({ id, title: id, kind: "server", online: false, servers: 0 }));
  const all = [...targets, ...gone];
  const words = text.toLowerCase();
  const shown = all.filter((one) => `${one.title} ${one.id}`.toLowerCase().includes(words) || selected.includes(one.id));
  const toggle = (/** @type {string} */ id) => onChange(selected.includes(id) ? selected.filter((one) => one !== id) : [...selected, id]);
  return html`<fieldset class="targets">
    <legend>Run on</legend>
    ${all.length > MANY && html`<input type="search" aria-label="Filter servers and groups" placeholder="Filter servers and groups" value=${text} onInput=${(/** @type {any} */ event) => setText(event.currentTarget.value)} />`}
    <div class="targets-list">${shown.map((one) => html`<label key=${one.id} class="target">
      <input type="checkbox" name=${name} checked=${selected.includes(one.id)} aria-invalid=${wrong ? "true" : undefined} onChange=${() => toggle(one.id)} />
      <span class="target-title">${one.title || one.id}</span>
      <span class="soft">${one.kind === "group" ? `group, ${counted(one.servers, "server")}` : one.servers ? "server" : "unknown"}</span>
      ${!one.online && html`<${State} state="unknown" word=${one.kind === "group" ? "no server online" : "offline"} />`}
    </label>`)}</div>
    ${wrong ? html`<div class="wrong">${wrong}</div>` : html`<div class="hint">A job runs on one server of these. Jobs wait while none is online.</div>`}
  </fieldset>`;
}
