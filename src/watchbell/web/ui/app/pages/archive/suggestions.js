/** Ignore patterns that suit a URL, the narrowest first. */

/** @param {string} text */
export const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/**
 * @param {string} text a URL
 * @returns {[pattern: string, words: string][]}
 */
export function suggestions(text) {
  const found = /^(https?|ftp):\/\/([^/?#]+)([^?#]*)(\?[^#]*)?/i.exec(text);
  if (!found) return [];
  const [, scheme = "", host = "", path = "", query = ""] = found;
  const start = `^${scheme.toLowerCase() === "ftp" ? "ftp" : "https?"}://${escaped(host)}`;
  /** @type {[string, string][]} */
  const made = [[`${start}${escaped(path || "/")}${query ? escaped(query) : ""}$`, "This URL"]];
  const names = [...query.matchAll(/[?&]([^=&]+)=?/g)].map((one) => one[1] ?? "");
  if (query) made.push([`${start}${escaped(path || "/")}\\?`, "This page with any parameters"]);
  for (const name of [...new Set(names)].slice(0, 3)) made.push([`[?&]${escaped(name)}=`, `Every URL with the parameter ${name}`]);
  const folders = path.split("/").slice(1, -1);
  for (let depth = folders.length; depth > 0 && depth > folders.length - 3; depth -= 1) {
    const folder = folders.slice(0, depth).join("/");
    made.push([`${start}/${escaped(folder)}/`, `Everything in /${folder}/`]);
  }
  const suffix = /\.([a-z0-9]{1,5})$/i.exec(path)?.[1];
  if (suffix) made.push([`\\.${escaped(suffix)}(?:\\?|$)`, `Every .${suffix} file`]);
  made.push([`${start}(?:/|$)`, `Everything on ${host}`]);
  return made.filter(([pattern], i) => made.findIndex((one) => one[0] === pattern) === i);
}
