/** Wording shared by all pages. */

/** @param {string} words */
export const capitalized = (words) => words.charAt(0).toUpperCase() + words.slice(1);

/**
 * As `1 check`, `1,200 checks`, `2 processes`.
 * @param {number} count
 * @param {string} noun
 * @param {string} [plural]
 */
export const counted = (count, noun, plural = `${noun}s`) => `${count.toLocaleString("en")} ${count === 1 ? noun : plural}`;

/** @param {number} count */
export function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let value = count;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : Number(value.toPrecision(3))} ${units[unit]}`;
}
