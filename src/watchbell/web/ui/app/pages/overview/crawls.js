/** Crawls that run or failed lately. */

import { html } from "htm/preact";
import { Card } from "../../kit/layout.js";
import { Mark, State } from "../../kit/state.js";
import { Since, When } from "../../kit/time.js";
import { crawlLink, number } from "../archive/words.js";

/**
 * @typedef {{running: number, queued: number, ended: number, items: import("../archive/words.js").Crawl[], failed: import("../archive/words.js").Past[]}} Known
 */

/** Nothing until there is a crawl. @param {{crawls: Known}} props */
export function Crawls({ crawls }) {
  if (crawls.running + crawls.queued + crawls.ended === 0) return null;
  const actions = html`${crawls.queued > 0 && html`<a href="/archive/pending">${number(crawls.queued)} queued</a>`} <a href="/archive">Show crawls</a>`;
  return html`<${Card} title="Archive" actions=${actions}>
    ${crawls.items.length === 0 && html`<p class="soft">No crawl is running.</p>`}
    ${crawls.items.length > 0 && html`<h3>Running</h3><ul class="overview-list">${crawls.items.map((one) => html`<li>
      <${State} state=${one.state === "paused" ? "paused" : "running"} word="" /><a class="break" href=${crawlLink(one.id)}>${one.url}</a>
      <span class="soft">${number(one.items_downloaded)} saved${one.started_at && html`, for <${Since} since=${Math.floor(one.started_at)} />`}</span></li>`)}
      ${crawls.running > crawls.items.length && html`<li class="soft">and ${number(crawls.running - crawls.items.length)} more</li>`}</ul>`}
    ${crawls.failed.length > 0 && html`<h3>Failed in the last 24 hours</h3><ul class="overview-list">${crawls.failed.map((one) => html`<li>
      <${Mark} state="critical" title="failed" /><a class="break" href=${crawlLink(one.ident)}>${one.url}</a>
      ${one.reason && html`<span class="overview-said">${one.reason}</span>`}<span class="soft"><${When} at=${one.finished_at && Math.floor(one.finished_at)} /></span></li>`)}</ul>`}
  <//>`;
}
