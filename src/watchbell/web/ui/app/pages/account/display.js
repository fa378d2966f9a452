/** Display preferences of this browser: theme and time zone. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { useCell } from "../../cell.js";
import { clock, exact, zone } from "../../times.js";
import { Choice, Field } from "../../kit/form.js";
import { Card } from "../../kit/layout.js";

/** @type {[value: string, words: string][]} */
const THEMES = [
  ["", "System"],
  ["light", "Light"],
  ["dark", "Dark"],
];
const OWN = Intl.DateTimeFormat().resolvedOptions().timeZone;
/** @type {[value: string, words: string][]} */
const ZONES = [
  ["", `Browser default (${OWN})`],
  .../** @type {[string, string][]} */ (["UTC", ...Intl.supportedValuesOf("timeZone").filter((name) => name !== "UTC")].map((name) => [name, name])),
];

/** @param {string} name @param {string} value empty to forget it */
function keep(name, value) {
  if (value) localStorage.setItem(name, value);
  else localStorage.removeItem(name);
}

export function Display() {
  const [theme, setTheme] = useState(localStorage.getItem("theme") ?? "");
  const [place, setPlace] = useState(localStorage.getItem("zone") ?? "");
  const now = useCell(clock);
  const setThemeTo = (/** @type {string} */ value) => {
    keep("theme", value);
    if (value) document.documentElement.dataset.theme = value;
    else delete document.documentElement.dataset.theme;
    setTheme(value);
  };
  const setZone = (/** @type {string} */ value) => {
    keep("zone", value);
    setPlace(value);
  };
  return html`<${Card} title="Display in this browser">
    <div class="form">
      <div class="field"><span class="label">Theme</span><div><${Choice} label="Theme" value=${theme} options=${THEMES} onChange=${setThemeTo} /></div></div>
      <${Field} label="Time zone" name="zone" value=${place} options=${ZONES} onInput=${setZone}
        hint=${html`Current time: <span data-zone=${zone()}>${exact(now)}</span>`} />
    </div>
  <//>`;
}
