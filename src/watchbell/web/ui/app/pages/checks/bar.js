/** The filter bar above the list of checks. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { Search } from "../../kit/form.js";
import { State } from "../../kit/state.js";
import { SHOWS, SORTS } from "./filter.js";

/**
 * @typedef {import("./filter.js").Wanted} Wanted
 * @typedef {(changes: Record<string, string | string[] | null>) => void} Change of the query
 */

const STATES = /** @type {const} */ (["critical", "warning", "unknown", "ok"]);

/**
 * @param {{by: Wanted, change: Change, table: import("./check_table.js").CheckTable | null, isSmall: boolean}} props
 *   `isSmall`: phones have no column headers, so the sort order is selected here
 */
export function Bar({ by, change, table, isSmall }) {
  return html`<div class="bar-of checks-bar">
    <${Search} value=${by.text} onSearch=${(/** @type {string} */ text) => change({ text })} placeholder="Filter by name or summary" label="Filter checks" />
    <div class="checks-states" role="group" aria-label="States">
      ${STATES.map((state) => html`<${Toggle} state=${state} by=${by} change=${change} count=${table?.counts[state]} />`)}
    </div>
    <select aria-label="Show" value=${by.show} onChange=${(/** @type {any} */ event) => change({ show: event.currentTarget.value })}>
      ${SHOWS.map(([value, words]) => html`<option value=${value} selected=${value === by.show}>${words}</option>`)}
    </select>
    ${isSmall && html`<select aria-label="Sort by" value=${by.sort} onChange=${(/** @type {any} */ event) => change({ sort: event.currentTarget.value, reverse: null })}>
      ${SORTS.map(([value, words]) => html`<option value=${value} selected=${value === by.sort}>${words}</option>`)}
    </select>`}
    ${table && html`<${Adder} known=${(/** @type {string} */ part) => table.suggestions(part)} onAdd=${(/** @type {string} */ name) => {
      if (table.isTag(name)) change({ tag: [...new Set([...by.tags, name])] });
      else change({ entity: [...new Set([...by.entities, name])] });
    }} />`}
    ${by.tags.length + by.entities.length > 0 && html`<div class="checks-narrowed">
    ${by.tags.map((tag) => html`<${ActiveFilter} what="tag" name=${tag} onRemove=${() => change({ tag: by.tags.filter((one) => one !== tag) })} />`)}
    ${by.entities.map((name) => html`<${ActiveFilter} what="entity" name=${name} onRemove=${() => change({ entity: by.entities.filter((one) => one !== name) })} />`)}</div>`}
  </div>`;
}

/** @param {{state: import("./rows.js").State, by: Wanted, change: Change, count: number | undefined}} props */
function Toggle({ state, by, change, count }) {
  const isSelected = by.states.includes(state);
  const states = isSelected ? by.states.filter((one) => one !== state) : [...by.states, state];
  return html`<button type="button" class="checks-state" aria-pressed=${isSelected ? "true" : "false"} onClick=${() => change({ state: states })}>
    <${State} state=${state} /> <span class="checks-count">${count === undefined ? "" : count.toLocaleString("en")}</span>
  </button>`;
}

/** @param {{what: string, name: string, onRemove: () => void}} props */
function ActiveFilter({ what, name, onRemove }) {
  return html`<span class="checks-selected"><span class="soft">${what}</span> ${name}
    <button type="button" aria-label=${`Remove ${what} ${name}`} onClick=${onRemove}>✕</button></span>`;
}

/**
 * A field with suggestions; a selected suggestion or Enter adds a filter.
 * @param {{known: (part: string) => [name: string, what: string][], onAdd: (name: string) => void}} props
 */
function Adder({ known, onAdd }) {
  const [text, setText] = useState("");
  const [isUsed, setIsUsed] = useState(false);
  const offered = isUsed ? known(text) : [];
  const take = (/** @type {string} */ name) => {
    setText("");
    if (name.trim()) onAdd(name.trim());
  };
  return html`<input class="checks-adder" type="text" list="checks-names" aria-label="Filter by tag or entity" placeholder="Tag or entity" value=${text} autocomplete="off"
      onFocus=${() => setIsUsed(true)} onBlur=${() => setIsUsed(false)}
      onInput=${(/** @type {any} */ event) => {
        const typed = event.currentTarget.value;
        // A suggestion arrives as a whole, typed text letter by letter.
        if (!(event.inputType ?? "").startsWith("insertT") && offered.some(([name]) => name === typed)) take(typed);
        else setText(typed);
      }}
      onKeyDown=${(/** @type {KeyboardEvent} */ event) => {
        if (event.key === "Enter") take(text);
        if (event.key === "Escape") setText("");
      }} />
    <datalist id="checks-names">${offered.map(([name, what]) => html`<option value=${name} label=${what}></option>`)}</datalist>`;
}
