/** A weekly grid of half hours, edited by mouse, touch or keyboard. */

import { html } from "htm/preact";
import { useRef, useState } from "preact/hooks";
import { ALWAYS, clockOf, DAYS, isBetween, isOn, isSame, NOTHING, painted, rowOf, SLOTS, wordsOf } from "./weeks.js";

/**
 * @typedef {import("./weeks.js").Week} Week
 * @typedef {import("./weeks.js").Spot} Spot
 */

const NARROW = window.matchMedia("(max-width: 40rem)");
const HOURS = Array.from({ length: 24 }, (_, hour) => hour);
const BLOCK = 8;

/** How far a key goes: days and half hours. On a phone days stand side by side. @param {string} key @param {Spot} at @returns {[number, number] | null} */
function step(key, at) {
  const across = NARROW.matches;
  switch (key) {
    case "ArrowLeft":
      return across ? [-1, 0] : [0, -1];
    case "ArrowRight":
      return across ? [1, 0] : [0, 1];
    case "ArrowUp":
      return across ? [0, -1] : [-1, 0];
    case "ArrowDown":
      return across ? [0, 1] : [1, 0];
    case "PageUp":
      return [0, -BLOCK];
    case "PageDown":
      return [0, BLOCK];
    case "Home":
      return [0, -at.slot];
    case "End":
      return [0, SLOTS - 1 - at.slot];
    default:
      return null;
  }
}

/** @param {number} value @param {number} most */
const within = (value, most) => Math.min(Math.max(value, 0), most);

/** @param {EventTarget | null} target @returns {Spot | null} */
function spotOf(target) {
  const cell = target instanceof Element ? target.closest("[data-slot]") : null;
  return cell instanceof HTMLElement ? { row: Number(cell.dataset.row), slot: Number(cell.dataset.slot) } : null;
}

/**
 * @param {{week: Week, onChange: (week: Week) => void, label: string}} props
 *   a full week means no restriction: the first selection then replaces it
 */
export function WeekGrid({ week: given, onChange, label }) {
  const isAlways = isSame(given, ALWAYS);
  const week = isAlways ? NOTHING : given;
  const [at, setAt] = useState({ row: 0, slot: 16 });
  const [from, setFrom] = useState(/** @type {Spot | null} */ (null));
  const [announcement, setAnnouncement] = useState("");
  const grid = useRef(/** @type {HTMLDivElement | null} */ (null));
  const drag = useRef(/** @type {{from: Spot, to: Spot, on: boolean, before: Week} | null} */ (null));

  const paint = (/** @type {Spot} */ one, /** @type {Spot} */ other, /** @type {boolean} */ on, before = week) => {
    onChange(painted(before, one, other, on));
    setAnnouncement(`${wordsOf(one, other)} ${on ? "selected" : "cleared"}`);
  };
  const focus = (/** @type {Spot} */ spot) => {
    setAt(spot);
    const cell = grid.current?.querySelector(`[data-row="${spot.row}"][data-slot="${spot.slot}"]`);
    if (cell instanceof HTMLElement) cell.focus();
  };

  const key = (/** @type {KeyboardEvent} */ event) => {
    if (spotOf(event.target) === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const way = step(event.key, at);
    if (way) {
      const to = { row: within(at.row + way[0], DAYS.length - 1), slot: within(at.slot + way[1], SLOTS - 1) };
      const begin = event.shiftKey ? (from ?? at) : null;
      setFrom(begin);
      if (begin) setAnnouncement(`${wordsOf(begin, to)} marked; press Space to toggle`);
      focus(to);
    } else if (event.key === " " || event.key === "Enter") {
      const begin = from ?? at;
      paint(begin, at, !isOn(week, begin));
      setFrom(null);
    } else if (event.key === "Escape" && from) {
      setFrom(null);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };

  const down = (/** @type {PointerEvent} */ event) => {
    const spot = spotOf(event.target);
    if (!spot || event.button !== 0) return;
    event.preventDefault();
    drag.current = { from: spot, to: spot, on: !isOn(week, spot), before: week };
    grid.current?.setPointerCapture(event.pointerId);
    setFrom(null);
    focus(spot);
    onChange(painted(week, spot, spot, drag.current.on));
  };
  const move = (/** @type {PointerEvent} */ event) => {
    const spot = drag.current && spotOf(document.elementFromPoint(event.clientX, event.clientY));
    if (!spot || !drag.current || (spot.row === drag.current.to.row && spot.slot === drag.current.to.slot)) return;
    drag.current.to = spot;
    onChange(painted(drag.current.before, drag.current.from, spot, drag.current.on));
  };
  const up = () => {
    const done = drag.current;
    drag.current = null;
    if (done) paint(done.from, done.to, done.on, done.before);
  };

  const wholeDay = (/** @type {number} */ row) =>
    paint({ row, slot: 0 }, { row, slot: SLOTS - 1 }, rowOf(week, row).includes("0"));
  const wholeHour = (/** @type {number} */ hour) =>
    paint({ row: 0, slot: hour * 2 }, { row: 6, slot: hour * 2 + 1 }, DAYS.some((_, row) => rowOf(week, row).slice(hour * 2, hour * 2 + 2) !== "11"));

  return html`<div class=${isAlways ? "weekgrid weekgrid-always" : "weekgrid"} role="grid" aria-label=${label} aria-multiselectable="true" ref=${grid}
      onKeyDown=${key} onPointerDown=${down} onPointerMove=${move} onPointerUp=${up} onPointerCancel=${up}>
      <div class="weekgrid-row weekgrid-head" role="row">
        <span role="columnheader"></span>
        ${HOURS.map((hour) => html`<span role="columnheader" class="weekgrid-hour" aria-colspan="2">
          <button type="button" tabindex="-1" title=${`${clockOf(hour * 2)} on all days`} onClick=${() => wholeHour(hour)}>${String(hour).padStart(2, "0")}</button></span>`)}
      </div>
      ${DAYS.map((day, row) => html`<div class="weekgrid-row" role="row" key=${day}>
        <span role="rowheader" class="weekgrid-day"><button type="button" tabindex="-1" title=${`All of ${day}`} aria-label=${`${day.slice(0, 3)}: all of ${day}`} onClick=${() => wholeDay(row)}>${day.slice(0, 3)}</button></span>
        ${[...rowOf(week, row)].map((mark, slot) => {
          const spot = { row, slot };
          const isHere = at.row === row && at.slot === slot;
          const isSelected = from !== null && isBetween(spot, from, at);
          return html`<div role="gridcell" class=${`weekgrid-cell${mark === "1" ? " weekgrid-on" : ""}${isSelected ? " weekgrid-selected" : ""}`} data-row=${row} data-slot=${slot}
            tabindex=${isHere ? 0 : -1} aria-selected=${mark === "1" || isAlways ? "true" : "false"} aria-label=${`${day} ${clockOf(slot)}`}></div>`;
        })}
      </div>`)}
    </div>
    <div class="unseen" role="status">${announcement}</div>`;
}
