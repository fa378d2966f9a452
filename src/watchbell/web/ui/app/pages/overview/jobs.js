/** Jobs that run or failed lately, and servers that are down. */

import { html } from "htm/preact";
import { url } from "../../api.js";
import { counted } from "../../words.js";
import { may } from "../../session.js";
import { Button } from "../../kit/form.js";
import { Card, Empty } from "../../kit/layout.js";
import { Mark, State } from "../../kit/state.js";
import { Since, When } from "../../kit/time.js";
import { jobLink, Progress, verdictOf } from "../jobs/words.js";

/**
 * @typedef {import("../jobs/words.js").JobRow} JobRow
 * @typedef {{events: number, active: number, waiting: number, finished: number, running: JobRow[], failed: JobRow[], servers: number,
 *   down: {id: string, title: string, seen: number | null}[], down_count: number}} Known
 */

/** @param {{jobs: Known}} props */
export function Jobs({ jobs }) {
  const isNew = jobs.events === 0 && jobs.finished === 0 && jobs.active === 0;
  const actions = !isNew && html`${jobs.waiting > 0 && html`<a href="/jobs?tab=queued">${jobs.waiting.toLocaleString("en")} queued</a>`} <a href="/jobs">Show runs</a>`;
  return html`<${Card} title="Jobs" actions=${actions}>
    ${isNew && html`<${Empty} title="No jobs yet." action=${may("create_events") && html`<${Button} href="/events/new">Create an event<//>`}>An event is a script with a schedule. Each run of it is a job.<//>`}
    ${!isNew && jobs.running.length === 0 && html`<p class="soft">Nothing is running.</p>`}
    ${jobs.running.length > 0 && html`<h3>Running</h3><ul class="overview-list overview-jobs">${jobs.running.map((one) => html`<li>
      <${State} state="running" word="" /><a href=${jobLink(one.id)}>${one.title}</a>${one.hostname && html`<span class="soft">on ${one.hostname}</span>`}
      <${Progress} value=${one.progress} label=${`Progress of ${one.title}`} />
      <span class="soft">for <${Since} since=${Math.floor(one.started || one.launched)} /></span></li>`)}
      ${jobs.active > jobs.running.length && html`<li class="soft">and ${jobs.active - jobs.running.length} more</li>`}</ul>`}
    ${jobs.failed.length > 0 && html`<h3>Failed in the last 24 hours</h3><ul class="overview-list">${jobs.failed.map((one) => html`<li>
      <${Mark} state=${verdictOf(one.verdict)[0]} title=${verdictOf(one.verdict)[1]} /><a href=${jobLink(one.id)}>${one.title}</a>
      ${one.description && html`<span class="overview-said">${one.description}</span>`}<span class="soft"><${When} at=${Math.floor(one.completed)} /></span></li>`)}</ul>`}
  <//>`;
}

/** @param {{jobs: Known}} props */
export function ServersDown({ jobs }) {
  if (jobs.down_count === 0) return null;
  return html`<${Card} title=${jobs.down_count === 1 ? "A server is down" : `${counted(jobs.down_count, "server")} are down`} actions=${html`<a href="/servers">Show servers</a>`}>
    <ul class="overview-list">${jobs.down.map((one) => html`<li><${Mark} state="critical" title="down" /><a href=${url("/servers/server", { id: one.id })}>${one.title}</a>
      <span class="soft">last seen <${When} at=${one.seen === null ? null : Math.floor(one.seen)} /></span></li>`)}
      ${jobs.down_count > jobs.down.length && html`<li class="soft">and ${jobs.down_count - jobs.down.length} more</li>`}</ul>
  <//>`;
}
