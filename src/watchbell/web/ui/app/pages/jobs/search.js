/** A search of finished jobs. */

import { html } from "htm/preact";
import { url, useList } from "../../api.js";
import { useQuery } from "../../location.js";
import { Button, Field, Search } from "../../kit/form.js";
import { Card, Empty } from "../../kit/layout.js";
import { Chip } from "../../kit/state.js";
import { Listed } from "../../kit/table.js";
import { took } from "../../times.js";
import { bytes } from "../../words.js";
import { field, instant } from "../../zoned.js";
import { titleOf, useOptions } from "../events/words.js";
import { Ended, EndedAt, jobLink, ownTags, StartedBy } from "./words.js";

/** @typedef {import("./words.js").JobRow} JobRow */

const FILTERS = ["text", "event", "category", "plugin", "server", "tag", "source", "code", "user", "since", "until"];
/** @type {[value: string, words: string][]} */
const CODES = [["", "Any result"], ["success", "Succeeded"], ["error", "Failed"], ["warning", "Warning"], ["critical", "Critical"], ["abort", "Aborted"]];
/** @type {[value: string, words: string][]} */
const SOURCES = [["", "Any start"], ["scheduler", "Schedule"], ["user", "Manually"], ["key", "API key"], ["action", "Action of a job"]];

export function SearchJobs() {
  const [query, setQuery] = useQuery();
  const options = useOptions().value;
  const given = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? ""]));
  const list = useList(url("/jobs/search", { ...given, limit: 50 }));
  const isFiltered = Object.values(given).some(Boolean);
  const clear = () => setQuery(Object.fromEntries(FILTERS.map((name) => [name, null])));
  const pick = (/** @type {string} */ name, /** @type {string} */ label, /** @type {[string, string][]} */ all) => html`<select aria-label=${label} value=${given[name]}
    onChange=${(/** @type {any} */ event) => setQuery({ [name]: event.currentTarget.value })}>${known(all, given[name] ?? "").map(([value, words]) => html`<option value=${value} selected=${value === given[name]}>${words}</option>`)}</select>`;
  const titled = (/** @type {{id: string, title: string}[] | undefined} */ all, /** @type {string} */ any) => /** @type {[string, string][]} */ ([["", any], ...(all ?? []).map((one) => [one.id, one.title || one.id])]);
  return html`
    <div class="bar-of job-search">
      <${Search} value=${given.text} onSearch=${(/** @type {string} */ text) => setQuery({ text })} placeholder="Title of the event" label="Title" />
      ${pick("code", "Result", CODES)}
      ${pick("category", "Category", titled(options?.categories, "Any category"))}
      ${pick("server", "Server", titled(options?.targets.filter((one) => one.kind === "server"), "Any server"))}
      ${pick("tag", "Tag", titled(options?.tags, "Any tag"))}
      ${pick("source", "Started by", SOURCES)}
    </div>
    <div class="bar-of job-search-times">
      <${Moment} label="Ended since" name="since" value=${given.since ?? ""} onChange=${(/** @type {string | null} */ since) => setQuery({ since })} />
      <${Moment} label="Ended before" name="until" value=${given.until ?? ""} onChange=${(/** @type {string | null} */ until) => setQuery({ until })} />
      ${given.event && html`<${Button} small onClick=${() => setQuery({ event: null })} label="Remove the filter: one event">Event: ${list.items[0]?.title ?? given.event} ✕<//>`}
      ${given.user && html`<${Button} small onClick=${() => setQuery({ user: null })} label=${`Remove the filter: by ${given.user}`}>by ${given.user} ✕<//>`}
      ${isFiltered && html`<${Button} kind="quiet" onClick=${clear}>Clear filters<//>`}
    </div>
    <div class="run-table"><${Card} flush><${Listed} list=${list} columns=${columnsOf(options)} id=${(/** @type {JobRow} */ row) => row.id} to=${(/** @type {JobRow} */ row) => jobLink(row.id)} label="Jobs found"
      empty=${list.hasMore
        ? html`<${Empty} title="No recent jobs match these filters." action=${html`<${Button} onClick=${list.more} busy=${list.isLoading}>Search older jobs<//>`} />`
        : isFiltered
          ? html`<${Empty} title="No jobs match these filters." action=${html`<${Button} onClick=${clear}>Clear filters<//>`} />`
          : html`<${Empty} title="No finished jobs yet." action=${html`<${Button} href="/events">Run an event<//>`} />`} /><//></div>`;
}

/** With the current value, also where it is none of them. @param {[string, string][]} all @param {string} value */
function known(all, value) {
  return all.some(([one]) => one === value) ? all : [...all, /** @type {[string, string]} */ ([value, value])];
}

/** @param {{label: string, name: string, value: string, onChange: (value: string | null) => void}} props */
function Moment({ label, name, value, onChange }) {
  const change = (/** @type {string} */ text) => {
    const at = text ? instant(text) : null;
    onChange(at === null ? null : String(at));
  };
  return html`<${Field} label=${label} name=${name} type="datetime-local" value=${value ? field(Number(value)) : ""} onInput=${change} />`;
}

/** @param {import("../events/words.js").Options | null} options @returns {import("../../kit/table.js").Column<JobRow>[]} */
function columnsOf(options) {
  return [
    { head: "Status", kind: "tight", cell: (row) => html`<${Ended} verdict=${row.verdict} />` },
    { head: "Job", kind: "main", cell: (row) => html`<div class="run-name"><a href=${jobLink(row.id)}>${row.title}</a>${ownTags(row.tags).slice(0, 5).map((tag) => html` <${Chip}>${titleOf(options?.tags, tag)}<//>`)}
      <div class="soft run-words">${row.words === "done" ? "" : row.words}</div></div>` },
    { head: "Ended", kind: "tight", cell: (row) => html`<${EndedAt} at=${row.completed} />` },
    { head: "Duration", kind: "number", cell: (row) => took(row.elapsed) },
    { head: "Category", hide: "phone", cell: (row) => titleOf(options?.categories, row.category) },
    { head: "Server", cell: (row) => row.hostname || html`<span class="soft">–</span>` },
    { head: "Output", kind: "number", hide: "phone", cell: (row) => (row.log_size > 0 ? bytes(row.log_size) : html`<span class="soft">–</span>`) },
    { head: "Started by", hide: "phone", cell: (row) => html`<${StartedBy} of=${row} />` },
  ];
}
