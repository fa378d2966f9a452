/** Words to take along, and commands to type. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { Button } from "./form.js";

/**
 * Where a browser has no clipboard for us, as without TLS, there is the old way, which takes what is
 * selected, in the same dialog.
 * @param {string} text
 * @param {HTMLElement} beside
 */
function copiedByHand(text, beside) {
  const field = document.createElement("textarea");
  field.className = "unseen";
  field.value = text;
  beside.after(field);
  field.select();
  document.execCommand("copy");
  field.remove();
  beside.focus();
}

/** @param {{text: string, label?: string}} props */
export function Copy({ text, label = "Copy" }) {
  const [isDone, setIsDone] = useState(false);
  const copy = async (/** @type {MouseEvent} */ event) => {
    const button = /** @type {HTMLElement} */ (event.currentTarget);
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      copiedByHand(text, button);
    }
    setIsDone(true);
    setTimeout(() => setIsDone(false), 2000);
  };
  return html`<${Button} small kind="quiet" onClick=${copy} label=${`${label}: ${text}`}>${isDone ? "Copied" : label}<//>`;
}

/** A line to type, with a button that copies it. @param {{text: string}} props */
export function Command({ text }) {
  return html`<div class="command"><code>${text}</code><${Copy} text=${text} /></div>`;
}
