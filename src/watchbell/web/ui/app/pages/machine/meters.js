/** What a machine uses at a moment, as bars: each core, memory and swap, with load and tasks. */

import { html } from "htm/preact";
import { bytes } from "../../words.js";
import { lasting } from "../../times.js";
import { percent } from "../servers/words.js";
import { memory } from "./sample.js";

/**
 * @typedef {import("./sample.js").Sample} Sample
 * @typedef {import("./sample.js").Shares} Shares
 * @typedef {{part: number, tone: string, words: string}} Segment `part`: of one
 */

/** More cores than these are shown as one. */
const MOST_CORES = 32;

/** @param {{sample: Sample}} props */
export function Meters({ sample }) {
  const { cpu, load, processes } = sample;
  const cores = cpu.cpus.length > 1 && cpu.cpus.length <= MOST_CORES ? cpu.cpus : [];
  return html`<div class="meters">
    <div class="meters-bars">
      ${cores.length > 0
        ? cores.map((core, i) => html`<${Meter} key=${i} label=${`CPU ${i}`} words=${percent(core.active)} segments=${shares(core)} />`)
        : html`<${Meter} label="CPU" words=${percent(cpu.currentLoad)} segments=${shares(cpu.totals)} />`}
    </div>
    <div class="meters-bars meters-wide">
      <${Memory} sample=${sample} />
      <p class="meters-line"><span><strong>${load.map((one) => one.toFixed(2)).join("  ")}</strong> load of 1, 5 and 15 minutes</span>
        <span><strong>${processes.all}</strong> processes: ${processes.running} running, ${processes.sleeping} sleeping${processes.blocked > 0 && html`, ${processes.blocked} blocked`}${processes.zombie > 0 && html`, <span class="bad">${processes.zombie} zombie</span>`}</span>
        ${sample.uptime_sec > 0 && html`<span>up for <strong>${lasting(sample.uptime_sec, 2)}</strong></span>`}</p>
      <${Legend} />
    </div>
  </div>`;
}

/** @param {{sample: Sample}} props */
function Memory({ sample }) {
  const of = (/** @type {string} */ kind) => memory(sample, kind);
  const total = of("total") || 1;
  const swap = of("swaptotal");
  const cache = Math.min(of("buffers") + of("cached"), Math.max(total - of("used"), 0));
  return html`<${Meter} label="Memory" words=${`${bytes(of("used"))} of ${bytes(of("total"))}`} segments=${[
      { part: of("used") / total, tone: "ok", words: `used ${bytes(of("used"))}` },
      { part: cache / total, tone: "warning", words: `cache ${bytes(cache)}` },
    ]} />
    ${swap > 0 && html`<${Meter} label="Swap" words=${`${bytes(of("swapused"))} of ${bytes(swap)}`} segments=${[{ part: of("swapused") / swap, tone: "critical", words: "used" }]} />`}`;
}

/** @param {Shares} of @returns {Segment[]} */
function shares(of) {
  return [
    { part: of.user / 100, tone: "ok", words: `user ${percent(of.user)}` },
    { part: of.nice / 100, tone: "act", words: `low priority ${percent(of.nice)}` },
    { part: (of.system + of.irq + of.softirq) / 100, tone: "critical", words: `kernel ${percent(of.system + of.irq + of.softirq)}` },
    { part: of.steal / 100, tone: "unknown", words: `taken by the host ${percent(of.steal)}` },
    { part: of.iowait / 100, tone: "maintenance", words: `waiting for disks ${percent(of.iowait)}` },
  ];
}

/** @param {{label: string, words: string, segments: Segment[]}} props */
function Meter({ label, words, segments }) {
  const shown = segments.filter(({ part }) => part > 0);
  const all = shown.reduce((sum, { part }) => sum + part, 0);
  return html`<div class="meter"><span class="meter-label">${label}</span>
    <div class="meter-bar" role="meter" aria-label=${label} aria-valuemin="0" aria-valuemax="100" aria-valuenow=${Math.min(Math.round(all * 100), 100)}
      aria-valuetext=${[words, ...shown.map((one) => one.words)].join(", ")} title=${shown.map((one) => one.words).join(", ")}>
      ${shown.map(({ part, tone }) => html`<span class=${`meter-${tone}`} style=${{ width: `${Math.min(part * 100, 100).toFixed(1)}%` }}></span>`)}
    </div><span class="meter-words">${words}</span></div>`;
}

function Legend() {
  return html`<p class="meters-legend soft">${[["ok", "user, used"], ["critical", "kernel, swap"], ["warning", "cache"], ["maintenance", "waiting for disks"], ["unknown", "taken by the host"]].map(
    ([tone, words]) => html`<span><i class=${`meter-key meter-${tone}`}></i> ${words}</span>`,
  )}</p>`;
}
