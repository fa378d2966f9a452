/** Crawls that run, wait and ended lately, with their logs. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useKeys } from "../keys.js";
import { go, useQuery } from "../location.js";
import { may } from "../session.js";
import { bytes, counted } from "../words.js";
import { Button, Choice, Search } from "../kit/form.js";
import { Card, Empty, Failed, Loading, Page } from "../kit/layout.js";
import { Since, When } from "../kit/time.js";
import { abort, Acts, canPause, togglePause } from "./archive/acts.js";
import { useCrawls } from "./archive/crawls.js";
import { Log } from "./archive/log.js";
import { ArchiveNav } from "./archive/nav.js";
import { NewCrawl } from "./archive/new_dialog.js";
import { crawlLink, isOver, kindOf, number, perSecond, Standing } from "./archive/words.js";

/** @typedef {import("./archive/words.js").Crawl} Crawl */
/** @typedef {import("./archive/words.js").Counts} Counts */

/** @type {[sort: string, words: string][]} */
const SORTS = [["state", "State"], ["url", "URL"], ["rate", "Rate"], ["size", "Size"], ["errors", "Errors"], ["left", "URLs left"]];

const NONE = html`<span class="soft">–</span>`;

export default function Archive() {
  const [query, setQuery] = useQuery();
  const [isAdding, setIsAdding] = useState(false);
  const given = (/** @type {string} */ name) => query.get(name) ?? "";
  const wanted = { text: given("text"), state: given("state"), sort: query.get("sort") ?? "state" };
  const crawls = useCrawls(wanted);
  const open = given("crawl");
  const toggle = (/** @type {string} */ id) => setQuery({ crawl: id === open ? null : id });
  const add = may("operate") && html`<${Button} kind="main" onClick=${() => setIsAdding(true)}>New crawl<//>`;
  useKeys("Archive", may("operate") ? [["n", "new crawl", () => setIsAdding(true)]] : []);
  const isFiltered = wanted.text !== "" || wanted.state !== "";
  const done = (/** @type {string} */ ident) => {
    setIsAdding(false);
    setQuery({ crawl: ident, text: null, state: null });
    crawls.reload();
  };
  return html`<${Page} wide title="Archive" lead=${crawls.counts ? html`<${Lead} rows=${crawls.rows ?? []} counts=${crawls.counts} />` : "Copies of web sites in WARC files."} actions=${add}>
    <${ArchiveNav} />
    <${Filters} counts=${crawls.counts} wanted=${wanted} setQuery=${setQuery} />
    <div class="crawls"><${Card} flush>
      ${crawls.problem && html`<${Failed} problem=${crawls.problem} retry=${crawls.reload} />`}
      ${!crawls.rows && !crawls.problem && html`<${Loading} lines=${8} />`}
      ${crawls.rows?.length === 0 && (isFiltered
        ? html`<${Empty} title="No crawls match these filters." action=${html`<${Button} onClick=${() => setQuery({ text: null, state: null })}>Clear filters<//>`} />`
        : html`<${Empty} title="No crawls yet." action=${html`<div class="actions">${add}<${Button} href="/archive/history">Show the history<//></div>`}>A crawl copies a web site into WARC files, which can be replayed later.${may("operate") && " Start with the address of a site."}<//>`)}
      ${crawls.rows && crawls.rows.length > 0 && html`<${CrawlTable} rows=${crawls.rows} open=${open} toggle=${toggle} />`}
    <//></div>
    ${crawls.rows && crawls.rows.length > 0 && html`<p class="soft" role="status">${counted(crawls.rows.length, "crawl")}${!crawls.isComplete && ` of ${number(crawls.count)}: use filters to see others`}. Crawls that ended are listed for two days; the <a href="/archive/history">history</a> has all of them.</p>`}
    ${isAdding && html`<${NewCrawl} onClose=${() => setIsAdding(false)} onDone=${done} />`}
  <//>`;
}

/** @param {{rows: Crawl[], counts: Counts}} props */
function Lead({ rows, counts }) {
  const rate = rows.reduce((sum, row) => sum + (row.rate ?? 0), 0);
  const speed = rows.reduce((sum, row) => sum + (row.byte_rate ?? 0), 0);
  return html`${number(counts.running)} running · ${number(counts.queued)} queued${rate > 0 && ` · ${perSecond(rate)}, ${bytes(Math.round(speed))}/s`}`;
}

/** @param {{counts: Counts | null, wanted: {text: string, state: string, sort: string}, setQuery: ReturnType<typeof useQuery>[1]}} props */
function Filters({ counts, wanted, setQuery }) {
  const numbered = (/** @type {string} */ words, /** @type {number | undefined} */ count) => html`${words}${count !== undefined && html` <span class="soft">${number(count)}</span>`}`;
  const ended = counts ? counts.completed + counts.aborted + counts.failed : undefined;
  const states = [["", "All"], ["running", numbered("Running", counts?.running)], ["queued", numbered("Queued", counts?.queued)], ["paused", numbered("Paused", counts?.paused)], ["ended", numbered("Ended", ended)]];
  return html`<div class="bar-of">
    <${Search} value=${wanted.text} onSearch=${(/** @type {string} */ text) => setQuery({ text })} placeholder="Filter by URL, ident, note or person" />
    <${Choice} label="Filter by state" value=${wanted.state} options=${states} onChange=${(/** @type {string} */ state) => setQuery({ state })} />
    <select aria-label="Sort by" value=${wanted.sort} onChange=${(/** @type {any} */ event) => setQuery({ sort: event.currentTarget.value === "state" ? null : event.currentTarget.value })}>
      ${SORTS.map(([value, words]) => html`<option value=${value}>${words}</option>`)}
    </select>
  </div>`;
}

