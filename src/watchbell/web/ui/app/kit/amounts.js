/** Fields for numbers with units, lists of numbers, and instants. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { zoned as written } from "../times.js";
import { instant } from "../zoned.js";
import { Field } from "./form.js";
import { MomentField } from "./moment.js";

/** @typedef {[words: string, size: number][]} Units the smallest first */

/** @type {Units} */
export const SECONDS = [["seconds", 1], ["minutes", 60], ["hours", 3_600], ["days", 86_400]];
/** @type {Units} */
export const BYTES = [["bytes", 1], ["KiB", 1_024], ["MiB", 1_048_576], ["GiB", 1_073_741_824]];

/**
 * An amount with a unit. It is stored in the smallest unit.
 * @param {{label: any, name: string, value: any, onInput: (value: number | string | null) => void, units: Units, unit?: string,
 *   [more: string]: any}} props `unit`: that of an empty field; what is no number is passed on as typed
 */
export function AmountField({ label, name, value, onInput, units, unit, ...more }) {
  const [size, setSize] = useState(() => (typeof value === "number" ? fitting(value, units) : (units.find(([words]) => words === unit)?.[1] ?? 1)));
  const [text, setText] = useState(() => (typeof value === "number" ? String(value / size) : (value ?? "")));
  const change = (/** @type {string} */ typed, /** @type {number} */ by) => {
    setText(typed);
    setSize(by);
    const number = numberOf(typed);
    onInput(typeof number === "number" ? Number((number * by).toPrecision(12)) : number);
  };
  const beside = html`<select aria-label=${`Unit of ${String(label).toLowerCase()}`} onChange=${(/** @type {any} */ event) => change(text, Number(event.currentTarget.value))}>
    ${units.map(([words, one]) => html`<option value=${one} selected=${one === size}>${words}</option>`)}
  </select>`;
  return html`<${Field} label=${label} name=${name} value=${text} inputmode="decimal" onInput=${(/** @type {string} */ typed) => change(typed, size)} beside=${beside} ...${more} />`;
}

/** The largest unit of which it is a multiple. @param {number} value @param {Units} units */
function fitting(value, units) {
  return units.findLast(([, size]) => value >= size && value % size === 0)?.[1] ?? units[0]?.[1] ?? 1;
}

/**
 * A number. What is none is passed on as typed, for the server to refuse.
 * @param {{label: any, name: string, value: any, onInput: (value: number | string | null) => void, [more: string]: any}} props
 */
export function NumberField({ value, onInput, ...more }) {
  const [text, setText] = useState(() => String(value ?? ""));
  const type = (/** @type {string} */ typed) => {
    setText(typed);
    onInput(numberOf(typed));
  };
  return html`<${Field} inputmode="decimal" ...${more} label=${more.label} name=${more.name} value=${text} onInput=${type} />`;
}

/** @param {string} typed @returns {number | string | null} */
function numberOf(typed) {
  const number = Number(typed);
  return typed.trim() === "" ? null : Number.isNaN(number) ? typed : number;
}

/**
 * A list of whole numbers, typed as `0, 15, 30`, `8-18` or `*` `/15`.
 * @param {{label: any, name: string, value: (number | string)[], onInput: (value: (number | string)[]) => void, from: number, to: number,
 *   [more: string]: any}} props `from`, `to`: the range of steps
 */
export function NumbersField({ value, onInput, from, to, ...more }) {
  const [text, setText] = useState(() => collapsed(value));
  const type = (/** @type {string} */ typed) => {
    setText(typed);
    onInput(expanded(typed, from, to));
  };
  return html`<${Field} mono spellcheck=${false} ...${more} label=${more.label} name=${more.name} value=${text} onInput=${type} />`;
}

/** @param {string} typed @param {number} from @param {number} to @returns {(number | string)[]} */
export function expanded(typed, from, to) {
  return typed.split(/[\s,]+/).filter((one) => one && one !== "*").flatMap((one) => {
    const range = /^(?:\*|(\d+)-(\d+))(?:\/(\d+))?$/.exec(one);
    if (!range) return [/^-?\d+$/.test(one) ? Number(one) : one];
    const [first, last, step] = [Number(range[1] ?? from), Number(range[2] ?? to), Number(range[3] ?? 1)];
    if (step < 1 || last < first || last - first > 10_000) return [one];
    return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, i) => first + i * step);
  });
}

/** Three and more in a row as a range. @param {(number | string)[]} numbers */
export function collapsed(numbers) {
  const words = [];
  for (let i = 0; i < numbers.length; i += 1) {
    const first = numbers[i];
    let last = i;
    while (typeof first === "number" && first >= 0 && numbers[last + 1] === first + last - i + 1) last += 1;
    if (last - i < 2) words.push(String(first));
    else words.push(`${first}-${numbers[last]}`);
    if (last - i >= 2) i = last;
  }
  return words.join(", ");
}

/**
 * An instant, typed or picked in the reader's time zone.
 * @param {{label: string, name: string, value: any, onInput: (at: number | string | null) => void, [more: string]: any}} props
 */
export function InstantField({ value, onInput, ...more }) {
  const [text, setText] = useState(() => (typeof value === "number" ? written(value) : (value ?? "")));
  const at = (/** @type {string} */ typed) => (/^\d{4}-\d\d-\d\d[ T]\d\d:\d\d/.test(typed.trim()) ? instant(typed.trim().replace(" ", "T")) : null);
  const type = (/** @type {string} */ typed) => {
    setText(typed);
    onInput(typed.trim() === "" ? null : (at(typed) ?? typed));
  };
  const isWrong = text.trim() !== "" && at(text) === null;
  return html`<${MomentField} placeholder="2026-12-31 08:00" ...${more} label=${more.label} name=${more.name} value=${text} onInput=${type}
    ...${isWrong ? { problem: "Enter a date and time such as 2026-12-31 08:00." } : {}} />`;
}
