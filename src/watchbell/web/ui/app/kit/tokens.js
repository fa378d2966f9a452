/** A field for several words, shown as removable tokens. */

import { html } from "htm/preact";
import { useId, useRef, useState } from "preact/hooks";

/**
 * @param {{label: string, words: string[], onChange: (words: string[]) => void, hint?: any, problem?: string,
 *   placeholder?: string, list?: string[], split?: boolean, mono?: boolean, onText?: (text: string) => void}} props
 *   `split`: a comma also ends a word
 */
export function Tokens({ label, words, onChange, hint, problem, placeholder, list, split = true, mono = false, onText }) {
  const id = useId();
  const [text, setText] = useState("");
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const type = (/** @type {string} */ typed) => {
    setText(typed);
    onText?.(typed);
  };
  const add = (/** @type {string} */ typed) => {
    const found = (split ? typed.split(",") : [typed]).map((one) => one.trim()).filter(Boolean);
    if (found.length > 0) onChange([...new Set([...words, ...found])]);
    type("");
  };
  const drop = (/** @type {string} */ word) => {
    onChange(words.filter((one) => one !== word));
    input.current?.focus();
  };
  const handleInput = (/** @type {any} */ event) => {
    const now = event.currentTarget.value;
    // A suggestion arrives as a whole word.
    if ((split && now.includes(",")) || (event.inputType === "insertReplacementText" && list?.includes(now))) add(now);
    else type(now);
  };
  const key = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Enter" && text.trim()) {
      event.preventDefault();
      add(text);
    } else if (event.key === "Backspace" && text === "" && words.length > 0) {
      onChange(words.slice(0, -1));
    }
  };
  return html`<div class="field">
    <label for=${id}>${label}</label>
    <div class=${`tokens${problem ? " tokens-wrong" : ""}`} onClick=${() => input.current?.focus()}>
      ${words.map(
        (word) => html`<span class=${`token${mono ? " mono" : ""}`} key=${word}>${word}
          <button type="button" aria-label=${`Remove ${word}`} onClick=${() => drop(word)}>✕</button></span>`,
      )}
      <input id=${id} ref=${input} value=${text} placeholder=${words.length ? "" : placeholder} class=${mono ? "mono" : undefined}
        list=${list ? `${id}-list` : undefined} autocomplete="off" spellcheck=${false}
        aria-invalid=${problem ? "true" : undefined} aria-describedby=${problem || hint ? `${id}-more` : undefined}
        onInput=${handleInput} onKeyDown=${key} onBlur=${() => add(text)} />
    </div>
    ${list && html`<datalist id=${`${id}-list`}>${list.map((one) => html`<option value=${one}></option>`)}</datalist>`}
    ${(problem || hint) && html`<div id=${`${id}-more`} class=${problem ? "wrong" : "hint"}>${problem || hint}</div>`}
  </div>`;
}
