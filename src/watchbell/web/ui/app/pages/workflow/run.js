/** A run of a workflow: its graph with the state of each node, the jobs of one, and their output. */

import { html } from "htm/preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { post, url, useFetched } from "../../api.js";
import { useCell } from "../../cell.js";
import { useLive } from "../../live.js";
import { go } from "../../location.js";
import { may } from "../../session.js";
import { clock, took } from "../../times.js";
import { capitalized, counted } from "../../words.js";
import { Button } from "../../kit/form.js";
import { Card, Fetched } from "../../kit/layout.js";
import { State } from "../../kit/state.js";
import { attempt } from "../../kit/toast.js";
import { Ended, jobLink, titleOf, useOptions, verdictOf } from "../events/words.js";
import { JobOutput } from "../jobs/job_output.js";
import { useSoon } from "../jobs/soon.js";
import { Canvas } from "./canvas.js";
import { viewCommands } from "./commands.js";
import { laidOut } from "./layout.js";
import { useLooking } from "./looking.js";
import { badgesOf, firedIn } from "./run_state.js";
import { useEventTitles } from "./titles.js";
import { useView } from "./view.js";
import { ViewBar } from "./view_bar.js";
import { factsOf } from "./words.js";

/**
 * @typedef {import("./run_state.js").RunView} RunView
 * @typedef {import("./run_state.js").RunJob} RunJob
 * @typedef {import("./node_box.js").Badge} Badge
 * @typedef {import("../events/words.js").Options} Options
 * @typedef {{job: any, run: RunView}} Given
 */

const HINT = "Arrow keys go from node to node. The details of a node are beside the graph.";
/** How long changes that come together are waited for. */
const SOON_MS = 500;
/**
 * A run in progress comes from its stream alone, so that nothing older can overtake it. If the page
 * learns elsewhere that it has ended, before the stream says so, its end is fetched.
 * @param {{job: any, isLive: boolean, onNews: () => void}} props `onNews`: called when the record of the run has changed
 */
export function Run({ job, isLive, onNews }) {
  const path = `/jobs/${encodeURIComponent(job.id)}/workflow`;
  const [news, setNews] = useState(/** @type {RunView | null} */ (null));
  const isWhole = isLive || Boolean(news?.is_over);
  const fetched = useFetched(isWhole ? null : path);
  const soon = useSoon(onNews, SOON_MS);
  const take = (/** @type {RunView} */ run) => {
    setNews(run);
    soon();
  };
  useLive(isLive ? `${path}/live` : null, { run: take, end: take, gone: onNews });
  const ended = isWhole ? null : /** @type {RunView | null} */ (fetched.value);
  const value = ended ?? news;
  return html`<${Card} title="Workflow"><${Fetched} of=${{ ...fetched, value }} lines=${6}>${(/** @type {RunView} */ run) => html`<${Graph} job=${job} run=${run} />`}<//><//>`;
}

/** @param {Given} props */
function Graph({ job, run }) {
  const now = useCell(clock);
  const graph = useMemo(() => laidOut({ nodes: job.workflow.nodes.map(whole), connections: job.workflow.connections ?? [] }), [job.id]);
  const options = useOptions().value;
  const events = useEventTitles();
  const facts = useMemo(() => factsOf(graph, { events, plugins: options?.plugins ?? [] }), [graph, events, options]);
  const badges = useSame(badgesOf(run, now));
  const fired = useMemo(() => firedIn(run), [run]);
  const viewing = useView(graph);
  const [isFull, setIsFull] = useState(false);
  const commands = viewCommands(viewing, { isFull, toggleFull: () => setIsFull(!isFull) });
  const { current, selected, select, key } = useLooking(graph, commands);
  return html`<div class=${isFull ? "workflow workflow-full" : "workflow workflow-seen"}>
    <div class="workflow-main">
      <${ViewBar} commands=${commands}><${Legend} badges=${badges} /><${Suspension} job=${job} run=${run} /><//>
      <${Canvas} graph=${graph} facts=${facts} badges=${badges} fired=${fired} viewing=${viewing} selected=${selected} current=${current} label="Workflow" hint=${HINT} isEditable=${false} onSelect=${select} onKeyDown=${key} />
      ${run.suspended && html`<p class="workflow-said" role="status">${capitalized(run.suspended)}. Nodes in progress go on, no other begins.</p>`}
    </div>
    <aside class="workflow-side" aria-label="Node"><${Details} key=${current} job=${job} run=${run} id=${current} fact=${facts.get(current ?? "")} badge=${badges.get(current ?? "")} options=${options} /></aside>
  </div>`;
}

/** @param {any} node */
const whole = (node) => ({ ...node, data: node.data ?? {}, x: node.x ?? 0, y: node.y ?? 0 });

