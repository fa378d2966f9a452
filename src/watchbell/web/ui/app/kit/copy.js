/** Copy buttons, and commands to paste into a terminal. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { Button } from "./form.js";

/**
 * Without TLS browsers offer no clipboard API. The old way copies the selection, which has to be
 * inside the open dialog.
 * @param {string} text
 * @param {HTMLElement} beside
 */
function copySelection(text, beside) {
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
      copySelection(text, button);
    }
    setIsDone(true);
    setTimeout(() => setIsDone(false), 2000);
  };
  return html`<${Button} small kind="quiet" onClick=${copy} label=${`${label}: ${text}`}>${isDone ? "Copied" : label}<//>`;
}

/** A command with a copy button. @param {{text: string}} props */
export function Command({ text }) {
  return html`<div class="command"><code>${text}</code><${Copy} text=${text} /></div>`;
}
