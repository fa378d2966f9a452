/** Lists of timings, limits or actions: each in a frame with its errors, a switch and a way to remove it. */

import { html } from "htm/preact";
import { useId } from "preact/hooks";
import { Button, useErrors } from "../../kit/form.js";

/** @typedef {import("./draft.js").Item} Item */

/**
 * @param {{items: Item[], field: string, onChange: (items: Item[]) => void, titleOf: (item: Item) => string, hintOf?: (item: Item) => any,
 *   known: (item: Item) => string[], children: (item: Item, change: (changes: Record<string, any>) => void, path: string) => any}} props
 *   `field`: the property of the event; `known`: properties that show their errors themselves;
 *   `children`: draws the properties of one
 */
export function Items({ items, field, onChange, titleOf, hintOf, known, children }) {
  const errors = useErrors();
  return html`<div class="items">${items.map((item, place) => {
    const path = `${field}[${place}]`;
    const shown = known(item).map((name) => `${path}.${name}`);
    const others = errors.filter((one) => one.field.startsWith(path) && !shown.includes(one.field));
    const change = (/** @type {Record<string, any>} */ changes) => onChange(items.with(place, { ...item, ...changes }));
    return html`<${Framed} key=${item.key} title=${titleOf(item)} hint=${hintOf?.(item)} isOff=${item.enabled === false} errors=${others.map((one) => one.reason)}
      onSwitch=${(/** @type {boolean} */ enabled) => change({ enabled })} onRemove=${() => onChange(items.toSpliced(place, 1))}>
      ${children(item, change, path)}
    <//>`;
  })}</div>`;
}

/**
 * @param {{title: string, hint: any, isOff: boolean, errors: string[], onSwitch: (isOn: boolean) => void, onRemove: () => void, children?: any}} props
 */
function Framed({ title, hint, isOff, errors, onSwitch, onRemove, children }) {
  const id = useId();
  return html`<div class=${isOff ? "item item-off" : "item"} role="group" aria-labelledby=${id}>
    <div class="item-head">
      <h3 id=${id}>${title}</h3>
      <label class="item-switch"><input type="checkbox" checked=${!isOff} onChange=${(/** @type {any} */ event) => onSwitch(event.currentTarget.checked)} /> Enabled</label>
      <${Button} small kind="quiet" label=${`Remove: ${title}`} onClick=${onRemove}>Remove<//>
    </div>
    ${hint && html`<p class="hint">${hint}</p>`}
    ${errors.length > 0 && html`<div class="wrong" data-wrong tabindex="-1">${errors.join("; ")}</div>`}
    ${children}
  </div>`;
}

/**
 * A menu that adds one of several types.
 * @param {{label: string, options: ([value: string, words: string] | {label: string, options: [value: string, words: string][]})[], onAdd: (value: string) => void}} props
 */
export function Adding({ label, options, onAdd }) {
  const option = (/** @type {[string, string]} */ [value, words]) => html`<option value=${value}>${words}</option>`;
  return html`<select class="adding" aria-label=${label} value="" onChange=${(/** @type {any} */ event) => {
    const { value } = event.currentTarget;
    event.currentTarget.value = "";
    if (value) onAdd(value);
  }}>
    <option value="">${label}…</option>
    ${options.map((one) => (Array.isArray(one) ? option(one) : html`<optgroup label=${one.label}>${one.options.map(option)}</optgroup>`))}
  </select>`;
}
