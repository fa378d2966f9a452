/** The timeline: what ran in a stretch of time, where, and what will run. */

import { html } from "htm/preact";
import { url, useFetched } from "../api.js";
import { useCell } from "../cell.js";
import { useKeys } from "../keys.js";
import { useLive } from "../live.js";
import { useQuery } from "../location.js";
import { may } from "../session.js";
import { Button, Choice, Search } from "../kit/form.js";
import { Card, Empty, Fetched, Page } from "../kit/layout.js";
import { useMedia } from "../kit/virtual_list.js";
import { clock, format } from "../times.js";
import { useSoon } from "./jobs/soon.js";
import { Agenda } from "./timeline/agenda.js";
import { Chart } from "./timeline/chart.js";
import { rowsOf } from "./timeline/rows.js";
import { isZoom, later, stretchOf, ZOOMS } from "./timeline/stretch.js";

/**
 * @typedef {import("./jobs/words.js").Run} Run
 * @typedef {import("./jobs/words.js").Kind} Kind
 * @typedef {{kind: Kind, name: string, title: string, at: number}} Planned
 * @typedef {{kind: Kind, name: string, title: string, words: string}} Frequent
 * @typedef {{start: number, end: number, now: number, past: Run[], ahead: Planned[], frequent: Frequent[], is_past_complete: boolean,
 *   is_ahead_complete: boolean}} Found
 */

export default function TimelinePage() {
  const [query, setQuery] = useQuery();
  // The stretch moves with the time, a minute at a time.
  const minute = Math.floor(useCell(clock) / 60) * 60;
  const asked = query.get("zoom") ?? "";
  const zoom = isZoom(asked) ? asked : "day";
  const at = Number(query.get("at")) || null;
  const by = query.get("by") === "server" ? "server" : "event";
  const text = query.get("text") ?? "";
  const stretch = stretchOf(zoom, at, minute);
  const isPhone = useMedia("(max-width: 40rem)");
  const fetched = useFetched(url("/timeline", stretch), { every: 60 });
  const isNow = stretch.start <= minute + 60 && minute < stretch.end;
  const soon = useSoon(fetched.reload, 2000);
  useLive(isNow ? "/live?topics=jobs&topics=cron&topics=archive" : null, { jobs: soon, cron: soon, archive: soon, reset: soon });
  const move = (/** @type {1 | -1} */ way) => setQuery({ at: String(later(zoom, stretch, way)) });
  const today = () => setQuery({ at: null });
  useKeys("Timeline", [
    ["p", "earlier", () => move(-1)],
    ["n", "later", () => move(1)],
    ["t", "now", today],
    ["1", "one hour", () => setQuery({ zoom: "hour" })],
    ["2", "six hours", () => setQuery({ zoom: "6h" })],
    ["3", "a day", () => setQuery({ zoom: null })],
  ]);
  return html`<${Page} wide title="Timeline" lead=${words(stretch.start, stretch.end)}>
    <div class="bar-of">
      <div class="actions timeline-moves">
        <${Button} label="Earlier" title="Earlier (p)" onClick=${() => move(-1)}>←<//>
        <${Button} onClick=${today} disabled=${at === null} title="Now (t)">Now<//>
        <${Button} label="Later" title="Later (n)" onClick=${() => move(1)}>→<//>
      </div>
      <${Choice} label="Span of time" value=${zoom} options=${ZOOMS} onChange=${(/** @type {string} */ to) => setQuery({ zoom: to === "day" ? null : to })} />
      ${!isPhone && html`<${Choice} label="Rows" value=${by} options=${[["event", "By event"], ["server", "By server"]]} onChange=${(/** @type {string} */ to) => setQuery({ by: to === "event" ? null : to })} />`}
      <${Search} value=${text} onSearch=${(/** @type {string} */ to) => setQuery({ text: to })} placeholder="Filter by name" />
    </div>
    <${Fetched} of=${fetched} lines=${8}>${(/** @type {Found} */ found) => html`
      <${Limits} found=${found} zoom=${zoom} />
      <${Body} found=${found} by=${by} text=${text} isPhone=${isPhone} onZoom=${(/** @type {number} */ place) => setQuery({ zoom: zoom === "day" ? "6h" : "hour", at: String(Math.floor(place - (zoom === "day" ? 10_800 : 1_800))) })} />`}<//>
  <//>`;
}

/** @param {{found: Found, by: "event" | "server", text: string, isPhone: boolean, onZoom: (at: number) => void}} props */
function Body({ found, by, text, isPhone, onZoom }) {
  const [, setQuery] = useQuery();
  const { rows, past, ahead, frequent } = rowsOf(found, by, text);
  if (rows.length === 0) {
    if (text) return html`<${Card}><${Empty} title="No runs match this filter." action=${html`<${Button} onClick=${() => setQuery({ text: null })}>Clear filters<//>`} /><//>`;
    return html`<${Card}><${Empty} title="Nothing ran in this time, and nothing is scheduled." action=${may("create_events") && html`<${Button} kind="main" href="/events/new">New event<//>`} /><//>`;
  }
  if (isPhone) return html`<${Agenda} past=${past} ahead=${ahead} frequent=${frequent} />`;
  return html`<${Chart} rows=${rows} from=${found.start} to=${found.end} onZoom=${onZoom} />`;
}

/** Says so where there was too much. @param {{found: Found, zoom: string}} props */
function Limits({ found, zoom }) {
  if (found.is_past_complete && found.is_ahead_complete) return null;
  const what = !found.is_past_complete ? `Only the newest ${found.past.length.toLocaleString("en")} runs of this time are shown.` : `Only the next ${found.ahead.length.toLocaleString("en")} planned runs are shown.`;
  return html`<div class="notice notice-warn notice-wide" role="status">${what}${zoom !== "hour" && " Select a shorter span to see the others."}</div>`;
}

/** As `Mon 16 Nov 2026`, with the hours of a shorter stretch. @param {number} start @param {number} end */
function words(start, end) {
  const date = format("long day", { weekday: "long", day: "numeric", month: "long", year: "numeric" });
  const time = format("time", { hour: "2-digit", minute: "2-digit" });
  if (end - start > 80_000) return date.format(start * 1000);
  return `${date.format(start * 1000)}, ${time.format(start * 1000)} to ${time.format(end * 1000)}`;
}
