/** How pages look in this browser: light or dark, and whose time they tell. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { useCell } from "../../cell.js";
import { clock, exact, zone } from "../../times.js";
import { Choice, Field } from "../../kit/form.js";
import { Card } from "../../kit/layout.js";

/** @type {[value: string, words: string][]} */
const THEMES = [
  ["", "As the system"],
  ["light", "Light"],
  ["dark", "Dark"],
];
const OWN = Intl.DateTimeFormat().resolvedOptions().timeZone;
/** @type {[value: string, words: string][]} */
const ZONES = [
  ["", `As this browser: ${OWN}`],
  .../** @type {[string, string][]} */ (["UTC", ...Intl.supportedValuesOf("timeZone").filter((name) => name !== "UTC")].map((name) => [name, name])),
];

/** @param {string} name @param {string} value empty to forget it */
function keep(name, value) {
  if (value) localStorage.setItem(name, value);
  else localStorage.removeItem(name);
}

export function Looks() {
  const [theme, setTheme] = useState(localStorage.getItem("theme") ?? "");
  const [place, setPlace] = useState(localStorage.getItem("zone") ?? "");
  const now = useCell(clock);
  const wear = (/** @type {string} */ chosen) => {
    keep("theme", chosen);
    if (chosen) document.documentElement.dataset.theme = chosen;
    else delete document.documentElement.dataset.theme;
    setTheme(chosen);
  };
  const move = (/** @type {string} */ chosen) => {
    keep("zone", chosen);
    setPlace(chosen);
  };
  return html`<${Card} title="This browser">
    <div class="form">
      <div class="field"><span class="label">Colours</span><div><${Choice} label="Colours" value=${theme} options=${THEMES} onChange=${wear} /></div></div>
      <${Field} label="Time zone" name="zone" value=${place} options=${ZONES} onInput=${move}
        hint=${html`Now it is <span data-zone=${zone()}>${exact(now)}</span>.`} />
    </div>
  <//>`;
}
