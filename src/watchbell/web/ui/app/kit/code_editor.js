/** A field for code: line numbers, and a Tab key that indents. */

import { html } from "htm/preact";
import { useId, useMemo, useRef } from "preact/hooks";
import { useWrong } from "./form.js";

const FEWEST = 6;
const MOST = 28;
const INDENT = "\t";

/**
 * Tab indents and Shift+Tab takes it back. After Escape the next Tab leaves the field, as everywhere
 * else.
 * @param {{label: any, name: string, value: string, onInput: (value: string) => void, hint?: any, problem?: string,
 *   disabled?: boolean, placeholder?: string, rows?: number}} props `rows`: the fewest
 */
export function CodeEditor({ label, name, value, onInput, hint, problem, disabled, placeholder, rows = FEWEST }) {
  const id = useId();
  const gutter = useRef(/** @type {HTMLPreElement | null} */ (null));
  const isLeaving = useRef(false);
  const refused = useWrong(name);
  const wrong = problem || refused;
  const count = useMemo(() => value.split("\n").length, [value]);
  const numbers = useMemo(() => Array.from({ length: count }, (_, i) => i + 1).join("\n"), [count]);
  const type = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Escape" && !isLeaving.current) {
      isLeaving.current = true;
      event.preventDefault(); // a dialog around it stays open
      event.stopPropagation();
    } else if (event.key === "Tab" && !isLeaving.current && !event.ctrlKey && !event.altKey && !event.metaKey) {
      event.preventDefault();
      const area = /** @type {HTMLTextAreaElement} */ (event.currentTarget);
      if (event.shiftKey) outdent(area);
      else insert(area, INDENT);
    } else if (event.key !== "Tab" && event.key !== "Shift") {
      isLeaving.current = false;
    }
  };
  return html`<div class="field">
    <label for=${id}>${label}</label>
    <div class=${wrong ? "code code-wrong" : "code"}>
      <pre class="code-numbers" ref=${gutter} aria-hidden="true">${numbers}</pre>
      <textarea id=${id} name=${name} class="mono" wrap="off" rows=${Math.min(MOST, Math.max(rows, count + 1))} value=${value} disabled=${disabled}
        placeholder=${placeholder} spellcheck=${false} autocomplete="off" autocapitalize="off" aria-invalid=${wrong ? "true" : undefined}
        aria-describedby=${`${id}-more`} onKeyDown=${type} onBlur=${() => void (isLeaving.current = false)}
        onInput=${(/** @type {any} */ event) => onInput(event.currentTarget.value)}
        onScroll=${(/** @type {any} */ event) => gutter.current && (gutter.current.scrollTop = event.currentTarget.scrollTop)}></textarea>
    </div>
    <div id=${`${id}-more`} class=${wrong ? "wrong" : "hint"}>${wrong || hint}<span class="code-keys">${(wrong || hint) && " "}Tab indents. To leave with the keyboard, press Escape, then Tab.</span></div>
  </div>`;
}

/**
 * Types text, so that the browser can undo it.
 * @param {HTMLTextAreaElement} area @param {string} text
 */
function insert(area, text) {
  if (!document.execCommand("insertText", false, text)) {
    area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
    area.dispatchEvent(new InputEvent("input", { bubbles: true }));
  }
}

/** Takes one step of indentation from the line of the caret. @param {HTMLTextAreaElement} area */
function outdent(area) {
  const [place, { value }] = [area.selectionStart, area];
  const start = value.lastIndexOf("\n", place - 1) + 1;
  const found = /^(?:\t| {1,4})/.exec(value.slice(start, start + 4));
  if (!found) return;
  area.setSelectionRange(start, start + found[0].length);
  insert(area, "");
  const back = Math.max(start, place - found[0].length);
  area.setSelectionRange(back, back);
}
