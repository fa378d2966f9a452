/** Preview of a gateway's messages; HTML is shown as source, never rendered. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { url, useFetched } from "../../api.js";
import { Dialog } from "../../kit/dialog.js";
import { Field } from "../../kit/form.js";
import { Fetched } from "../../kit/layout.js";

/** @typedef {{part: string, text: string, file: string, wrong: string}} Part */

/** @type {[value: string, words: string][]} */
const KINDS = [
  ["problem", "Problem"],
  ["recovery", "Recovery"],
  ["acknowledgement", "Acknowledgement"],
  ["test", "Test"],
  ["rollup_problem", "Summary of problems"],
  ["rollup_recovery", "End of a summary"],
];

/** @param {{medium: string, onClose: () => void}} props */
export function Preview({ medium, onClose }) {
  const [kind, setKind] = useState("problem");
  const preview = useFetched(url("/gateways/preview", { medium, kind }));
  return html`<${Dialog} wide title=${`Message preview: ${medium}`} onClose=${onClose}>
    <div class="stack">
      <${Field} label="Kind" name="kind" value=${kind} onInput=${setKind} options=${KINDS} />
      <${Fetched} of=${preview} lines=${5}>${(/** @type {{parts: Part[]}} */ found) =>
        found.parts.filter((one) => one.text || one.wrong).map((one) => html`<section key=${one.part}>
          <h3>${one.part} <span class="soft">${one.file ? `from ${one.file}` : "built in"}</span></h3>
          ${one.wrong && html`<p class="bad">${one.wrong}</p>`}
          <pre class="gateway-text" tabindex="0">${one.text}</pre></section>`)}<//>
    </div>
  <//>`;
}
