/** What a job is, what led to it, and what became of it. */

import { html } from "htm/preact";
import { url } from "../../api.js";
import { bytes, capitalized } from "../../words.js";
import { Card, Facts } from "../../kit/layout.js";
import { Chip, State } from "../../kit/state.js";
import { When } from "../../kit/time.js";
import { took } from "../../times.js";
import { isWorkflow, titleOf, useOptions } from "../events/words.js";
import { jobLink, ownTags, percent, startedBy } from "./words.js";

/** @typedef {import("./words.js").JobRow} JobRow */
/** @typedef {import("../job.js").JobShown} JobShown */

/** @param {{shown: JobShown, row: JobRow}} props */
export function About({ shown, row }) {
  const options = useOptions().value;
  const { job } = shown;
  const tags = ownTags(row.tags);
  const isOver = row.state === "complete";
  return html`<${Card} title="Details"><${Facts} rows=${[
    ["Launched", html`<${When} at=${row.launched} as="exact" />, ${startedBy(row)}${job.test && html` <${Chip} tone="warn">test<//>`}`],
    row.started > 0 && row.started - row.launched > 1 && ["Started", html`<${When} at=${row.started} as="exact" />, after ${took(row.started - row.launched)}`],
    isOver && row.started > 0 && ["Duration", took(row.elapsed)],
    isOver && ["Result", row.code === 0 ? "exit code 0" : typeof row.code === "number" ? `exit code ${row.code}` : row.code],
    row.server && ["Server", html`<a href=${url("/servers/server", { id: row.server })}>${row.hostname}</a>`],
    !row.server && job.targets.length > 0 && ["Targets", job.targets.map((/** @type {string} */ id) => titleOf(options?.targets, id)).join(", ")],
    row.retry_count > 0 && ["Attempt", html`${row.retry_count + 1}${job.retry_prev && html`, after <a href=${jobLink(job.retry_prev)}>an earlier one</a>`}`],
    job.parent && ["Launched by", html`<a href=${jobLink(job.parent.id)}>job ${job.parent.id}</a>`],
    shown.jobs.length > 0 && ["Launched jobs", html`<ul class="job-links">${shown.jobs.map((one) => html`<li><a href=${jobLink(one.id)}>${one.reason === "retry" ? "next attempt" : one.id}</a></li>`)}</ul>`],
    ["Category", titleOf(options?.categories, row.category)],
    !isWorkflow(row) && ["Plugin", titleOf(options?.plugins, row.plugin)],
    tags.length > 0 && ["Tags", tags.map((tag) => html`<${Chip} href=${url("/jobs", { tab: "search", tag })}>${titleOf(options?.tags, tag)}<//>`)],
    isOver && job.cpu && ["CPU", `${percent(job.cpu.total / Math.max(job.cpu.count, 1))} on average, ${percent(job.cpu.max)} at most`],
    isOver && job.mem && ["Memory", `${bytes(Math.round(job.mem.total / Math.max(job.mem.count, 1)))} on average, ${bytes(job.mem.max)} at most`],
    row.log_size > 0 && ["Output", bytes(row.log_size)],
    ["Job id", html`<code>${row.id}</code>`],
  ]} /><//>`;
}

/** @param {{lines: string[]}} props */
export function Explanation({ lines }) {
  const [headline, ...rest] = lines;
  if (!headline) return null;
  return html`<${Card} title="What happened"><p>${headline}.</p>
    ${rest.length > 0 && html`<ol class="job-why">${rest.map((line) => html`<li>${capitalized(line)}</li>`)}</ol>`}<//>`;
}

/** @type {Record<string, [state: string, word: string]>} */
const RESULTS = { idle: ["none", "not needed"], waiting: ["running", "in progress"], done: ["ok", "done"], failed: ["critical", "failed"] };

/** @param {{actions: import("../job.js").ActionShown[]}} props */
export function Actions({ actions }) {
  if (actions.length === 0) return null;
  return html`<${Card} title="Actions"><ul class="job-list">${actions.map((one) => {
    const [state, word] = RESULTS[one.state] ?? ["none", one.state];
    return html`<li><div class="job-list-main"><strong>${capitalized(one.words)}</strong> <span class="soft">on ${one.trigger}</span>
        ${one.result && html`<div class=${one.state === "failed" ? "bad" : "soft"}>${one.result}</div>`}</div>
      <div class="job-list-end"><${State} state=${state} word=${word} />${one.date && html`<span class="soft"><${When} at=${Math.floor(one.date)} /></span>`}</div></li>`;
  })}</ul><//>`;
}

/** @param {{files: import("../job.js").JobFile[]}} props */
export function Files({ files }) {
  if (files.length === 0) return null;
  return html`<${Card} title="Files"><ul class="job-list">${files.map((file) => html`<li>
    <a class="job-list-main" href=${file.url} download>${file.filename}</a><span class="soft">${bytes(file.size)}</span></li>`)}</ul><//>`;
}

/** @param {{job: any, isMasked: boolean}} props */
export function Parameters({ job, isMasked }) {
  const given = Object.entries(job.params);
  const input = job.input && Object.keys(job.input).length > 0 ? job.input : null;
  if (given.length === 0 && !input) return null;
  return html`<${Card} title="Parameters" actions=${isMasked && html`<span class="soft">Secret values are hidden.</span>`}>
    <dl class="job-params">${given.map(([name, value]) => html`<div><dt>${name}</dt><dd>${valueOf(value)}</dd></div>`)}
      ${input && html`<div><dt>Input</dt><dd>${valueOf(input)}</dd></div>`}</dl><//>`;
}

/** @param {any} value */
function valueOf(value) {
  if (typeof value === "string" && value.includes("\n")) return html`<pre class="job-text">${value}</pre>`;
  if (value !== null && typeof value === "object") return html`<pre class="job-text">${JSON.stringify(value, null, 2)}</pre>`;
  return html`<code>${String(value)}</code>`;
}

/** @param {{activity: {epoch: number, msg: string, server?: string}[]}} props */
export function Activity({ activity }) {
  if (activity.length === 0) return null;
  return html`<${Card} title="Activity"><ol class="job-activity">${activity.map((one) => html`<li>
    <span class="soft"><${When} at=${one.epoch} as="short" /></span><span>${one.msg}</span></li>`)}</ol><//>`;
}
