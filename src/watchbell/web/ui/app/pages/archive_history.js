/** All crawls that have ended. */

import { html } from "htm/preact";
import { url, useList } from "../api.js";
import { useLive } from "../live.js";
import { useQuery } from "../location.js";
import { bytes } from "../words.js";
import { Button, Search } from "../kit/form.js";
import { Card, Empty, Page } from "../kit/layout.js";
import { Listed } from "../kit/table.js";
import { Lasting, When } from "../kit/time.js";
import { ArchiveNav } from "./archive/nav.js";
import { crawlLink, kindOf, number, Standing } from "./archive/words.js";

/** @typedef {import("./archive/words.js").Past} Past */

const PAGE = 50;

export default function History() {
  const [query, setQuery] = useQuery();
  const text = query.get("text") ?? "";
  const list = useList(url("/archive/history", { text, limit: PAGE }));
  // Keep the place of readers who have loaded more pages.
  useLive("/live?topics=archive", { archive: () => list.items.length <= PAGE && list.reload(), reset: list.reload });
  return html`<${Page} wide title="Ended crawls">
    <${ArchiveNav} />
    <div class="bar-of"><${Search} value=${text} onSearch=${(/** @type {string} */ typed) => setQuery({ text: typed })} placeholder="Filter by URL, ident, note or person" /></div>
    <${Card} flush><${Listed} list=${list} columns=${COLUMNS} id=${(/** @type {Past} */ one) => one.id} to=${(/** @type {Past} */ one) => crawlLink(one.ident)} label="Ended crawls"
      empty=${text
        ? html`<${Empty} title="No crawls match this filter." action=${html`<${Button} onClick=${() => setQuery({ text: null })}>Clear filter<//>`} />`
        : html`<${Empty} title="No crawl has ended yet." action=${html`<${Button} href="/archive">Show all crawls<//>`} />`} /><//>
  <//>`;
}

/** @type {import("../kit/table.js").Column<Past>[]} */
const COLUMNS = [
  { head: "Crawl", kind: "main", cell: (one) => html`<div class="break"><a href=${crawlLink(one.ident)}>${one.url}</a><div class="soft plain">${[kindOf(one) !== "site" && kindOf(one), one.started_by && `by ${one.started_by}`, one.note, one.reason !== one.state && one.reason].filter(Boolean).join(" · ")}</div></div>` },
  { head: "State", kind: "tight", cell: (one) => html`<${Standing} row=${one} />` },
  { head: "Ended", kind: "tight", cell: (one) => html`<${When} at=${one.finished_at && Math.floor(one.finished_at)} as="short" />` },
  { head: "Took", kind: "number", cell: (one) => html`<${Lasting} seconds=${one.started_at && one.finished_at ? Math.max(0, Math.round(one.finished_at - one.started_at)) : null} />` },
  { head: "Saved", kind: "number", cell: (one) => number(one.items_downloaded) },
  { head: "Errors", kind: "number", hide: "phone", cell: (one) => number(one.error_count) },
  { head: "Size", kind: "number", cell: (one) => bytes(one.bytes_downloaded) },
  { head: "Files", kind: "number", hide: "phone", cell: (one) => number(one.files) },
];
