/** Weeks of half hours: seven strings from Sunday on, each of 48 digits, 1 where selected. */

/** @typedef {string[]} Week */
/** @typedef {{row: number, slot: number}} Spot a place of the grid, in which Monday is the first row */

export const SLOTS = 48;
export const DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/** @param {(row: number, slot: number) => boolean} isOn @returns {Week} */
function weekOf(isOn) {
  const rows = DAYS.map((_, row) => Array.from({ length: SLOTS }, (_, slot) => (isOn(row, slot) ? "1" : "0")).join(""));
  return [rows[6] ?? "", ...rows.slice(0, 6)];
}

const isWork = (/** @type {number} */ row, /** @type {number} */ slot) => row < 5 && slot >= 16 && slot < 36;

/** @type {[words: string, week: Week][]} */
export const PRESETS = [
  ["Always", weekOf(() => true)],
  ["Working hours", weekOf(isWork)],
  ["Nights and weekends", weekOf((row, slot) => !isWork(row, slot))],
];
export const ALWAYS = weekOf(() => true);
export const NOTHING = weekOf(() => false);

/** The marks of a row. @param {Week} week @param {number} row */
export function rowOf(week, row) {
  return week[(row + 1) % 7] ?? "";
}

/** @param {Week} week @param {Spot} spot */
export function isOn(week, spot) {
  return rowOf(week, spot.row)[spot.slot] === "1";
}

/** @param {Week | null} one @param {Week | null} other */
export function isSame(one, other) {
  return one === other || (one !== null && other !== null && one.join() === other.join());
}

/** @param {Spot} one @param {Spot} other @returns {{top: number, bottom: number, left: number, right: number}} */
function bounds(one, other) {
  return {
    top: Math.min(one.row, other.row),
    bottom: Math.max(one.row, other.row),
    left: Math.min(one.slot, other.slot),
    right: Math.max(one.slot, other.slot),
  };
}

/** Whether a spot is among those between two others. @param {Spot} spot @param {Spot} one @param {Spot} other */
export function isBetween(spot, one, other) {
  const { top, bottom, left, right } = bounds(one, other);
  return spot.row >= top && spot.row <= bottom && spot.slot >= left && spot.slot <= right;
}

/**
 * The week with all spots between two painted, or not.
 * @param {Week} week @param {Spot} one @param {Spot} other @param {boolean} on
 * @returns {Week}
 */
export function painted(week, one, other, on) {
  return weekOf((row, slot) => (isBetween({ row, slot }, one, other) ? on : isOn(week, { row, slot })));
}

/** What is not painted. @param {Week} week @returns {Week} */
export function rest(week) {
  return weekOf((row, slot) => !isOn(week, { row, slot }));
}

/** As `08:30`. @param {number} slot */
export function clockOf(slot) {
  return `${String(Math.floor(slot / 2)).padStart(2, "0")}:${slot % 2 ? "30" : "00"}`;
}

/** As `Monday to Friday, 08:00 to 18:00`. @param {Spot} one @param {Spot} other */
export function wordsOf(one, other) {
  const { top, bottom, left, right } = bounds(one, other);
  const days = top === bottom ? DAYS[top] : `${DAYS[top]} to ${DAYS[bottom]}`;
  return `${days}, ${clockOf(left)} to ${clockOf(right + 1)}`;
}
