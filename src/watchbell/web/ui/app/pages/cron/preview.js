/** The next runs of a schedule while it is being edited. */

import { html } from "htm/preact";
import { When } from "../../kit/time.js";

/**
 * @typedef {{at: number, local: string, remark: string}} Fire
 * @typedef {{words: string, zone: string, fires: Fire[], problems: {field: string, reason: string}[]}} Previewed
 */

/** @param {{preview: import("../../runs/preview.js").Preview<Previewed>}} props */
export function Previewing({ preview }) {
  const { value, problem } = preview;
  return html`<div class="preview" role="status" aria-live="polite" aria-label="Next runs">
    ${problem && html`<p class="wrong">${problem.message}</p>`}
    ${value && (value.words ? html`<${Fires} words=${value.words} fires=${value.fires} />` : html`<p class="soft">Enter a schedule to see the next runs.</p>`)}
  </div>`;
}

/** @param {{words: string, fires: Fire[]}} props */
export function Fires({ words, fires }) {
  return html`<p class="preview-words">${words}</p>
    ${fires.length === 0 && html`<p class="soft">No scheduled runs.</p>`}
    <ol class="fires">
      ${fires.map((fire) => html`<li>
        <span>${fire.local || html`<${When} at=${fire.at} as="exact" />`}</span>
        <span class="soft"><${When} at=${fire.at} /></span>
        ${fire.remark && html`<div class="fire-remark">${fire.remark}</div>`}
      </li>`)}
    </ol>`;
}
