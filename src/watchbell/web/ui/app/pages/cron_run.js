/** One run: what it prints while it does, how it stands, and the ways to end it. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { post, useFetched } from "../api.js";
import { useLive } from "../live.js";
import { useQuery } from "../location.js";
import { may } from "../session.js";
import { confirm } from "../kit/dialog.js";
import { Button } from "../kit/form.js";
import { Card, Empty, Facts, Fetched, Page } from "../kit/layout.js";
import { Since, When } from "../kit/time.js";
import { say } from "../kit/toast.js";
import { Output } from "./cron/output.js";
import { bytes, jobLink, Status, took } from "./cron/words.js";

/** @typedef {import("./cron/words.js").Run} Run */

const WHY = { schedule: "by its schedule", late: "late, by its schedule", trigger: "somebody triggered it", retry: "tried again after a failure" };

export default function CronRun() {
  const [query] = useQuery();
  const id = query.get("id") ?? "";
  const fetched = useFetched(id ? `/cron/runs/${encodeURIComponent(id)}` : null);
  if (!id) {
    return html`<${Page} title="Run"><${Empty} title="Which run?" action=${html`<${Button} href="/cron">To the jobs<//>`}>Runs are listed with their job.<//><//>`;
  }
  if (!fetched.value) return html`<${Page} title="Run" above=${html`<a href="/cron">Cron</a>`}><${Fetched} of=${fetched} lines=${8}>${() => null}<//><//>`;
  return html`<${Shown} key=${id} first=${fetched.value} />`;
}

/** @param {{first: {run: Run, tail: string}}} props */
function Shown({ first }) {
  const [run, setRun] = useState(first.run);
  const [isGone, setIsGone] = useState(false);
  const [news, setNews] = useState(/** @type {any} */ (null));
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
  return html`<${Page} wide title=${run.job} above=${html`<a href="/cron">Cron</a> › <a href=${jobLink(run.job)}>Job</a>`}
    lead=${html`<span class="run-lead" role="status"><${Status} status=${run.status} /> ${run.words !== "done" && run.words}</span>`}
    actions=${isLive && may("operate") && html`<${Ends} run=${run} />`}>
    ${isGone && html`<div class="notice notice-warn" role="status">This run was forgotten: its job was removed, or many others came after it.</div>`}
    <div class="run-facts"><${Card}><${Facts} rows=${facts(run)} /><//></div>
    <${Card} flush title="Output"><${Output} run=${run.id} isLive=${isLive} news=${news} tail=${first.tail} /><//>
  <//>`;
}

/** @param {Run} run @returns {([any, any] | null | false)[]} */
function facts(run) {
  const isOver = run.status !== "running";
  return [
    ["Began", html`<${When} at=${run.start} as="exact" />, ${WHY[run.why]}`],
    run.attempts > 1 && ["Attempt", html`${run.attempt} of ${run.attempts}${run.retry_at !== null && html`, the next at <${When} at=${run.retry_at} as="exact" />`}`],
    run.why !== "trigger" && run.fire > 0 && Math.abs(run.start - run.fire) > 2 && ["Scheduled for", html`<${When} at=${run.fire} as="exact" />`],
    isOver ? ["Took", took(run.duration ?? 0)] : ["For", html`<${Since} since=${run.start} />`],
    isOver && run.retcode !== null && ["Ended with", run.retcode < 0 ? `signal ${-run.retcode}` : `exit code ${run.retcode}`],
    ["On", run.instance && run.instance !== run.host ? `${run.host}, ${run.instance}` : run.host],
    isOver && ["Used", `${took(run.cpu)} of CPU time${run.memory > 0 ? `, at most ${bytes(run.memory)} of memory` : ""}`],
    isOver && run.output_bytes > 0 && ["Printed", bytes(run.output_bytes)],
    ["Run", html`<code>${run.id}</code>`],
  ];
}

/** @param {{run: Run}} props */
function Ends({ run }) {
  const end = (/** @type {"terminate" | "kill"} */ way, /** @type {string} */ done) => async () => {
    await post(`/cron/runs/${encodeURIComponent(run.id)}/${way}`);
    say(done);
  };
  const terminate = () =>
    confirm({
      title: "Terminate this run?",
      words: "All its processes are asked to end (SIGTERM). Those that are left after a while are killed. The run counts as failed.",
      yes: "Terminate",
      act: end("terminate", "Its processes were told to end."),
    });
  const kill = () =>
    confirm({
      title: "Kill this run?",
      words: "All its processes end at once (SIGKILL), without a chance to tidy up: what they write may be left half done. The run counts as failed.",
      yes: "Kill",
      act: end("kill", "Its processes are killed."),
    });
  return html`<${Button} onClick=${terminate}>Terminate<//><${Button} kind="danger" onClick=${kill}>Kill<//>`;
}