/** The badges, each the same object as before as long as it says the same. @param {Map<string, Badge>} badges */
function useSame(badges) {
  const last = useRef(/** @type {Map<string, Badge>} */ (new Map()));
  for (const [id, badge] of badges) {
    const before = last.current.get(id);
    if (before && JSON.stringify(before) === JSON.stringify(badge)) badges.set(id, before);
  }
  last.current = badges;
  return badges;
}

/** How many nodes are in each state. @param {{badges: Map<string, Badge>}} props */
function Legend({ badges }) {
  const all = [...badges.values()];
  const words = { running: "running", paused: "waiting", critical: "failed", ok: "done" };
  return html`<span class="workflow-legend">${Object.entries(words).map(([state, word]) => {
    const count = all.filter((one) => one.state === state).length;
    return count > 0 && html`<${State} key=${state} state=${state} word=${`${count} ${word}`} />`;
  })}</span>`;
}

/** @param {Given & {id: string | null, fact: import("./words.js").Fact | undefined, badge: Badge | undefined, options: Options | null}} props */
function Details({ job, run, id, fact, badge, options }) {
  const [wanted, setWanted] = useState("");
  const node = run.nodes.find((one) => one.id === id);
  if (!node || !fact) return html`<h3>Nodes</h3><p class="soft">Select a node to see its jobs and their output.</p>`;
  const launched = node.jobs.filter((one) => one.id);
  const shown = launched.find((one) => one.id === wanted) ?? (node.jobs.length === 1 ? launched[0] : undefined);
  const more = node.type === "controller" ? 0 : node.max - node.jobs.length;
  return html`<h3>${fact.title}</h3>
    ${badge && html`<p class="workflow-state"><${State} state=${badge.state} word=${badge.word} /> <span class="soft">${badge.words}</span></p>`}
    ${node.reason && html`<p class=${node.condition === "failed" ? "wrong" : "soft"}>${capitalized(node.reason).replace(/[^.]$/, "$&.")}</p>`}
    <${Acts} job=${job} run=${run} node=${node} />
    ${node.jobs.length > 0 && html`<h4>${counted(node.jobs.length + Math.max(0, more), "job")}</h4><ul class="workflow-jobs" aria-label="Jobs">
      ${node.jobs.map((one) => html`<li key=${one.id || one.index} aria-current=${shown && one === shown ? "true" : undefined}><${JobLine} job=${one} options=${options} onShow=${() => setWanted(one.id)} /></li>`)}
      ${more > 0 && html`<li class="soft">and ${more.toLocaleString("en")} earlier ones</li>`}</ul>`}
    ${shown && html`<div class="workflow-log" key=${shown.id}><${JobOutput} id=${shown.id} isLive=${!shown.is_over} /></div>`}`;
}

/** @param {Given} props */
function Suspension({ job, run }) {
  if (run.is_over || run.suspended || !may("run_jobs")) return null;
  const suspend = () => attempt(() => post(`/jobs/${encodeURIComponent(job.id)}/suspend`), "Suspended.");
  return html`<${Button} small onClick=${suspend} title="Nodes in progress go on, no other begins.">Suspend<//>`;
}

/** @param {Given & {node: import("./run_state.js").RunNode}} props */
function Acts({ job, run, node }) {
  if (!may("run_jobs") || !["event", "job", "controller"].includes(node.type)) return null;
  const path = `/jobs/${encodeURIComponent(job.id)}`;
  const again = async () => {
    const made = await attempt(() => post(url(`${path}/rerun`, { from_node: node.id })), "Launched again.");
    if (made) go(jobLink(made.id));
  };
  const resume = () => attempt(() => post(url(`${path}/resume`, { node: node.id })), "Resumed.");
  if (run.is_over) return html`<p><${Button} small onClick=${again} title="Nodes that do not follow it keep their results.">Run again from here<//></p>`;
  return run.suspended && html`<p><${Button} small onClick=${resume} title="In place of what was held back.">Resume from here<//></p>`;
}

/** @param {{job: RunJob, options: Options | null, onShow: () => void}} props */
function JobLine({ job, options, onShow }) {
  const words = [job.server && titleOf(options?.targets, job.server), job.replay && "result of an earlier run", job.retried && "tried again", job.description].filter(Boolean).join(" · ");
  return html`${!job.is_over ? html`<${State} state="running" word="running" />` : html`<${Ended} verdict=${verdictOf(job.code)} />`}
    ${job.id ? html`<a href=${jobLink(job.id)} title=${job.id}>Job ${job.index + 1}</a>` : html`<span>Not launched</span>`}
    <span>${job.is_over && job.id ? took(job.elapsed) : ""} ${job.id && html`<${Button} small kind="quiet" onClick=${onShow} label=${`Output of job ${job.index + 1}`}>Output<//>`}</span>
    ${words && html`<span class="soft">${words}</span>`}`;
}
