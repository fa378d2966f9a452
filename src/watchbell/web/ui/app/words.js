/** Words that all pages use. */

/**
 * As `1 check`, `1,200 checks`.
 * @param {number} count
 * @param {string} noun
 */
export const counted = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
