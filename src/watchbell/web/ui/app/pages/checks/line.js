/** One check in the list, and the heads of the columns. */

import { html } from "htm/preact";
import { url } from "../../api.js";
import { go } from "../../location.js";
import { State } from "../../kit/state.js";
import { Since } from "../../kit/time.js";
import { exact } from "../../times.js";
import { rowId } from "../../kit/virtual_list.js";
import { SubjectLinks, useSubject } from "./subjects.js";

const FRESH_MS = 2000;

/**
 * @param {{row: import("./rows.js").Row, index: number, isSelected: boolean, isCurrent: boolean,
 *   select: (index: number, isRange: boolean) => void}} props
 */
export function Line({ row, index, isSelected, isCurrent, select }) {
  const to = url("/check", { id: row.id });
  const subject = useSubject(row.id, row.last_update);
  const click = (/** @type {MouseEvent} */ event) => {
    if (event.target instanceof Element && event.target.closest("a, input")) return;
    if (event.shiftKey || event.metaKey || event.ctrlKey) select(index, event.shiftKey);
    else if (!window.getSelection()?.toString()) go(to);
  };
  const isFresh = row.changed > 0 && performance.now() - row.changed < FRESH_MS;
  return html`<div role="row" id=${rowId(row.id)} aria-rowindex=${index + 2} aria-selected=${isSelected ? "true" : "false"} onClick=${click}
    class=${`checks-row${isCurrent ? " checks-current" : ""}${isFresh ? " checks-fresh" : ""}${row.enabled ? "" : " checks-off"}`}>
    <span role="gridcell" class="checks-pick"><input type="checkbox" tabindex="-1" checked=${isSelected} aria-label=${`Select ${row.id}`}
      onClick=${(/** @type {MouseEvent} */ event) => select(index, event.shiftKey)} /></span>
    <span role="gridcell" class="checks-is"><${State} state=${row.state} /></span>
    <span role="gridcell" class="checks-name" title=${row.id}><a href=${to} tabindex="-1"><span class="checks-entity">${row.entity}</span> <span class="checks-check">${subject?.title ?? row.check}</span></a><${SubjectLinks} subject=${subject} tabindex="-1" />
      ${row.tags.length > 0 && html`<span class="checks-tags" title=${row.tags.join(", ")}>${row.tags.join(", ")}</span>`}</span>
    <span role="gridcell" class="checks-summary" title=${row.summary}><${Flags} row=${row} />${row.summary}</span>
    <span role="gridcell" class="checks-since"><${Since} since=${row.since} /></span>
  </div>`;
}

/** @param {{row: import("./rows.js").Row}} props */
function Flags({ row }) {
  return html`${row.acknowledged && html`<span class="checks-flag" title=${`until ${exact(row.unscheduled_until ?? 0)}`}><${State} state="acknowledged" /></span>`}
    ${row.scheduled_until !== null && html`<span class="checks-flag" title=${`until ${exact(row.scheduled_until)}`}><${State} state="maintenance" /></span>`}
    ${!row.enabled && html`<span class="checks-flag"><${State} state="disabled" /></span>`}`;
}

/** @type {[sort: string, words: string, look: string][]} */
const COLUMNS = [
  ["severity", "State", "checks-is"],
  ["name", "Check", "checks-name"],
  ["", "Summary", "checks-summary"],
  ["age", "Duration", "checks-since"],
];

/**
 * @param {{by: import("./filter.js").Wanted, change: import("./bar.js").Change, isAll: boolean, all: () => void, clear: () => void}} props
 */
export function Head({ by, change, isAll, all, clear }) {
  const sorted = (/** @type {string} */ sort) => (by.sort !== sort ? "none" : by.isReversed === (sort === "name" || sort === "age") ? "descending" : "ascending");
  return html`<span role="columnheader" class="checks-pick"><input type="checkbox" aria-label="Select all" checked=${isAll} onChange=${() => (isAll ? clear() : all())} /></span>
    ${COLUMNS.map(([sort, words, look]) =>
      sort === ""
        ? html`<span role="columnheader" class=${look}>${words}</span>`
        : html`<span role="columnheader" class=${look} aria-sort=${sorted(sort)}>
            <button type="button" onClick=${() => change({ sort: sort === "severity" ? null : sort, reverse: by.sort === sort && !by.isReversed ? "true" : null })}>
              ${words}${by.sort === sort && html` <span aria-hidden="true">${by.isReversed ? "↑" : "↓"}</span>`}</button>
          </span>`,
    )}`;
}
