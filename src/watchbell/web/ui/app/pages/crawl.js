/** One crawl: what it does, its log, settings, ignore patterns, figures and files. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { useFetched, useInterval } from "../api.js";
import { useKeys } from "../keys.js";
import { go, useQuery } from "../location.js";
import { may } from "../session.js";
import { bytes } from "../words.js";
import { Button } from "../kit/form.js";
import { Card, Empty, Facts, Fetched, Page } from "../kit/layout.js";
import { Since, When } from "../kit/time.js";
import { abort, Acts, canPause, expire, togglePause } from "./archive/acts.js";
import { useCrawl } from "./archive/crawls.js";
import { Files } from "./archive/files.js";
import { Hosts } from "./archive/hosts.js";
import { Ignores } from "./archive/ignores.js";
import { Log } from "./archive/log.js";
import { NewCrawl } from "./archive/new_dialog.js";
import { Responses } from "./archive/responses.js";
import { Settings } from "./archive/settings.js";
import { crawlLink, crawlPath, isOver, kindOf, number, pagesLink, perSecond, Standing } from "./archive/words.js";

/** @typedef {import("./archive/words.js").Shown} Shown */
/** @typedef {import("./archive/words.js").Crawl} Crawl */

/** Seconds between refreshes of what the live stream does not have. */
const EVERY = 5;
const above = html`<a href="/archive">Archive</a>`;

export default function CrawlPage() {
  const [query] = useQuery();
  const ident = query.get("ident") ?? "";
  if (!ident) {
    return html`<${Page} title="Crawl" above=${above}><${Empty} title="No crawl selected." action=${html`<${Button} href="/archive">Show all crawls<//>`} /><//>`;
  }
  return html`<${Known} key=${ident} ident=${ident} />`;
}

/** @param {{ident: string}} props */
function Known({ ident }) {
  const fetched = useFetched(crawlPath(ident));
  const shown = /** @type {Shown | null} */ (fetched.value);
  if (!shown) return html`<${Page} title="Crawl" above=${above}><${Fetched} of=${fetched} lines=${8}>${() => null}<//><//>`;
  return html`<${Body} shown=${shown} reload=${fetched.reload} />`;
}

/** @param {{shown: Shown, reload: () => void}} props */
function Body({ shown, reload }) {
  const row = useCrawl(shown.row.id, shown.row, reload);
  const [changes, setChanges] = useState(0);
  const [isAdding, setIsAdding] = useState(false);
  const over = isOver(row.state) || shown.is_past;
  useInterval(reload, over ? 0 : EVERY);
  useKeys("Crawl", canPause(row) ? [["p", "pause or resume", () => void togglePause(row, reload)], ["a", "abort", () => abort(row, reload)]] : []);
  const changed = () => {
    setChanges(changes + 1);
    reload();
  };
  const actions = html`<${Acts} row=${row} after=${reload} />
    ${over && html`<${Button} href=${pagesLink(row.id)}>Browse pages<//>`}
    ${may("operate") && over && !shown.is_past && html`<${Button} onClick=${() => expire(row, reload)}>Allow again<//>`}
    ${may("operate") && shown.is_past && html`<${Button} kind="main" onClick=${() => setIsAdding(true)}>Archive again<//>`}`;
  return html`<${Page} wide title=${row.url} tab=${`${row.url}: ${row.state}`} above=${above} actions=${actions}>
    <${Card}><div class="crawl-banner"><${Standing} row=${row} /><span>${shown.explanation}</span></div><//>
    <${Tiles} row=${row} over=${over} />
    <${Card} flush title="Log"><${Log} ident=${row.id} isOver=${over} onIgnored=${changed} /><//>
    <${Responses} ident=${row.id} isLive=${!over} />
    <div class="crawl-parts">
      <div>
        ${!over && html`<${Settings} shown=${shown} onDone=${changed} />`}
        ${over && html`<${Files} ident=${row.id} over />`}
        <${About} shown=${shown} row=${row} />
      </div>
      <div>
        ${!shown.is_past && html`<${Ignores} ident=${row.id} over=${over} changes=${changes} onDone=${changed} />`}
        <${Hosts} ident=${row.id} isLive=${!over} />
        ${!over && html`<${Files} ident=${row.id} over=${false} />`}
      </div>
    </div>
    ${isAdding && html`<${NewCrawl} url=${row.url.replace("://***@", "://")} onClose=${() => setIsAdding(false)} onDone=${(/** @type {string} */ ident) => {
      setIsAdding(false);
      go(crawlLink(ident));
      reload();
    }} />`}
  <//>`;
}

