/** The week view of the calendar; days with a clock change are longer or shorter. */

import { html } from "htm/preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { beginning, DAY, dayNumber, HOUR, plus, SLOT, slots, spanName, time, weekday, zoneName } from "./days.js";
import { barred, isLong, placed } from "./layout.js";
import { useSelecting } from "./selecting.js";
import { kindWord, lookOf, title, who } from "./words.js";

/** @typedef {import("./words.js").Window} Window */

const LANES = 3;
const BARS = 4;
const FIRST_SHOWN = 7.5 * HOUR;

/**
 * @param {{days: string[], windows: Window[], today: string, now: number, canPlan: boolean,
 *   onPlan: (start: number, end: number) => void, onOpen: (id: string) => void, onMore: (day: string) => void}} props
 */
export function Week({ days, windows, today, now, canPlan, onPlan, onOpen, onMore }) {
  const columns = days.map((day) => ({ day, slots: slots(day), start: beginning(day), end: beginning(plus(day, 1)) }));
  const all = columns.flatMap((column) => column.slots);
  const offsets = columns.map((_, index) => columns.slice(0, index).reduce((sum, one) => sum + one.slots.length, 0));
  const frame = useRef(/** @type {HTMLElement | null} */ (null));

  const at = (/** @type {PointerEvent} */ event) => {
    for (const [index, element] of [...(selecting.ground.current?.querySelectorAll("[data-day]") ?? [])].entries()) {
      const box = element.getBoundingClientRect();
      if (event.clientX < box.left || event.clientX >= box.right) continue;
      const column = columns[index];
      if (!column) return null;
      const share = (event.clientY - box.top) / box.height;
      const slot = Math.floor((share * (column.end - column.start)) / SLOT);
      return (offsets[index] ?? 0) + Math.min(Math.max(slot, 0), column.slots.length - 1);
    }
    return null;
  };
  const columnOf = (/** @type {number} */ index) => offsets.findLastIndex((offset) => offset <= index);
  const step = (/** @type {number} */ index, /** @type {string} */ key) => {
    const column = columnOf(index);
    const within = index - (offsets[column] ?? 0);
    const last = (columns[column]?.slots.length ?? 1) - 1;
    if (key === "ArrowDown") return index + 1;
    if (key === "ArrowUp") return index - 1;
    if (key === "Home") return index - within;
    if (key === "End") return index + last - within;
    const next = column + (key === "ArrowRight" ? 1 : key === "ArrowLeft" ? -1 : 0);
    if (next === column) return null;
    return columns[next] ? (offsets[next] ?? 0) + Math.min(within, columns[next].slots.length - 1) : index;
  };
  const end = (/** @type {number} */ index) => Math.min((all[index] ?? 0) + SLOT, columns.at(-1)?.end ?? Infinity);
  const selecting = useSelecting({
    count: all.length,
    at,
    step,
    first: () => Math.max(0, all.findIndex((slot) => slot > now && slot < (columns.at(-1)?.end ?? 0))),
    onDone: ({ from, to }, isPoint) => {
      const start = all[from] ?? 0;
      onPlan(start, isPoint ? start + HOUR : end(to));
      selecting.clear();
    },
  });
  // Nobody is to point at a time that moves away when it is drawn.
  useLayoutEffect(() => {
    const [box, element] = [frame.current, selecting.ground.current];
    if (!box || !element) return;
    const column = columns.findIndex((one) => one.day === today);
    const first = column < 0 ? FIRST_SHOWN : now - (columns[column]?.start ?? now) - 3 * HOUR;
    box.scrollTop = (first / DAY) * element.clientHeight;
    const day = element.querySelectorAll("[data-day]")[column];
    if (day instanceof HTMLElement) box.scrollLeft = day.offsetLeft - (box.clientWidth - day.offsetWidth) / 2;
  }, [days[0]]);
  useLayoutEffect(() => {
    if (selecting.head !== null) selecting.ground.current?.querySelector(".cal-selected-head")?.scrollIntoView({ block: "nearest" });
  }, [selecting.head]);

  const stretch = selecting.stretch;
  const selected = stretch && { start: all[stretch.from] ?? 0, end: end(stretch.to), head: all[selecting.head ?? 0] ?? 0 };
  const long = windows.filter(isLong);
  const short = windows.filter((window) => !isLong(window));
  return html`<div class="cal" ref=${frame}>
    <div class="cal-top">
      <div class="cal-heads"><div class="cal-corner soft">${zoneName(columns[0]?.start ?? now)}</div>
        ${columns.map(({ day, start, end: until }) => html`<div class=${day === today ? "cal-head cal-today" : "cal-head"}>
          <span>${weekday(day)}</span> <strong>${dayNumber(day)}</strong>
          ${until - start !== DAY && html`<span class="cal-odd" title="The clocks change on this day">${(until - start) / HOUR} h</span>`}</div>`)}
      </div>
      <${Bars} windows=${long} days=${days} edges=${[...columns.map((one) => one.start), columns.at(-1)?.end ?? 0]} onOpen=${onOpen} onMore=${onMore} />
    </div>
    <div class="cal-days" ref=${selecting.ground} ...${canPlan ? selecting.handlers : {}} tabindex=${canPlan ? 0 : undefined}
      role=${canPlan ? "application" : "group"} aria-label="Week" aria-roledescription="calendar"
      aria-description=${canPlan ? "Arrow keys move, Shift extends, Enter schedules maintenance" : undefined}>
      <${Hours} column=${columns.find((one) => one.end - one.start === DAY) ?? columns[0]} />
      ${columns.map((column) => html`<${Column} key=${column.day} column=${column} windows=${short} now=${now} selected=${selected} onOpen=${onOpen} onMore=${onMore} />`)}
    </div>
    <div class="unseen" role="status" aria-live="polite">${selected && spanName(selected.start, selected.end)}</div>
  </div>`;
}

