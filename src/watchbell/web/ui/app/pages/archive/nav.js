/** The pages of the archive, side by side. */

import { html } from "htm/preact";
import { useCurrentInView } from "../../kit/layout.js";
import { usePath } from "../../location.js";

/** @type {[path: string, words: string][]} */
const PARTS = [
  ["/archive", "Crawls"],
  ["/archive/pending", "Pending"],
  ["/archive/history", "History"],
  ["/archive/pipelines", "Pipelines"],
  ["/archive/ignore-sets", "Ignore sets"],
];

export function ArchiveNav() {
  const path = usePath();
  return html`<nav class="tabs" ref=${useCurrentInView(path)} aria-label="Archive">
    ${PARTS.map(([to, words]) => html`<a href=${to} aria-current=${to === path ? "page" : undefined}>${words}</a>`)}
  </nav>`;
}
