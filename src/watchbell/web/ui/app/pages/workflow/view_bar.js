/** The buttons above a graph that change only the view. */

import { html } from "htm/preact";
import { Button } from "../../kit/form.js";

/** @type {Record<string, string>} */
const SHORT = { fit: "Fit", in: "+", out: "−" };

/** @param {{commands: import("./commands.js").Command[], children?: any}} props */
export function ViewBar({ commands, children }) {
  return html`<div class="workflow-bar" role="toolbar" aria-label="Graph">${children}<span class="workflow-gap"></span>
    <span class="workflow-group">${commands.map((one) => html`<${Button} key=${one.id} onClick=${one.act} title=${`${one.words} (${one.keys[0]})`} label=${one.words}>${SHORT[one.id] ?? html`<${FullIcon} />`}<//>`)}</span></div>`;
}

export function FullIcon() {
  return html`<svg class="mark" viewBox="0 0 16 16" aria-hidden="true"><path d="M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4" /></svg>`;
}