/** @param {{row: Crawl, over: boolean}} props */
function Tiles({ row, over }) {
  return html`<div class="tiles">
    <${Tile} label="Rate" value=${over ? "–" : perSecond(row.rate)} more=${over || row.byte_rate === null ? "" : `${bytes(Math.round(row.byte_rate))}/s`} />
    <${Tile} label="Fetched" value=${number(row.responses)} more=${`${number(row.items_downloaded)} saved`} />
    <${Tile} label="Left" value=${over ? "–" : number(row.urls_left)} more=${over ? "" : "URLs to fetch"} />
    <${Tile} label="Errors" value=${number(row.error_count)} more=${row.responses ? `${Number(((100 * row.error_count) / row.responses).toPrecision(2))} % of responses` : ""} />
    <${Tile} label="Size" value=${bytes(row.bytes_downloaded)} more=${row.warc_size ? `${bytes(row.warc_size)} of WARC files` : ""} />
  </div>`;
}

/** @param {{label: string, value: string, more: string}} props */
function Tile({ label, value, more }) {
  return html`<section class="tile" aria-label=${label}><h2>${label}</h2><div class="tile-number"><strong>${value}</strong> <span class="soft">${more}</span></div></section>`;
}

/** @param {{shown: Shown, row: Crawl}} props */
function About({ shown, row }) {
  const { options } = shown;
  const limits = [options.most_bytes && `${bytes(options.most_bytes)}`, options.most_urls && `${number(options.most_urls)} URLs`].filter(Boolean);
  const choices = [
    shown.no_offsite_links ? "stays on the site" : options.offsite_depth !== 1 && `follows ${options.offsite_depth} links beyond the site`,
    options.obeys_robots && "obeys robots.txt",
    !options.has_cookies && "keeps no cookies",
    options.dedups_before && "skips what earlier crawls have",
    options.makes_wacz && "makes a WACZ file",
    shown.grabber && "loads pages in a browser",
  ].filter(Boolean);
  return html`<${Card} title="About"><${Facts} rows=${[
    ["Ident", html`<code>${row.id}</code>`],
    ["Archives", kindOf(row)],
    row.note ? ["Note", row.note] : null,
    ["Started by", [row.started_by || "unknown", shown.started_in && `in ${shown.started_in}`].filter(Boolean).join(" ")],
    ["Queued", html`<${When} at=${row.queued_at && Math.floor(row.queued_at)} as="exact" none="unknown" />`],
    row.started_at ? ["Started", html`<${When} at=${Math.floor(row.started_at)} as="exact" />${!isOver(row.state) && html`, <${Since} since=${Math.floor(row.started_at)} /> ago`}`] : null,
    row.finished_at ? ["Ended", html`<${When} at=${Math.floor(row.finished_at)} as="exact" />`] : null,
    row.nickname || row.pipeline ? ["Pipeline", html`<a href="/archive/pipelines">${row.nickname || row.pipeline}</a>`] : null,
    row.queue ? ["Queue", html`<code>${row.queue}</code>`] : null,
    limits.length ? ["Ends after", limits.join(" or ")] : null,
    choices.length ? ["Options", choices.join(", ")] : null,
    shown.user_agent ? ["User agent", shown.user_agent] : null,
    ["Responses", `2xx ${number(shown.r2xx)}, 3xx ${number(shown.r3xx)}, 4xx ${number(shown.r4xx)}, 5xx ${number(shown.r5xx)}, none ${number(shown.runk)}`],
  ]} /><//>`;
}
