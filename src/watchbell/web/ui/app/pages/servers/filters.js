/** Filters of lists of servers, and their order. */

import { html } from "htm/preact";
import { Choice, Search } from "../../kit/form.js";
import { groupTitle } from "./words.js";

/** @type {[sort: string, words: string][]} */
const SORTS = [["name", "Name"], ["state", "State"], ["cpu", "CPU"], ["memory", "Memory"], ["jobs", "Jobs"]];

/**
 * @param {{counts: import("./words.js").Counts | null, wanted: {text: string, group: string, state: string, sort: string},
 *   groups: import("./words.js").Group[] | undefined, setQuery: ReturnType<typeof import("../../location.js").useQuery>[1]}} props
 */
export function Filters({ counts, wanted, groups, setQuery }) {
  const numbered = (/** @type {string} */ words, /** @type {number | undefined} */ count) => html`${words}${count !== undefined && html` <span class="soft">${count.toLocaleString("en")}</span>`}`;
  const states = [["", "All"], ["online", numbered("Up", counts?.online)], ["offline", numbered("Down", counts?.offline)], ["alerts", numbered("With alerts", counts?.alerting)], ["disabled", numbered("Disabled", counts?.disabled)]];
  const selected = (/** @type {string} */ name, /** @type {string} */ none) => (/** @type {any} */ event) => setQuery({ [name]: event.currentTarget.value === none ? null : event.currentTarget.value });
  return html`<div class="bar-of">
    <${Search} value=${wanted.text} onSearch=${(/** @type {string} */ text) => setQuery({ text })} placeholder="Filter by name, address or group" />
    <${Choice} label="Filter by state" value=${wanted.state} options=${states} onChange=${(/** @type {string} */ state) => setQuery({ state })} />
    ${(groups?.length || wanted.group) && html`<select aria-label="Filter by group" value=${wanted.group} onChange=${selected("group", "")}>
      <option value="">All groups</option>
      ${[...new Set([...(groups ?? []).map((one) => one.id), ...(wanted.group ? [wanted.group] : [])])].map((id) => html`<option value=${id}>${groupTitle(groups, id)}</option>`)}
    </select>`}
    <select aria-label="Sort by" value=${wanted.sort} onChange=${selected("sort", "name")}>
      ${SORTS.map(([value, words]) => html`<option value=${value}>${words}</option>`)}
    </select>
  </div>`;
}
