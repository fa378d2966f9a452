/** A date and time: typed in words, or picked from the browser's calendar. */

import { html } from "htm/preact";
import { useRef } from "preact/hooks";
import { zoned } from "../times.js";
import { Field } from "./form.js";

/**
 * A field for a date and time in words, with a button that opens a calendar.
 * @param {{label: string, name: string, value: string, onInput: (value: string) => void, hint?: any, problem?: string,
 *   list?: string[], [more: string]: any}} props
 */
export function MomentField({ label, value, onInput, ...more }) {
  const native = useRef(/** @type {HTMLInputElement | null} */ (null));
  const pick = () => {
    const input = native.current;
    if (!input) return;
    input.value = asNative(value);
    input.showPicker();
  };
  const beside = html`<button type="button" class="button moment-button" aria-label=${`Pick a date and time: ${label}`} title="Pick a date and time" onClick=${pick}><${Calendar} /></button>
    <input class="moment-native" type="datetime-local" tabindex="-1" aria-hidden="true" ref=${native}
      onInput=${(/** @type {any} */ event) => event.currentTarget.value && onInput(event.currentTarget.value.replace("T", " "))} />`;
  return html`<${Field} label=${label} value=${value} onInput=${onInput} beside=${beside} ...${more} />`;
}

/** The calendar opens at the typed date, or at the next full hour. @param {string} text */
function asNative(text) {
  const typed = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d)/.exec(text.trim());
  if (typed) return `${typed[1]}T${typed[2]}`;
  return zoned(Math.ceil(Date.now() / 3_600_000) * 3_600).replace(" ", "T");
}

function Calendar() {
  return html`<svg class="mark" viewBox="0 0 16 16" aria-hidden="true"><path d="M2.5 4h11v9.5h-11zM2.5 7h11M5.5 2v3M10.5 2v3" /></svg>`;
}
