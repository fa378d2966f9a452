/** The groups whose servers a definition is about. */

import { html } from "htm/preact";
import { useFetched } from "../../api.js";
import { Toggle } from "../../kit/form.js";

/** @param {{chosen: string[], onChange: (ids: string[]) => void, none: string, some: string}} props `none`, `some`: what the selection means */
export function GroupField({ chosen, onChange, none, some }) {
  const known = /** @type {{id: string, title: string}[]} */ (useFetched("/groups").value?.items ?? []);
  const gone = chosen.filter((id) => !known.some((one) => one.id === id)).map((id) => ({ id, title: id }));
  const all = [...known, ...gone];
  if (all.length === 0) return null;
  const toggle = (/** @type {string} */ id, /** @type {boolean} */ isOn) => onChange(isOn ? [...chosen, id] : chosen.filter((one) => one !== id));
  return html`<fieldset class="group-choice"><legend>Groups</legend>
    <div class="group-choices">${all.map((one) => html`<${Toggle} key=${one.id} name=${`group-${one.id}`} label=${one.title} checked=${chosen.includes(one.id)} onChange=${(/** @type {boolean} */ isOn) => toggle(one.id, isOn)} />`)}</div>
    <div class="hint">${chosen.length === 0 ? none : some}</div>
  </fieldset>`;
}
