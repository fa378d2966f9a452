/** The audit log. */

import { html } from "htm/preact";
import { url, useInterval, useList } from "../api.js";
import { useQuery } from "../location.js";
import { clock } from "../times.js";
import { Button, Choice, Search } from "../kit/form.js";
import { Card, Empty, Page } from "../kit/layout.js";
import { Listed } from "../kit/table.js";
import { When } from "../kit/time.js";

/**
 * @typedef {{id: string, time: number, who: string, action: string, subject: string, details: string, address: string}} Entry
 */

const FILTERS = ["who", "action", "text", "period"];
/** @type {[value: string, words: string][]} */
const PERIODS = [
  ["", "All"],
  ["day", "Last day"],
  ["week", "Last week"],
];
/** @type {Record<string, number>} */
const SECONDS = { day: 86_400, week: 7 * 86_400 };
const PAGE = 100;
/** Rounds the start, so that the path does not change every second. */
const FINE = 300;

/** @param {string} period */
function begin(period) {
  const seconds = SECONDS[period];
  return seconds === undefined ? null : Math.floor((clock.value - seconds) / FINE) * FINE;
}

export default function Audit() {
  const [query, setQuery] = useQuery();
  const given = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? ""]));
  const { who, action, text, period } = given;
  const list = useList(url("/audit", { who, action, text, since: begin(period ?? ""), limit: PAGE }));
  // Keep the place of readers who have loaded older pages.
  useInterval(list.reload, list.items.length <= PAGE ? 10 : 0);
  const with_ = (/** @type {Record<string, string>} */ more) => url("/audit", { ...given, ...more });
  const isFiltered = FILTERS.some((name) => given[name]);
  /** @type {import("../kit/table.js").Column<Entry>[]} */
  const columns = [
    { head: "When", kind: "tight", cell: (one) => html`<${When} at=${one.time} as="short" />` },
    { head: "User", cell: (one) => (one.who ? html`<a class="quiet" href=${with_({ who: one.who })} title="Filter by this user">${one.who}</a>` : html`<span class="soft">unknown</span>`) },
    { head: "Action", kind: "tight", cell: (one) => html`<a class="quiet mono" href=${with_({ action: one.action })} title="Filter by this action">${one.action}</a>` },
    { head: "Subject", kind: "main", cell: (one) => html`<div>${one.subject || html`<span class="soft">–</span>`}${one.details && html`<div class="soft plain">${one.details}</div>`}</div>` },
    { head: "Address", cell: (one) => html`<span class="mono">${one.address || html`<span class="soft">–</span>`}</span>` },
  ];
  const drop = (/** @type {string} */ name, /** @type {string} */ words) =>
    given[name] && html`<${Button} small onClick=${() => setQuery({ [name]: null })} label=${`Remove filter: ${words}`}>${words}: ${given[name]} ✕<//>`;
  return html`<${Page} title="Audit log" lead="Changes made by users and programs, newest first. About the latest 10,000 entries are kept.">
    <div class="bar-of">
      <${Search} value=${text ?? ""} onSearch=${(/** @type {string} */ value) => setQuery({ text: value })} placeholder="Filter" />
      <${Choice} label="Period" value=${period ?? ""} options=${PERIODS} onChange=${(/** @type {string} */ one) => setQuery({ period: one })} />
      ${drop("who", "user")}${drop("action", "action")}
    </div>
    <${Card} flush><div class="audit"><${Listed} list=${list} columns=${columns} id=${(/** @type {Entry} */ one) => one.id} label="Audit log"
      empty=${isFiltered
        ? html`<${Empty} title="No entries match these filters." action=${html`<${Button} onClick=${() => setQuery(Object.fromEntries(FILTERS.map((name) => [name, null])))}>Clear filters<//>`} />`
        : html`<${Empty} title="No changes yet." />`} /></div><//>
  <//>`;
}
