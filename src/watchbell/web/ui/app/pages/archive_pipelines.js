/** The pipelines that run crawls: what they use, what they run, and how to stop or forget one. */

import { html } from "htm/preact";
import { post, remove, useFetched } from "../api.js";
import { useLive } from "../live.js";
import { may } from "../session.js";
import { bytes, counted } from "../words.js";
import { Command } from "../kit/copy.js";
import { confirm } from "../kit/dialog.js";
import { Button } from "../kit/form.js";
import { Gauge } from "../kit/gauge.js";
import { Card, Empty, Facts, Fetched, Page } from "../kit/layout.js";
import { Chip, State } from "../kit/state.js";
import { Lasting } from "../kit/time.js";
import { showToast } from "../kit/toast.js";
import { ArchiveNav } from "./archive/nav.js";
import { crawlLink, number, Standing } from "./archive/words.js";

/**
 * @typedef {{id: string, nickname: string, hostname: string, fqdn: string, pid: number, version: string, python: string,
 *   state: "running" | "stopping" | "silent", silent: number, concurrent: number | null, only_pages: boolean, large: boolean,
 *   crawls: import("./archive/words.js").Crawl[], disk_usage: number, disk_available: number, mem_usage: number, mem_available: number,
 *   uploads: {files: number, size: number, sent: number, problem: string} | null,
 *   load_average_1m: number, load_average_5m: number, load_average_15m: number}} Pipeline
 */

/** @type {Record<Pipeline["state"], [state: string, word: string]>} */
const STATES = { running: ["ok", "running"], stopping: ["paused", "stopping"], silent: ["critical", "no sign of life"] };

export default function Pipelines() {
  const fetched = useFetched("/archive/pipelines", { every: 3 });
  useLive("/live?topics=archive", { archive: fetched.reload, reset: fetched.reload });
  return html`<${Page} wide title="Pipelines" lead="Processes that run crawls.">
    <${ArchiveNav} />
    <${Fetched} of=${fetched} lines=${6}>${(/** @type {{items: Pipeline[]}} */ { items }) =>
      items.length === 0
        ? html`<${Card}><${Empty} title="No pipeline is running.">Watchbell starts one as soon as a crawl is queued. To run more, on this machine or on others with the same store, use:
            <${Command} text="watchbell run pipeline" /><//><//>`
        : html`<div class="pipelines">${items.map((one) => html`<${Shown} key=${one.id} pipeline=${one} reload=${fetched.reload} />`)}</div>`}<//>
  <//>`;
}

/** @param {{pipeline: Pipeline, reload: () => void}} props */
function Shown({ pipeline, reload }) {
  const [state, word] = STATES[pipeline.state];
  const name = pipeline.nickname || pipeline.id;
  const stop = () =>
    confirm({
      title: `Stop ${name}?`,
      words: html`<p>It takes no more crawls, and ends after ${pipeline.crawls.length ? html`the ${counted(pipeline.crawls.length, "crawl")} that it runs` : "this"}. To start it again, use the command line of its machine.</p>`,
      yes: "Stop pipeline",
      async act() {
        await post(`/archive/pipelines/${encodeURIComponent(pipeline.id)}/stop`);
        showToast("The pipeline is stopping.");
        reload();
      },
    });
  const forget = () =>
    confirm({
      title: `Forget ${name}?`,
      words: html`<p>Use this where its machine will not come back. The pipeline is no longer listed, and its check no longer fails. If it starts again, it is listed again.</p>`,
      yes: "Forget pipeline",
      async act() {
        await remove(`/archive/pipelines/${encodeURIComponent(pipeline.id)}`);
        showToast("The pipeline is forgotten.");
        reload();
      },
    });
  const many = pipeline.crawls.length;
  return html`<${Card} title=${html`${name} <span class="soft plain">${pipeline.hostname}</span>`} actions=${html`<${State} state=${state} word=${word} />
      ${may("operate") && pipeline.state === "running" && html`<${Button} small onClick=${stop}>Stop<//>`}
      ${may("operate") && pipeline.state === "silent" && html`<${Button} small onClick=${forget}>Forget<//>`}`}>
    <div class="pipeline-gauges">
      <${Gauge} label="Crawls" isCapacity part=${pipeline.concurrent ? many / pipeline.concurrent : null} words=${pipeline.concurrent ? `${many} of ${pipeline.concurrent} crawls` : counted(many, "crawl")} />
      <${Gauge} label="Disk" part=${pipeline.disk_usage / 100} words=${`${bytes(pipeline.disk_available)} free`} />
      <${Gauge} label="Memory" part=${pipeline.mem_usage / 100} words=${`${bytes(pipeline.mem_available)} free`} />
    </div>
    <${Facts} rows=${[
      ["Id", html`<code class="break">${pipeline.id}</code>`],
      pipeline.state === "silent" && ["Silent for", html`<${Lasting} seconds=${Math.round(pipeline.silent)} />`],
      ["Takes", html`${pipeline.only_pages ? html`<${Chip}>single pages<//>` : html`<${Chip}>sites<//> <${Chip}>single pages<//>`}${pipeline.large && html` <${Chip}>large sites<//>`}`],
      pipeline.uploads && ["Uploads", html`${pipeline.uploads.files ? `${counted(pipeline.uploads.files, "file")}, ${bytes(Math.max(0, pipeline.uploads.size - pipeline.uploads.sent))} left` : "all done"}${pipeline.uploads.problem && html`<div class="soft plain break">${pipeline.uploads.problem}</div>`}`],
      ["Load", `${pipeline.load_average_1m.toFixed(2)}, ${pipeline.load_average_5m.toFixed(2)}, ${pipeline.load_average_15m.toFixed(2)}`],
      ["Process", `${pipeline.pid} on ${pipeline.fqdn || pipeline.hostname}, version ${pipeline.version || "unknown"}`],
    ]} />
    ${many > 0 && html`<ul class="pipeline-crawls">${pipeline.crawls.slice(0, 20).map((row) => html`<li key=${row.id}><a href=${crawlLink(row.id)}>${row.url}</a><${Standing} row=${row} /></li>`)}
      ${many > 20 && html`<li class="soft">and ${number(many - 20)} more</li>`}</ul>`}
  <//>`;
}
