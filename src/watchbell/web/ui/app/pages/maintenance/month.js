/** The month view of the calendar. */

import { html } from "htm/preact";
import { beginning, dayNumber, longDay, plus, time, weekday } from "./days.js";
import { barred, isLong } from "./layout.js";
import { useSelecting } from "./selecting.js";
import { Piece } from "./week.js";
import { counted } from "../../words.js";
import { kindWord, lookOf, title } from "./words.js";

/** @typedef {import("./words.js").Window} Window */

const SHOWN = 4;
const BARS = 2;
const STEPS = /** @type {Record<string, number>} */ ({ ArrowRight: 1, ArrowLeft: -1, ArrowDown: 7, ArrowUp: -7 });

/**
 * @param {{days: string[], month: string, windows: Window[], today: string, canPlan: boolean,
 *   onPlan: (start: number, end: number) => void, onOpen: (id: string) => void, onMore: (day: string) => void}} props
 *   `month`: as `2026-11`
 */
export function Month({ days, month, windows, today, canPlan, onPlan, onOpen, onMore }) {
  const at = (/** @type {PointerEvent} */ event) => {
    const cells = [...(selecting.ground.current?.querySelectorAll("[data-day]") ?? [])];
    const found = cells.findIndex((cell) => {
      const box = cell.getBoundingClientRect();
      return event.clientX >= box.left && event.clientX < box.right && event.clientY >= box.top && event.clientY < box.bottom;
    });
    return found < 0 ? null : found;
  };
  const selecting = useSelecting({
    count: days.length,
    at,
    step: (index, key) => {
      if (key === "Home") return index - (index % 7);
      if (key === "End") return index - (index % 7) + 6;
      return key in STEPS ? index + (STEPS[key] ?? 0) : null;
    },
    first: () => Math.max(0, days.indexOf(today)),
    onDone: ({ from, to }) => {
      onPlan(beginning(days[from] ?? today), beginning(plus(days[to] ?? today, 1)));
      selecting.clear();
    },
  });
  const stretch = selecting.stretch;
  const weeks = Array.from({ length: days.length / 7 }, (_, index) => days.slice(index * 7, index * 7 + 7));
  return html`<div class="month">
    <div class="month-heads" aria-hidden="true">${days.slice(0, 7).map((day) => html`<div>${weekday(day)}</div>`)}</div>
    <div class="month-weeks" ref=${selecting.ground} ...${canPlan ? selecting.handlers : {}} tabindex=${canPlan ? 0 : undefined}
      role=${canPlan ? "application" : "group"} aria-label="Month" aria-roledescription="calendar"
      aria-description=${canPlan ? "Arrow keys move, Shift extends, Enter schedules maintenance" : undefined}>
      ${weeks.map((week, row) => {
        const edges = [...week, plus(week[6] ?? "", 1)].map(beginning);
        const { bars, hidden } = barred(windows.filter(isLong), edges, BARS);
        const rows = bars.length === 0 ? 0 : Math.max(...bars.map((bar) => bar.row)) + 1;
        const rest = [...windows.filter((one) => !isLong(one)), ...hidden];
        return html`<div class="month-week">
          ${week.map((day, column) => {
            const index = row * 7 + column;
            const isSelected = stretch !== null && index >= stretch.from && index <= stretch.to;
            return html`<${Cell} key=${day} day=${day} windows=${rest} bars=${rows} isToday=${day === today} isOther=${!day.startsWith(month)}
              isSelected=${isSelected} isHead=${selecting.head === index} onOpen=${onOpen} onMore=${onMore} />`;
          })}
          <div class="month-bars">${bars.map((bar) => html`<${Piece} key=${bar.window.id} window=${bar.window} onOpen=${onOpen} isNarrow
            style=${{ gridColumn: `${bar.first + 1} / ${bar.last + 2}`, gridRow: bar.row + 1 }} />`)}</div>
        </div>`;
      })}
    </div>
    <div class="unseen" role="status" aria-live="polite">${stretch && `${longDay(days[stretch.from] ?? "")}${stretch.to > stretch.from ? ` to ${longDay(days[stretch.to] ?? "")}` : ""}`}</div>
  </div>`;
}

/**
 * @param {{day: string, windows: Window[], bars: number, isToday: boolean, isOther: boolean, isSelected: boolean, isHead: boolean,
 *   onOpen: (id: string) => void, onMore: (day: string) => void}} props
 */
function Cell({ day, windows, bars, isToday, isOther, isSelected, isHead, onOpen, onMore }) {
  const [start, end] = [beginning(day), beginning(plus(day, 1))];
  const here = windows.filter((one) => one.start < end && one.end > start);
  const room = SHOWN - bars;
  const shown = here.length > room ? here.slice(0, room - 1) : here;
  const look = `month-day${isToday ? " cal-today" : ""}${isOther ? " month-other" : ""}${isSelected ? " month-selected" : ""}${isHead ? " month-head" : ""}`;
  return html`<div class=${look} data-day=${day}>
    <div class="month-number">${dayNumber(day)}</div>
    ${Array.from({ length: bars }, () => html`<div class="month-bar"></div>`)}
    ${shown.map((window) => {
      const begins = window.start >= start;
      return html`<button key=${window.id} type="button" class=${`month-piece cal-piece ${lookOf(window)}`} onClick=${() => onOpen(window.id)}
        aria-label=${`${kindWord(window)}, ${begins ? `from ${time(window.start)}` : "since before"}: ${title(window)}, ${counted(window.count, "check")}`}>
        ${begins ? html`<span class="month-time">${time(window.start)}</span> ` : html`<span class="month-time" aria-hidden="true">…</span> `}${title(window)}</button>`;
    })}
    ${here.length > shown.length && html`<button type="button" class="month-more" onClick=${() => onMore(day)}
      aria-label=${`${here.length - shown.length} more on ${longDay(day)}`}>+${here.length - shown.length} more</button>`}
  </div>`;
}
