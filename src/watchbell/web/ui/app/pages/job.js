/** One job: what it does or how it ended, its output, what it uses, and what led to it. */

import { html } from "htm/preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { useFetched, useInterval } from "../api.js";
import { useLive } from "../live.js";
import { useQuery } from "../location.js";
import { Button } from "../kit/form.js";
import { Card, Empty, Fetched, Page } from "../kit/layout.js";
import { Output } from "../runs/output.js";
import { Acts } from "./jobs/acts.js";
import { Banner } from "./jobs/banner.js";
import { Actions, Activity, About, Explanation, Files, Parameters } from "./jobs/details.js";
import { outputOf } from "./jobs/job_output.js";
import { Processes } from "./jobs/processes.js";
import { Report } from "./jobs/report.js";
import { Usage } from "./jobs/usage.js";
import { standingOf } from "./jobs/words.js";
import { eventLink } from "./events/words.js";
import { Run } from "./workflow/run.js";

/**
 * @typedef {import("./jobs/words.js").JobRow} JobRow
 * @typedef {{filename: string, size: number, url: string}} JobFile
 * @typedef {{trigger: string, type: string, words: string, state: "idle" | "waiting" | "done" | "failed", result: string, date: number | null}} ActionShown
 * @typedef {{row: JobRow, job: any, is_masked: boolean, explanation: string[], procs: Record<string, any> | null, conns: any[], files: JobFile[],
 *   actions: ActionShown[], jobs: {id: string, reason: string, title: string}[], event_exists: boolean, is_suspended: boolean,
 *   can_abort: boolean, can_rerun: boolean}} JobShown
 */

/** Seconds between refreshes of what the live stream does not have. */
const EVERY = 2;
const runs = html`<a href="/jobs">Runs</a>`;

export default function JobPage() {
  const [query] = useQuery();
  const id = query.get("id") ?? "";
  if (!id) {
    return html`<${Page} title="Job" above=${runs}><${Empty} title="No job selected." action=${html`<${Button} href="/jobs">Show all runs<//>`} /><//>`;
  }
  return html`<${Known} key=${id} id=${id} />`;
}

/** @param {{id: string}} props */
function Known({ id }) {
  const fetched = useFetched(`/jobs/${encodeURIComponent(id)}`);
  const shown = /** @type {JobShown | null} */ (fetched.value);
  if (!shown) return html`<${Page} title="Job" above=${runs}><${Fetched} of=${fetched} lines=${8}>${() => null}<//><//>`;
  return html`<${Body} shown=${shown} reload=${fetched.reload} isMissing=${fetched.problem?.status === 404} />`;
}

/** @param {{shown: JobShown, reload: () => void, isMissing: boolean}} props `isMissing`: its record could not be found again */
function Body({ shown, reload, isMissing }) {
  const [row, setRow] = useState(shown.row);
  const [hasGone, setHasGone] = useState(false);
  const isGone = hasGone || isMissing;
  const [news, setNews] = useState(/** @type {any} */ (null));
  const source = useMemo(() => outputOf(row.id), [row.id]);
  const isLive = row.state !== "complete" && !isGone;
  // A run of a workflow has a stream of its own, with its nodes.
  const isRun = shown.job.type === "workflow" && Boolean(shown.job.workflow?.nodes);
  useLive(isLive && !isRun ? `/jobs/${encodeURIComponent(row.id)}/live` : null, {
    lines: setNews,
    status: setRow,
    end: (/** @type {JobRow} */ ended) => {
      setRow(ended);
      reload();
    },
    gone: () => setHasGone(true),
  });
  // The record is the newer one, except where it was read before the job went on.
  useEffect(() => {
    if (shown.row.state === "complete" || !isLive || isRun) setRow(shown.row);
  }, [shown.row]);
  const isWaiting = shown.actions.some((one) => one.state === "waiting");
  useInterval(reload, isLive ? EVERY : isWaiting && !isGone ? 2 * EVERY : 0);
  useEffect(() => {
    document.title = `${row.title}: ${standingOf(row)[1]} · Watchbell`;
  }, [row.title, row.state, row.verdict]);
  const { job } = shown;
  const isBegun = row.started > 0;
  return html`<${Page} wide title=${row.title} above=${html`${runs}${shown.event_exists && html` / <a href=${eventLink(row.event)}>Event</a>`}`}
    actions=${html`<${Acts} shown=${shown} row=${row} isLive=${isLive} reload=${reload} />`}>
    ${isGone && html`<div class="notice notice-warn notice-wide" role="status">This job is no longer stored: it was deleted, or newer jobs replaced it.</div>`}
    <${Banner} row=${row} shown=${shown} />
    ${isRun && html`<${Run} job=${job} isLive=${isLive} onNews=${reload} />`}
    ${((isBegun && !isRun) || row.log_size > 0) && html`<${Card} flush title="Output"><${Output} source=${source} isLive=${isLive} news=${news} tail="" /><//>`}
    <${Report} job=${job} />
    ${isBegun && html`<${Usage} id=${row.id} row=${row} isLive=${isLive} />`}
    ${isLive && !isRun && html`<${Processes} procs=${shown.procs} conns=${shown.conns} />`}
    <div class="job-parts">
      <${About} shown=${shown} row=${row} />
      <${Explanation} lines=${shown.explanation} />
      <${Actions} actions=${shown.actions} />
      <${Files} files=${shown.files} />
      <${Parameters} job=${job} isMasked=${shown.is_masked} />
      <${Activity} activity=${job.activity} />
    </div>
  <//>`;
}
