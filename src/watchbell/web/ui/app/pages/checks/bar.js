/** The bar above the list: words, states, tags and entities that are wanted. */

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
 * @param {{by: Wanted, change: Change, board: import("./board.js").Board | null, isSmall: boolean}} props
 *   `isSmall`: on phones the order is chosen here, where no columns have heads
 */
export function Bar({ by, change, board, isSmall }) {
  return html`<div class="bar-of checks-bar">
    <${Search} value=${by.text} onSearch=${(/** @type {string} */ text) => change({ text })} placeholder="Name or summary" label="Filter checks" />
    <div class="checks-states" role="group" aria-label="States">
      ${STATES.map((state) => html`<${Toggle} state=${state} by=${by} change=${change} count=${board?.counts[state]} />`)}
    </div>
    <select aria-label="Show" value=${by.show} onChange=${(/** @type {any} */ event) => change({ show: event.currentTarget.value })}>
      ${SHOWS.map(([value, words]) => html`<option value=${value} selected=${value === by.show}>${words}</option>`)}
    </select>
    ${isSmall && html`<select aria-label="Order" value=${by.sort} onChange=${(/** @type {any} */ event) => change({ sort: event.currentTarget.value, reverse: null })}>
      ${SORTS.map(([value, words]) => html`<option value=${value} selected=${value === by.sort}>${words}</option>`)}
    </select>`}
    ${board && html`<${Adder} known=${(/** @type {string} */ part) => board.named(part)} onAdd=${(/** @type {string} */ name) => {
      if (board.isTag(name)) change({ tag: [...new Set([...by.tags, name])] });
      else change({ entity: [...new Set([...by.entities, name])] });
    }} />`}
    ${by.tags.length + by.entities.length > 0 && html`<div class="checks-narrowed">
    ${by.tags.map((tag) => html`<${Chosen} what="tag" name=${tag} onRemove=${() => change({ tag: by.tags.filter((one) => one !== tag) })} />`)}
    ${by.entities.map((name) => html`<${Chosen} what="entity" name=${name} onRemove=${() => change({ entity: by.entities.filter((one) => one !== name) })} />`)}</div>`}
  </div>`;
}

/** @param {{state: import("./rows.js").State, by: Wanted, change: Change, count: number | undefined}} props */
function Toggle({ state, by, change, count }) {
  const isChosen = by.states.includes(state);
  const states = isChosen ? by.states.filter((one) => one !== state) : [...by.states, state];
  return html`<button type="button" class="checks-state" aria-pressed=${isChosen ? "true" : "false"} onClick=${() => change({ state: states })}>
    <${State} state=${state} /> <span class="checks-count">${count === undefined ? "" : count.toLocaleString("en")}</span>
  </button>`;
}

/** @param {{what: string, name: string, onRemove: () => void}} props */
function Chosen({ what, name, onRemove }) {
  return html`<span class="checks-chosen"><span class="soft">${what}</span> ${name}
    <button type="button" aria-label=${`Remove ${what} ${name}`} onClick=${onRemove}>✕</button></span>`;
}

/**
 * A field that offers what there is; what is chosen, or typed and entered, is taken.
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
  return html`<input class="checks-adder" type="text" list="checks-names" aria-label="Only checks of this tag or entity" placeholder="Tag or entity" value=${text} autocomplete="off"
      onFocus=${() => setIsUsed(true)} onBlur=${() => setIsUsed(false)}
      onInput=${(/** @type {any} */ event) => {
        const typed = event.currentTarget.value;
        // One that was chosen comes whole at once, where typing adds a letter at a time.
        if (!(event.inputType ?? "").startsWith("insertT") && offered.some(([name]) => name === typed)) take(typed);
        else setText(typed);
      }}
      onKeyDown=${(/** @type {KeyboardEvent} */ event) => {
        if (event.key === "Enter") take(text);
        if (event.key === "Escape") setText("");
      }} />
    <datalist id="checks-names">${offered.map(([name, what]) => html`<option value=${name} label=${what}></option>`)}</datalist>`;
}
