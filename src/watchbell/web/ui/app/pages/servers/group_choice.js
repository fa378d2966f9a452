/** The groups of a server: by its hostname, or selected by hand. */

import { html } from "htm/preact";
import { Toggle } from "../../kit/form.js";

/**
 * @param {{groups: import("./words.js").Group[], chosen: string[], onChange: (ids: string[]) => void}} props
 */
export function GroupChoice({ groups, chosen, onChange }) {
  if (groups.length === 0) return null;
  const toggle = (/** @type {string} */ id, /** @type {boolean} */ isOn) => onChange(isOn ? [...chosen, id] : chosen.filter((one) => one !== id));
  return html`<fieldset class="group-choice"><legend>Groups</legend>
    <div class="group-choices">${groups.map((one) => html`<${Toggle} key=${one.id} name=${`group-${one.id}`} label=${one.title} checked=${chosen.includes(one.id)} onChange=${(/** @type {boolean} */ isOn) => toggle(one.id, isOn)} />`)}</div>
    <div class="hint">${chosen.length === 0 ? "None selected: those whose pattern matches its hostname." : "Only these, whatever its hostname is."}</div>
  </fieldset>`;
}
