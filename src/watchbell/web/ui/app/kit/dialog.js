/** Dialogs, built on the browser's own: they trap the focus, close on Escape and restore the focus. */

import { html } from "htm/preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { Cell, useCell } from "../cell.js";
import { Form } from "./form.js";

/**
 * A dialog, open as long as it is rendered.
 * @param {{title: any, onClose: () => void, wide?: boolean, children?: any}} props
 */
export function Dialog({ title, onClose, wide = false, children }) {
  const id = useId();
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  // A key pressed after it is drawn is meant for it, so it opens before that.
  useLayoutEffect(() => {
    const opener = document.activeElement;
    const shown = dialog.current;
    shown?.showModal();
    // The browser would focus the close button first.
    const first = shown?.querySelector(":is(input, select, textarea):not([tabindex='-1']), .dialog-body .button-main, [type=submit]");
    if (first instanceof HTMLElement) first.focus();
    return () => {
      shown?.close(); // an open dialog would keep the focus
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  return html`<dialog class=${wide ? "dialog dialog-wide" : "dialog"} ref=${dialog} aria-labelledby=${id}
    onCancel=${(/** @type {Event} */ event) => {
      event.preventDefault();
      onClose();
    }}
    onMouseDown=${(/** @type {MouseEvent} */ event) => event.target === dialog.current && onClose()}>
    <div class="dialog-body">
      <div class="dialog-head">
        <h2 id=${id}>${title}</h2>
        <button type="button" class="button button-quiet" aria-label="Close" onClick=${onClose}>✕</button>
      </div>
      ${children}
    </div>
  </dialog>`;
}

/** @typedef {{title: string, words: any, yes: string, kind?: "main" | "danger", act: () => Promise<any>}} Question */

/** @type {Cell<Question | null>} */
const question = new Cell(/** @type {Question | null} */ (null));

/**
 * Asks for confirmation; `words` describe what will happen. If the server refuses, the dialog stays
 * open and shows the error.
 * @param {Question} asked
 */
export function confirm(asked) {
  question.set(asked);
}

export function Questions() {
  const asked = useCell(question);
  if (!asked) return null;
  const close = () => question.set(null);
  const act = async () => {
    await asked.act();
    close();
  };
  return html`<${Dialog} title=${asked.title} onClose=${close}>
    <${Form} onSubmit=${act} submit=${asked.yes} kind=${asked.kind ?? "danger"} cancel=${close}>
      <div>${asked.words}</div>
    <//>
  <//>`;
}
