/** What the crawls of a URL have archived. */

import { html } from "htm/preact";
import { url, useFetched, useList } from "../api.js";
import { useQuery } from "../location.js";
import { bytes, counted } from "../words.js";
import { Button, Search, Toggle } from "../kit/form.js";
import { Card, Empty, Page } from "../kit/layout.js";
import { Listed } from "../kit/table.js";
import { When } from "../kit/time.js";
import { crawlLink, crawlPath, pageLink } from "./archive/words.js";

/**
 * @typedef {{url: string, timestamp: string, at: number, status: number, media_type: string, size: number, captures: number}} Archived
 */

export default function ArchivedPages() {
  const [query, setQuery] = useQuery();
  const ident = query.get("ident") ?? "";
  if (!ident) {
    return html`<${Page} title="Archived pages" above=${html`<a href="/archive">Archive</a>`}>
      <${Empty} title="No crawl selected." action=${html`<${Button} href="/archive/history">Show ended crawls<//>`} /><//>`;
  }
  return html`<${Known} key=${ident} ident=${ident} query=${query} setQuery=${setQuery} />`;
}

/** @param {{ident: string, query: URLSearchParams, setQuery: (changes: Record<string, string | null>) => void}} props */
function Known({ ident, query, setQuery }) {
  const text = query.get("text") ?? "";
  const all = query.get("all") === "1";
  const crawl = useFetched(crawlPath(ident));
  const list = useList(url(`${crawlPath(ident)}/pages`, { text, all, limit: 50 }));
  const problem = list.first?.problem ?? "";
  const above = html`<a href="/archive">Archive</a> / <a href=${crawlLink(ident)}>${crawl.value?.row.url ?? ident}</a>`;
  const empty = text || all
    ? html`<${Empty} title="No pages match this filter." action=${html`<${Button} onClick=${() => setQuery({ text: null, all: null })}>Clear filter<//>`} />`
    : html`<${Empty} title=${problem || "No pages were archived."} action=${html`<${Button} href=${crawlLink(ident)}>Show the crawl<//>`} />`;
  return html`<${Page} wide title="Archived pages" above=${above}>
    <div class="bar-of">
      <${Search} value=${text} onSearch=${(/** @type {string} */ typed) => setQuery({ text: typed })} placeholder="Filter by URL" />
      <${Toggle} label="Images, styles and errors, too" checked=${all} onChange=${(/** @type {boolean} */ on) => setQuery({ all: on ? "1" : null })} />
    </div>
    ${problem && list.items.length > 0 && html`<p class="note" role="status">${problem}</p>`}
    <${Card} flush><${Listed} list=${list} columns=${columns(ident)} id=${(/** @type {Archived} */ one) => one.url}
      to=${(/** @type {Archived} */ one) => pageLink(ident, one.url, one.timestamp)} label="Archived pages" empty=${list.hasMore ? html`<div class="more"><${Button} onClick=${list.more} busy=${list.isLoading}>Search further<//></div>` : empty} /><//>
  <//>`;
}

/** @param {string} ident @returns {import("../kit/table.js").Column<Archived>[]} */
const columns = (ident) => [
  { head: "URL", kind: "main", cell: (one) => html`<div class="break"><a href=${pageLink(ident, one.url, one.timestamp)}>${one.url}</a>${one.captures > 1 && html`<div class="soft plain">${counted(one.captures, "capture")}</div>`}</div>` },
  { head: "Status", kind: "number", cell: (one) => one.status || "" },
  { head: "Type", kind: "tight", hide: "phone", cell: (one) => one.media_type },
  { head: "Archived", kind: "tight", cell: (one) => html`<${When} at=${Math.floor(one.at)} as="short" />` },
  { head: "Size", kind: "number", cell: (one) => bytes(one.size) },
];
