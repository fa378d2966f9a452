/** A JSON object, edited as text. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { CodeEditor } from "../../kit/code_editor.js";

/**
 * A JSON object as text; while it can't be read, the text is passed on for the server to refuse.
 * @param {{label: string, name: string, value: any, onInput: (value: any) => void, hint?: any}} props
 */
export function ObjectEditor({ label, name, value, onInput, hint }) {
  const [text, setText] = useState(() => (Object.keys(value).length > 0 ? JSON.stringify(value, null, 2) : ""));
  const type = (/** @type {string} */ typed) => {
    setText(typed);
    onInput(objectOf(typed));
  };
  return html`<${CodeEditor} label=${label} name=${name} rows=${3} value=${text} onInput=${type} hint=${hint} />`;
}

/** @param {string} typed */
function objectOf(typed) {
  try {
    return typed.trim() === "" ? {} : JSON.parse(typed);
  } catch {
    return typed;
  }
}
