/** The paths of all values in a sample. */

const LONGEST = 80;
const WORD = /^[A-Za-z_]\w*$/;

/**
 * Paths with their values in short; of an array, its length and its first item.
 * @param {any} value
 * @param {string} [path]
 * @returns {[path: string, value: string][]}
 */
export function pathsOf(value, path = "") {
  if (Array.isArray(value)) {
    const simple = value.every((one) => one === null || typeof one !== "object");
    if (simple) return [...value.slice(0, 3).map((one, i) => /** @type {[string, string]} */ ([`${path}[${i}]`, short(one)])), [`count(${path})`, String(value.length)]];
    return [[`count(${path})`, String(value.length)], ...pathsOf(value[0], `${path}[0]`)];
  }
  if (value === null || typeof value !== "object") return [[path, short(value)]];
  return Object.entries(value).flatMap(([name, one]) => pathsOf(one, WORD.test(name) ? (path ? `${path}.${name}` : name) : `${path}['${name.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}']`));
}

/** @param {any} value */
function short(value) {
  const text = JSON.stringify(value) ?? "";
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