/** @param {{column: {slots: number[], start: number, end: number} | undefined}} props */
function Hours({ column }) {
  if (!column) return null;
  const hours = column.slots.filter((slot) => time(slot).endsWith(":00")).slice(1);
  return html`<div class="cal-hours" aria-hidden="true">
    ${hours.map((slot) => html`<span style=${{ top: share(slot, column) }}>${time(slot)}</span>`)}</div>`;
}

/** @param {number} moment @param {{start: number, end: number}} column */
const share = (moment, { start, end }) => `${((moment - start) / (end - start)) * 100}%`;

/**
 * @param {{column: {day: string, slots: number[], start: number, end: number}, windows: Window[], now: number,
 *   selected: {start: number, end: number, head: number} | null, onOpen: (id: string) => void, onMore: (day: string) => void}} props
 */
function Column({ column, windows, now, selected, onOpen, onMore }) {
  const { day, start, end } = column;
  const isOdd = end - start !== DAY;
  const { blocks, rests } = placed(windows, start, end, LANES);
  const place = (/** @type {{start: number, end: number, lane: number, lanes: number}} */ one) => ({
    top: share(one.start, column),
    height: `calc(${((one.end - one.start) / (end - start)) * 100}% - 1px)`,
    left: `calc(${(one.lane / one.lanes) * 100}% + 1px)`,
    width: `calc(${100 / one.lanes}% - 2px)`,
  });
  const isSelected = selected && selected.start < end && selected.end > start;
  return html`<div class="cal-day" data-day=${day}>
    ${column.slots.filter((slot) => time(slot).endsWith(":00")).map((slot) => html`<div class="cal-line" style=${{ top: share(slot, column) }}>
      ${isOdd && html`<span aria-hidden="true">${time(slot)} ${zoneName(slot)}</span>`}</div>`)}
    ${start < now && html`<div class="cal-past" style=${{ height: now >= end ? "100%" : share(now, column) }}></div>`}
    ${isSelected && html`<div class="cal-selected" style=${{ top: share(Math.max(selected.start, start), column), height: `${((Math.min(selected.end, end) - Math.max(selected.start, start)) / (end - start)) * 100}%` }}>
      ${selected.start >= start && html`<span>${time(selected.start)} – ${time(selected.end)}</span>`}</div>`}
    ${selected && selected.head >= start && selected.head < end && html`<div class="cal-selected-head" style=${{ top: share(selected.head, column) }}></div>`}
    ${blocks.map((block) => html`<${Piece} key=${block.window.id} window=${block.window} style=${place(block)} isNarrow=${block.lanes > 1} onOpen=${onOpen} />`)}
    ${rests.map((rest) => html`<button type="button" class="cal-rest" style=${place(rest)} onClick=${() => onMore(day)}
      aria-label=${`${rest.windows.length} more on this day`}>+${rest.windows.length}</button>`)}
    ${now >= start && now < end && html`<div class="cal-now" style=${{ top: share(now, column) }} aria-hidden="true"></div>`}
  </div>`;
}

/**
 * A window as it is clicked.
 * @param {{window: Window, style?: any, isNarrow?: boolean, onOpen: (id: string) => void}} props
 */
export function Piece({ window, style, isNarrow = false, onOpen }) {
  return html`<button type="button" class=${`cal-piece ${lookOf(window)}${isNarrow ? " cal-narrow" : ""}`} style=${style} onClick=${() => onOpen(window.id)}
    title=${`${spanName(window.start, window.end)}\n${title(window)}\n${who(window)}`}
    aria-label=${`${title(window)}${window.summary ? ` ${who(window)}` : ""}, ${kindWord(window)}, ${spanName(window.start, window.end)}`}>
    <span class="cal-piece-title">${title(window)}</span> ${window.summary && html`<span class="cal-piece-who">${who(window)}</span>`}
  </button>`;
}

/**
 * Windows of a day and longer, as bars over the days.
 * @param {{windows: Window[], days: string[], edges: number[], onOpen: (id: string) => void, onMore: (day: string) => void}} props
 */
function Bars({ windows, days, edges, onOpen, onMore }) {
  const { bars, hidden } = barred(windows, edges, BARS);
  if (bars.length === 0) return null;
  return html`<div class="cal-bars"><div class="cal-corner"></div>
    ${bars.map(({ window, first, last, row }) => html`<${Piece} key=${window.id} window=${window} onOpen=${onOpen} isNarrow
      style=${{ gridColumn: `${first + 2} / ${last + 3}`, gridRow: row + 1 }} />`)}
    ${hidden.length > 0 && html`<button type="button" class="cal-rest cal-bars-rest" style=${{ gridRow: BARS + 1 }}
      onClick=${() => onMore(days[0] ?? "")}>${hidden.length} more</button>`}
  </div>`;
}
