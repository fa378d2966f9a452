/** What a medium would say of a sample alert; its HTML is shown as it is written, never drawn. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { url, useFetched } from "../../api.js";
import { Dialog } from "../../kit/dialog.js";
import { Field } from "../../kit/form.js";
import { Fetched } from "../../kit/layout.js";

/** @typedef {{part: string, text: string, file: string, wrong: string}} Part */

/** @type {[value: string, words: string][]} */
const KINDS = [
  ["problem", "a problem"],
  ["recovery", "a recovery"],
  ["acknowledgement", "an acknowledgement"],
  ["test", "a test"],
  ["rollup_problem", "a summary of problems"],
  ["rollup_recovery", "the end of a summary"],
];

/** @param {{medium: string, onClose: () => void}} props */
export function Preview({ medium, onClose }) {
  const [kind, setKind] = useState("problem");
  const preview = useFetched(url("/gateways/preview", { medium, kind }));
  return html`<${Dialog} wide title=${`A message by ${medium}`} onClose=${onClose}>
    <div class="stack">
      <${Field} label="About" name="kind" value=${kind} onInput=${setKind} options=${KINDS} />
      <${Fetched} of=${preview} lines=${5}>${(/** @type {{parts: Part[]}} */ told) =>
        told.parts.filter((one) => one.text || one.wrong).map((one) => html`<section key=${one.part}>
          <h3>${one.part} <span class="soft">${one.file ? `by ${one.file}` : "built in"}</span></h3>
          ${one.wrong && html`<p class="bad">${one.wrong}</p>`}
          <pre class="gateway-text" tabindex="0">${one.text}</pre></section>`)}<//>
    </div>
  <//>`;
}
