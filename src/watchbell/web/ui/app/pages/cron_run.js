/** One run: its status, live output, and the actions that end it. */

import { html } from "htm/preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { get, post, url, useFetched } from "../api.js";
import { useLive } from "../live.js";
import { useQuery } from "../location.js";
import { may } from "../session.js";
import { confirm } from "../kit/dialog.js";
import { Button } from "../kit/form.js";
import { Card, Empty, Facts, Fetched, Page } from "../kit/layout.js";
import { Since, When } from "../kit/time.js";
import { showToast } from "../kit/toast.js";
import { Output } from "../runs/output.js";
import { took } from "../times.js";
import { bytes } from "../words.js";
import { jobLink, Status } from "./cron/words.js";

/** @typedef {import("./cron/words.js").Run} Run */

const WHY = { schedule: "scheduled", late: "scheduled, late", trigger: "started manually", retry: "retry after a failure" };

export default function CronRun() {
  const [query] = useQuery();
  const id = query.get("id") ?? "";
  const fetched = useFetched(id ? `/cron/runs/${encodeURIComponent(id)}` : null);
  if (!id) {
    return html`<${Page} title="Run"><${Empty} title="No run selected." action=${html`<${Button} href="/cron?tab=runs">Show all runs<//>`} /><//>`;
  }
  if (!fetched.value) return html`<${Page} title="Run" above=${html`<a href="/cron">Cron</a>`}><${Fetched} of=${fetched} lines=${8}>${() => null}<//><//>`;
  return html`<${Shown} key=${id} first=${fetched.value} />`;
}

/** @param {{first: {run: Run, tail: string}}} props */
function Shown({ first }) {
  const [run, setRun] = useState(first.run);
  const [isGone, setIsGone] = useState(false);
  const [news, setNews] = useState(/** @type {any} */ (null));
  const source = useMemo(() => outputOf(run.id), [run.id]);
  const isLive = run.status === "running" && !isGone;
  useLive(isLive ? `/cron/runs/${encodeURIComponent(run.id)}/live` : null, {
    lines: setNews,
    status: setRun,
    end: setRun,
    gone: () => setIsGone(true),
  });
  useEffect(() => {
    document.title = `${run.job}: ${run.status} · Watchbell`;
  }, [run.status]);
  return html`<${Page} wide title=${run.job} above=${html`<a href="/cron">Cron</a> / <a href=${jobLink(run.job)}>Job</a>`}
    lead=${html`<span class="run-lead" role="status"><${Status} status=${run.status} /> ${run.words !== "done" && run.words}</span>`}
    actions=${isLive && may("operate") && html`<${Ends} run=${run} />`}>
    ${isGone && html`<div class="notice notice-warn" role="status">This run is no longer stored: its job was deleted, or newer runs replaced it.</div>`}
    <div class="run-facts"><${Card}><${Facts} rows=${facts(run)} /><//></div>
    <${Card} flush title="Output"><${Output} source=${source} isLive=${isLive} news=${news} tail=${first.tail} /><//>
  <//>`;
}

/** @param {string} id @returns {import("../runs/output.js").Source} */
function outputOf(id) {
  const path = `/cron/runs/${encodeURIComponent(id)}`;
  return {
    id,
    load: (where) => get(url(`${path}/output`, where)),
    search: (query) => get(url(`${path}/search`, query)),
    download: `/api/v1${path}/download`,
  };
}

/** @param {Run} run @returns {([any, any] | null | false)[]} */
function facts(run) {
  const isOver = run.status !== "running";
  return [
    ["Started", html`<${When} at=${run.start} as="exact" />, ${WHY[run.why]}`],
    run.attempts > 1 && ["Attempt", html`${run.attempt} of ${run.attempts}${run.retry_at !== null && html`, next attempt <${When} at=${run.retry_at} as="exact" />`}`],
    run.why !== "trigger" && run.fire > 0 && Math.abs(run.start - run.fire) > 2 && ["Scheduled for", html`<${When} at=${run.fire} as="exact" />`],
    isOver ? ["Duration", took(run.duration ?? 0)] : ["Duration", html`<${Since} since=${run.start} />`],
    isOver && run.retcode !== null && ["Result", run.retcode < 0 ? `signal ${-run.retcode}` : `exit code ${run.retcode}`],
    ["Host", run.instance && run.instance !== run.host ? `${run.host}, ${run.instance}` : run.host],
    isOver && ["Usage", `${took(run.cpu)} CPU time${run.memory > 0 ? `, ${bytes(run.memory)} peak memory` : ""}`],
    isOver && run.output_bytes > 0 && ["Output", bytes(run.output_bytes)],
    ["Run id", html`<code>${run.id}</code>`],
  ];
}

/** @param {{run: Run}} props */
function Ends({ run }) {
  const end = (/** @type {"terminate" | "kill"} */ way, /** @type {string} */ done) => async () => {
    await post(`/cron/runs/${encodeURIComponent(run.id)}/${way}`);
    showToast(done);
  };
  const terminate = () =>
    confirm({
      title: "Terminate this run?",
      words: "All its processes get SIGTERM, and SIGKILL if they don't exit in time. The run counts as failed.",
      yes: "Terminate",
      act: end("terminate", "SIGTERM sent."),
    });
  const kill = () =>
    confirm({
      title: "Kill this run?",
      words: "All its processes get SIGKILL and can't clean up: their work may be left unfinished. The run counts as failed.",
      yes: "Kill",
      act: end("kill", "SIGKILL sent."),
    });
  return html`<${Button} onClick=${terminate}>Terminate<//><${Button} kind="danger" onClick=${kill}>Kill<//>`;
}
