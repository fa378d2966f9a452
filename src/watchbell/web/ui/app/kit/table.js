/** Tables: on a phone each row becomes a card; `j` and `k` move between rows, Enter opens one. */

import { html } from "htm/preact";
import { useRef } from "preact/hooks";
import { go } from "../location.js";
import { useKeys } from "../keys.js";
import { Button } from "./form.js";
import { Empty, Failed, Loading } from "./layout.js";

/**
 * @template T
 * @typedef {{head: any, cell: (row: T) => any, kind?: "number" | "main" | "actions" | "tight", hide?: "phone", by?: string}} Column
 *   `main`: takes the remaining width, and is the card's title on a phone; `by`: the order that its
 *   head selects
 */
/** @typedef {{by: string, isReversed: boolean}} Order */

/**
 * @template T
 * @param {{columns: Column<T>[], rows: T[], id: (row: T) => string, to?: (row: T) => string | null,
 *   label: string, keys?: boolean, selected?: Set<string>, onSelect?: (ids: Set<string>) => void,
 *   look?: (row: T) => string, order?: Order, onOrder?: (order: Order) => void}} props
 *   `to`: the page a row opens; `selected` and `onSelect` make rows selectable (`x`); `look`: a class;
 *   `order`: that of the rows
 */
export function Table({ columns, rows, id, to, label, keys = true, selected, onSelect, look, order, onOrder }) {
  const body = useRef(/** @type {HTMLTableSectionElement | null} */ (null));
  const all = () => [...(body.current?.rows ?? [])];
  const current = () => all().findIndex((row) => row.contains(document.activeElement));
  const move = (/** @type {number} */ by) => {
    const found = all();
    const next = current() < 0 ? (by > 0 ? 0 : found.length - 1) : current() + by;
    found[Math.min(Math.max(next, 0), found.length - 1)]?.focus();
  };
  const at = () => rows[current()];
  const toggle = (/** @type {string} */ one) => {
    const changed = new Set(selected);
    if (!changed.delete(one)) changed.add(one);
    onSelect?.(changed);
  };
  useKeys("List", keys ? [
    ["j", "next row", () => move(1)],
    ["k", "previous row", () => move(-1)],
    ...(to ? [/** @type {import("../keys.js").Binding} */ (["Enter", "open the row", () => {
      const row = at();
      const place = row && to(row);
      if (place) go(place);
    }])] : []),
    ...(onSelect ? [/** @type {import("../keys.js").Binding} */ (["x", "select the row", () => {
      const row = at();
      if (row) toggle(id(row));
    }])] : []),
  ] : []);
  const isAll = rows.length > 0 && rows.every((row) => selected?.has(id(row)));
  return html`<div class="table-frame"><table class="table" aria-label=${label}>
    <thead><tr>
      ${onSelect && html`<th class="cell-tight"><input type="checkbox" aria-label="Select all" checked=${isAll}
        onChange=${() => onSelect(isAll ? new Set() : new Set(rows.map(id)))} /></th>`}
      ${columns.map((column) => html`<${Head} column=${column} order=${order} onOrder=${onOrder} />`)}
    </tr></thead>
    <tbody ref=${body}>
      ${rows.map((row) => {
        const place = to?.(row) ?? null;
        const name = id(row);
        return html`<tr key=${name} tabindex="0" class=${`${place ? "row-link" : ""} ${look?.(row) ?? ""}`}
          aria-selected=${onSelect ? String(selected?.has(name) ?? false) : undefined}
          onClick=${(/** @type {MouseEvent} */ event) => place && opens(event) && go(place)}>
          ${onSelect && html`<td class="cell-tight cell-select"><input type="checkbox" aria-label=${`Select ${name}`}
            checked=${selected?.has(name) ?? false} onChange=${() => toggle(name)} /></td>`}
          ${columns.map((column) => html`<td class=${classOf(column)} data-label=${typeof column.head === "string" && column.head ? column.head : undefined}>${column.cell(row)}</td>`)}
        </tr>`;
      })}
    </tbody>
  </table></div>`;
}

/** @param {{column: Column<any>, order: Order | undefined, onOrder: ((order: Order) => void) | undefined}} props */
function Head({ column, order, onOrder }) {
  const { by, head } = column;
  if (!by || !order || !onOrder) return html`<th scope="col" class=${classOf(column)}>${head || html`<span class="unseen">Actions</span>`}</th>`;
  const isCurrent = order.by === by;
  const sorted = order.isReversed ? "descending" : "ascending";
  return html`<th scope="col" class=${classOf(column)} aria-sort=${isCurrent ? sorted : undefined}>
    <button type="button" class="table-order" onClick=${() => onOrder({ by, isReversed: isCurrent ? !order.isReversed : column.kind === "number" })}>${head}
      <span aria-hidden="true">${isCurrent ? (order.isReversed ? "▼" : "▲") : ""}</span></button></th>`;
}

/** @param {Column<any>} column */
function classOf(column) {
  return `${column.kind ? `cell-${column.kind}` : ""} ${column.hide ? `hide-${column.hide}` : ""}`.trim() || undefined;
}

/** Ignores clicks on controls in the row and clicks that end a text selection. @param {MouseEvent} event */
function opens(event) {
  if (event.metaKey || event.ctrlKey || event.shiftKey) return false;
  const inside = event.target instanceof Element && event.target.closest("a, button, input, select, label, summary");
  return !inside && !window.getSelection()?.toString();
}

/**
 * A list from `useList` as a table, with its empty, loading and error states.
 * @param {{list: ReturnType<typeof import("../api.js").useList>, empty: any, [props: string]: any}} props
 *   `empty`: drawn if there are no rows; the rest are Table's
 */
export function Listed({ list, empty, ...props }) {
  if (list.items.length === 0) {
    if (list.problem) return html`<${Failed} problem=${list.problem} retry=${list.reload} />`;
    if (list.isLoading) return html`<${Loading} lines=${6} />`;
    return typeof empty === "string" ? html`<${Empty} title=${empty} />` : empty;
  }
  return html`<${Table} ...${props} rows=${list.items} />
    ${list.problem && html`<${Failed} problem=${list.problem} retry=${list.more} />`}
    ${list.hasMore && html`<div class="more"><${Button} onClick=${list.more} busy=${list.isLoading}>Load more<//></div>`}`;
}
