/** What a panel shows. */

import { html } from "htm/preact";
import { url, useFetched } from "../../api.js";
import { withCode } from "../../kit/text.js";
import { Fetched } from "../../kit/layout.js";
import { State } from "../../kit/state.js";
import { Since, When } from "../../kit/time.js";
import { Standing as CrawlStanding, crawlLink } from "../archive/words.js";
import { EndedAt, jobLink, Standing } from "../jobs/words.js";
import { alertLink, AlertState } from "../server_alerts/words.js";
import { Tile } from "../servers/tile.js";
import { MonitorPlot } from "./plot.js";
import { BLANK } from "./words.js";

/**
 * @typedef {import("./words.js").Panel} Panel
 * @typedef {import("./words.js").Resolution} Resolution
 * @typedef {{panel: Panel, monitors: import("./words.js").Monitor[], span: Resolution | null}} Shown
 */

/** Seconds between two readings. */
const EVERY = 15;
const countOf = (/** @type {Panel} */ panel) => panel.count ?? BLANK.count;

/** @param {{words: string}} props */
const Nothing = ({ words }) => html`<p class="soft">${words}</p>`;

/** @type {Record<import("./words.js").PanelType, (props: Shown) => any>} */
const CONTENTS = { plot: MonitorPlot, servers: Servers, checks: Checks, alerts: Alerts, jobs: Jobs, crawls: Crawls, text: Words };

/** @param {Shown} props */
export function Content(props) {
  return html`<${CONTENTS[props.panel.type]} ...${props} />`;
}

/** @param {Shown} props */
function Words({ panel }) {
  return html`<p class="panel-text">${withCode(panel.text ?? "")}</p>`;
}

/** @param {Shown} props */
function Servers({ panel }) {
  const fetched = useFetched(url("/servers", { group: panel.group, sort: "state", limit: countOf(panel) }), { every: EVERY });
  return html`<${Fetched} of=${fetched}>${(/** @type {{items: import("../servers/words.js").Row[], count: number}} */ { items, count }) => html`
    ${items.length === 0 && html`<${Nothing} words="No servers." />`}
    <ul class="fleet panel-fleet">${items.map((row) => html`<${Tile} key=${row.id} row=${row} />`)}</ul>
    <${More} count=${count - items.length} />`}<//>`;
}

/** @param {Shown} props */
function Checks({ panel }) {
  const fetched = useFetched(url("/checks", { failing: true, text: panel.filter, limit: countOf(panel) }), { every: EVERY });
  return html`<${Fetched} of=${fetched}>${(/** @type {{items: import("../overview/failing.js").Row[], count: number}} */ { items, count }) => html`
    ${items.length === 0 && html`<p class="panel-good"><${State} state="ok" word="No checks are failing." /></p>`}
    <ul class="overview-list">${items.map((row) => html`<li key=${row.id}>
      <${State} state=${row.state} word="" /><a href=${url("/check", { id: row.id })} title=${row.summary}>${row.entity}:${row.check}</a>
      ${row.acknowledged && html`<${State} state="acknowledged" />`}
      <span class="soft">for <${Since} since=${row.failing_since ?? row.since} /></span></li>`)}</ul>
    <${More} count=${count - items.length} />`}<//>`;
}

/** @param {Shown} props */
function Alerts({ panel }) {
  const fetched = useFetched(url("/server-alerts", { active: true, group: panel.group, limit: countOf(panel) }), { every: EVERY });
  return html`<${Fetched} of=${fetched}>${(/** @type {{items: import("../server_alerts/words.js").Row[], count: number}} */ { items, count }) => html`
    ${items.length === 0 && html`<p class="panel-good"><${State} state="ok" word="No server alerts are active." /></p>`}
    <ul class="overview-list">${items.map((row) => html`<li key=${row.id}>
      <${AlertState} row=${row} /><a href=${alertLink(row.id)} title=${row.message}>${row.title}</a><span class="soft">on ${row.hostname}</span>
      <span class="soft"><${When} at=${Math.floor(row.date)} /></span></li>`)}</ul>
    <${More} count=${count - items.length} />`}<//>`;
}

/** @param {Shown} props */
function Jobs({ panel }) {
  const given = { event: panel.filter, limit: countOf(panel) };
  const running = useFetched(url("/jobs", given), { every: EVERY });
  const ended = useFetched(url("/jobs/search", given), { every: EVERY });
  return html`<${Fetched} of=${running}>${(/** @type {{items: import("../jobs/words.js").JobRow[]}} */ now) => html`<${Fetched} of=${ended}>${(/** @type {{items: import("../jobs/words.js").JobRow[]}} */ { items }) => {
    const rows = [...now.items, ...items.filter((one) => !now.items.some((other) => other.id === one.id))].slice(0, countOf(panel));
    if (rows.length === 0) return html`<${Nothing} words="No jobs yet." />`;
    return html`<ul class="overview-list">${rows.map((row) => html`<li key=${row.id}><${Standing} row=${row} /><a href=${jobLink(row.id)}>${row.title}</a>
      ${row.hostname && html`<span class="soft">on ${row.hostname}</span>`}
      <span class="soft">${row.completed ? html`<${EndedAt} at=${row.completed} />` : html`for <${Since} since=${Math.floor(row.started || row.launched)} />`}</span></li>`)}</ul>`;
  }}<//>`}<//>`;
}

/** @param {Shown} props */
function Crawls({ panel }) {
  const fetched = useFetched(url("/archive/crawls", { limit: countOf(panel) }), { every: EVERY });
  return html`<${Fetched} of=${fetched}>${(/** @type {import("../archive/words.js").CrawlsPage} */ { items, count }) => html`
    ${items.length === 0 && html`<${Nothing} words="No crawls." />`}
    <ul class="overview-list">${items.map((row) => html`<li key=${row.id}><${CrawlStanding} row=${row} /><a class="break" href=${crawlLink(row.id)}>${row.url}</a>
      <span class="soft">${row.items_downloaded.toLocaleString("en")} saved</span></li>`)}</ul>
    <${More} count=${count - items.length} />`}<//>`;
}

/** @param {{count: number}} props */
function More({ count }) {
  return count > 0 && html`<p class="soft panel-more">and ${count.toLocaleString("en")} more</p>`;
}