/** @param {{rows: Crawl[], open: string, toggle: (id: string) => void}} props */
function CrawlTable({ rows, open, toggle }) {
  const body = useRef(/** @type {HTMLTableSectionElement | null} */ (null));
  const all = () => [...(body.current?.querySelectorAll(".crawl-row") ?? [])];
  const current = () => all().findIndex((row) => row.contains(document.activeElement));
  const move = (/** @type {number} */ by) => {
    const found = all();
    const next = current() < 0 ? (by > 0 ? 0 : found.length - 1) : current() + by;
    const row = found[Math.min(Math.max(next, 0), found.length - 1)];
    if (row instanceof HTMLElement) row.focus();
  };
  const act = (/** @type {(row: Crawl) => void} */ what) => () => {
    const row = rows[current()] ?? rows.find((one) => one.id === open);
    if (row) what(row);
  };
  useKeys("Crawls", [
    ["j", "next crawl", () => move(1)],
    ["k", "previous crawl", () => move(-1)],
    ["Enter", "show or hide the log", act((row) => toggle(row.id))],
    ["o", "open the crawl", act((row) => go(crawlLink(row.id)))],
    ...(may("operate")
      ? /** @type {import("../keys.js").Binding[]} */ ([
          ["p", "pause or resume", act((row) => canPause(row) && void togglePause(row))],
          ["a", "abort", act((row) => canPause(row) && abort(row))],
        ])
      : []),
  ]);
  return html`<div class="table-frame"><table class="table crawl-table" aria-label="Crawls">
    <thead><tr><th scope="col">Crawl</th><th scope="col">State</th><th scope="col" class="cell-number">Rate</th><th scope="col" class="cell-number">Fetched</th>
      <th scope="col" class="cell-number">Left</th><th scope="col" class="cell-number">Errors</th><th scope="col" class="cell-number">Size</th><th scope="col"><span class="unseen">Actions</span></th></tr></thead>
    <tbody ref=${body}>${rows.map((row) => html`<${CrawlRow} key=${row.id} row=${row} isOpen=${row.id === open} toggle=${toggle} />`)}</tbody>
  </table></div>`;
}

/** @param {{row: Crawl, isOpen: boolean, toggle: (id: string) => void}} props */
function CrawlRow({ row, isOpen, toggle }) {
  const place = useRef(/** @type {HTMLTableRowElement | null} */ (null));
  useEffect(() => {
    if (isOpen) place.current?.scrollIntoView({ block: "nearest" });
  }, [isOpen]);
  const click = (/** @type {MouseEvent} */ event) => {
    const inside = event.target instanceof Element && event.target.closest("a, button, input, select, label");
    if (!inside && !window.getSelection()?.toString()) toggle(row.id);
  };
  return html`<tr class=${`crawl-row row-link${isOpen ? " crawl-row-open" : ""}`} ref=${place} tabindex="-1" onClick=${click}>
      <td class="cell-main"><div class="crawl-name">
        <button type="button" class="crawl-toggle" aria-expanded=${isOpen ? "true" : "false"} aria-label=${`Log of ${row.url}`} onClick=${() => toggle(row.id)}>${isOpen ? "▾" : "▸"}</button>
        <div><a href=${crawlLink(row.id)}>${row.url}</a>
          <div class="soft plain"><${About} row=${row} /></div></div></div></td>
      <td data-label="State" class="cell-tight"><div class="server-state"><${Standing} row=${row} /><span class="soft plain"><${Time} row=${row} /></span></div></td>
      <td data-label="Rate" class="cell-number">${row.pipeline && !isOver(row.state) ? html`<div>${perSecond(row.rate)}<div class="soft crawl-wide">${row.byte_rate !== null && `${bytes(Math.round(row.byte_rate))}/s`}</div></div>` : NONE}</td>
      <td data-label="Fetched" class="cell-number">${row.responses ? number(row.responses) : NONE}</td>
      <td data-label="Left" class="cell-number">${isOver(row.state) || !row.responses ? NONE : number(row.urls_left)}</td>
      <td data-label="Errors" class=${`cell-number${row.error_count ? " crawl-errors" : ""}`}>${row.error_count ? number(row.error_count) : NONE}</td>
      <td data-label="Size" class="cell-number">${row.bytes_downloaded ? bytes(row.bytes_downloaded) : NONE}</td>
      <td class="cell-actions"><div class="actions crawl-acts"><${Acts} row=${row} small /></div></td>
    </tr>
    ${isOpen && html`<tr class="crawl-open"><td colspan="8"><${Log} key=${row.id} ident=${row.id} isOver=${isOver(row.state)} short /></td></tr>`}`;
}

/** @param {{row: Crawl}} props */
function About({ row }) {
  const words = [kindOf(row) !== "site" && kindOf(row), row.started_by && `by ${row.started_by}`, row.nickname && !isOver(row.state) && `on ${row.nickname}`, row.note].filter(Boolean);
  return html`${words.join(" · ")}`;
}

/** @param {{row: Crawl}} props */
function Time({ row }) {
  if (isOver(row.state)) return html`<${When} at=${row.finished_at && Math.floor(row.finished_at)} />`;
  if (row.started_at) return html`for <${Since} since=${Math.floor(row.started_at)} />`;
  return row.queued_at ? html`for <${Since} since=${Math.floor(row.queued_at)} />` : null;
}
