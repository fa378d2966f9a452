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
