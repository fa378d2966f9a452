/** The finished files of a crawl, and of earlier crawls of the same URL. */

import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { useFetched } from "../../api.js";
import { Card, Fetched } from "../../kit/layout.js";
import { Table } from "../../kit/table.js";
import { When } from "../../kit/time.js";
import { bytes } from "../../words.js";
import { crawlPath } from "./words.js";

/** @typedef {{name: string, size: number, crawl: string, ended_at: number | null, url: string, is_here: boolean, place: string}} File */

/** @param {{ident: string, over: boolean}} props */
export function Files({ ident, over }) {
  const fetched = useFetched(`${crawlPath(ident)}/files`);
  useEffect(() => void (over && fetched.reload()), [over]);
  return html`<${Card} flush title="Files">
    <${Fetched} of=${fetched}>${(/** @type {{items: File[]}} */ { items }) =>
      items.length === 0
        ? html`<p class="soft card-note">${over ? "This crawl has no files." : "WARC files, an index and a description appear here when the crawl ends. Its pages can be viewed then."}</p>`
        : html`<div class="crawl-short"><${Table} columns=${COLUMNS} rows=${items} id=${(/** @type {File} */ one) => `${one.crawl} ${one.name}`} label="Files" keys=${false} /></div>`}<//>
  <//>`;
}

/** @type {import("../../kit/table.js").Column<File>[]} */
const COLUMNS = [
  { head: "File", kind: "main", cell: (one) => html`<div class="break">${one.is_here ? html`<a href=${one.url} data-native download>${one.name}</a>` : one.name}${whereabouts(one)}</div>` },
  { head: "Size", kind: "number", cell: (one) => bytes(one.size) },
  { head: "Ended", kind: "tight", cell: (one) => html`<${When} at=${one.ended_at && Math.floor(one.ended_at)} as="short" none="" />` },
];

/** @param {File} file */
function whereabouts(file) {
  if (file.place) return html`<div class="soft plain break">uploaded to ${/^https:\/\//.test(file.place) ? html`<a href=${file.place} rel="noreferrer">${file.place}</a>` : file.place}</div>`;
  return !file.is_here && html`<div class="soft plain">on the machine of its pipeline</div>`;
}
