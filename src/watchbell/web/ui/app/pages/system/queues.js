/** Queue lengths, now and since the page was opened. */

import { html } from "htm/preact";
import { useRef } from "preact/hooks";
import { counted } from "../../words.js";
import { Card } from "../../kit/layout.js";

/** @typedef {import("../system.js").Queue} Queue */

const KEPT = 60;
const WIDTH = 120;
const HEIGHT = 24;

/** @param {{lengths: number[], name: string}} props */
function Course({ lengths, name }) {
  const most = Math.max(1, ...lengths);
  const step = WIDTH / (KEPT - 1);
  const begin = WIDTH - (lengths.length - 1) * step;
  const points = lengths.map((length, at) => `${(begin + at * step).toFixed(1)},${(HEIGHT - 1 - (length / most) * (HEIGHT - 2)).toFixed(1)}`);
  return html`<svg class="course" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img"
    aria-label=${`${name} recently: up to ${most === 1 && !lengths.includes(1) ? 0 : most}`}><polyline points=${points.join(" ")} /></svg>`;
}

/** @param {{queues: Queue[]}} props */
export function Queues({ queues }) {
  const past = useRef(/** @type {{of: Queue[] | null, lengths: Map<string, number[]>}} */ ({ of: null, lengths: new Map() }));
  if (past.current.of !== queues) {
    past.current.of = queues;
    for (const { name, length } of queues) {
      past.current.lengths.set(name, [...(past.current.lengths.get(name) ?? []), length].slice(-KEPT));
    }
  }
  return html`<${Card} title="Queues"><ul class="queues">
    ${queues.map(
      (one) => html`<li key=${one.name}>
        <span class="queue-name">${one.name}<span class="soft">${one.takers.length > 0 && ` ${counted(one.takers.length, "consumer")}`}</span></span>
        <${Course} name=${one.name} lengths=${past.current.lengths.get(one.name) ?? []} />
        <strong class=${one.length > 1000 ? "bad" : undefined}>${one.length.toLocaleString("en")}</strong>
      </li>`,
    )}
  </ul><//>`;
}
