/** What a server uses now. */

import { html } from "htm/preact";
import { Gauge } from "../../kit/gauge.js";
import { bytes } from "../../words.js";
import { percent } from "../servers/words.js";

/** @param {{shown: import("../servers/words.js").Shown}} props */
export function Gauges({ shown }) {
  const { row, sample, info } = shown;
  const now = row.is_online ? sample : null;
  const cores = Number(info.cpu?.cores) || 0;
  return html`<div class="tiles">
    <${Tile} label="CPU" number=${now && percent(now.cpu)} more=${cores ? `of ${cores} cores` : ""} part=${now && now.cpu / 100} />
    <${Tile} label="Memory" number=${now && bytes(now.memory)} more=${now ? `of ${bytes(now.memory_total)}` : ""} part=${now && now.memory / (now.memory_total || 1)} />
    <${Tile} label="Disk" number=${now && bytes(now.disk)} more=${now ? `of ${bytes(now.disk_total)}` : ""} part=${now && now.disk_total ? now.disk / now.disk_total : null} />
    <${Tile} label="Load" number=${now && now.load[0].toFixed(2)} more=${now ? `15 min: ${now.load[2].toFixed(2)}` : ""} part=${now && cores ? now.load[0] / cores : null} />
    <${Tile} label="Jobs" number=${String(row.jobs)} more=${row.slots ? `of ${row.slots} ${row.slots === 1 ? "slot" : "slots"}` : "no slots"} part=${row.slots ? row.jobs / row.slots : null} isCapacity />
  </div>`;
}

/** @param {{label: string, number: string | null, more: string, part: number | null, isCapacity?: boolean}} props */
function Tile({ label, number, more, part, isCapacity = false }) {
  return html`<section class="tile" aria-label=${label}><h2>${label}</h2>
    <div class="tile-number"><strong>${number ?? "–"}</strong> <span class="soft">${more}</span></div>
    ${part === null ? html`<div class="gauge"><div class="gauge-bar"></div></div>` : html`<${Gauge} label=${label} part=${part} words=${`${number ?? ""} ${more}`} isCapacity=${isCapacity}><span class="unseen">${percent(part * 100)}</span><//>`}
  </section>`;
}
