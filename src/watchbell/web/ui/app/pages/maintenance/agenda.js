/** Maintenance as a list, grouped by the day on which it starts. */

import { html } from "htm/preact";
import { Button } from "../../kit/form.js";
import { Card, Empty } from "../../kit/layout.js";
import { Chip } from "../../kit/state.js";
import { lasting } from "../../times.js";
import { dayAt, hoursName, longDay, momentName, spanName } from "./days.js";
import { isEndless, Kind, title, who } from "./words.js";

/** @typedef {import("./words.js").Window} Window */

/**
 * @param {{windows: Window[], from: number, today: string, isFiltered: boolean, onOpen: (id: string) => void, onPlan: (() => void) | null,
 *   onAll: () => void}} props
 */
export function Agenda({ windows, from, today, isFiltered, onOpen, onPlan, onAll }) {
  if (windows.length === 0) {
    return html`<${Card}><${Empty} title=${isFiltered ? "No maintenance matches these filters." : "No maintenance in this period."}
      action=${html`<div class="actions">${isFiltered && html`<${Button} onClick=${onAll}>Clear filters<//>`}
        ${onPlan && html`<${Button} kind="main" onClick=${onPlan}>Schedule maintenance<//>`}</div>`}>
      <p>During maintenance, failing checks send no alerts.</p><//><//>`;
  }
  const before = windows.filter((one) => one.start < from);
  const after = windows.filter((one) => one.start >= from);
  const days = [...new Set(after.map((one) => dayAt(one.start)))];
  return html`
    ${before.length > 0 && html`<${Part} head="Started earlier" windows=${before} named=${spanName} onOpen=${onOpen} />`}
    ${days.map((day) => html`<${Part} key=${day} head=${`${longDay(day)}${day === today ? ", today" : ""}`} named=${hoursName} onOpen=${onOpen}
      windows=${after.filter((one) => dayAt(one.start) === day)} />`)}`;
}

/** @param {{head: string, windows: Window[], named: (start: number, end: number) => string, onOpen: (id: string) => void}} props */
function Part({ head, windows, named, onOpen }) {
  return html`<${Card} flush title=${head}><ul class="agenda">
    ${windows.map((window) => html`<li key=${window.id} class=${`agenda-item ${window.when === "past" ? "cal-over" : ""}`}>
      <button type="button" class="agenda-button" onClick=${() => onOpen(window.id)}>
        <span class="agenda-when">${isEndless(window) ? `since ${momentName(window.start)}, no end` : named(window.start, window.end)}
          ${!isEndless(window) && html`${" "}<span class="soft">· ${lasting(window.duration, 2)}</span>`}</span>
        <span class="agenda-title">${title(window)}</span>
        <span class="agenda-more"><${Kind} window=${window} />${window.summary && html`<span class="soft">${who(window)}</span>`}
          ${window.when === "current" && html`<${Chip} tone="warn">now<//>`}${window.when === "past" && html`<${Chip} tone="soft">ended<//>`}</span>
      </button></li>`)}
  </ul><//>`;
}
