/** The maintenance calendar: schedule by dragging, change and end maintenance. */

import { html } from "htm/preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { url, useFetched } from "../api.js";
import { useKeys } from "../keys.js";
import { useLive } from "../live.js";
import { useQuery } from "../location.js";
import { may } from "../session.js";
import { clock } from "../times.js";
import { Button, Choice, Search } from "../kit/form.js";
import { Card, Failed, Loading, Page } from "../kit/layout.js";
import { Agenda } from "./maintenance/agenda.js";
import { beginning, dayAt, isDay, month, monthName, plus, plusMonths, rangeName, week } from "./maintenance/days.js";
import { Detail } from "./maintenance/detail.js";
import { Month } from "./maintenance/month.js";
import { Plan } from "./maintenance/plan.js";
import { Week } from "./maintenance/week.js";

/**
 * @typedef {import("./maintenance/words.js").Window} Window
 * @typedef {"week" | "month" | "agenda"} View
 */

const MOST = 1_000;
const WAIT_MS = 1_000;
const AGENDA_DAYS = 14;

/** The current time, updated every minute, so that the calendar is not redrawn every second. */
function useMinute() {
  const [minute, setMinute] = useState(Math.floor(clock.value / 60) * 60);
  useEffect(() => clock.listen((now) => setMinute(Math.floor(now / 60) * 60)), []);
  return minute;
}

/** @param {URLSearchParams} query @returns {View} */
function viewOf(query) {
  const value = query.get("view");
  if (value === "week" || value === "month" || value === "agenda") return value;
  return window.matchMedia("(max-width: 40rem)").matches ? "agenda" : "week";
}

/** @param {View} view @param {string} day */
function daysOf(view, day) {
  if (view === "month") return month(day);
  return view === "week" ? week(day) : Array.from({ length: AGENDA_DAYS }, (_, count) => plus(day, count));
}

export default function Maintenance() {
  const [query, setQuery] = useQuery();
  const now = useMinute();
  const [planning, setPlanning] = useState(/** @type {{start: number, end: number} | "form" | null} */ (null));
  const view = viewOf(query);
  const today = dayAt(now);
  const day = isDay(query.get("day") ?? "") ? (query.get("day") ?? today) : today;
  const [kind, pattern] = [query.get("kind") ?? "", query.get("pattern") ?? ""];
  const days = daysOf(view, day);
  const [from, to] = [beginning(days[0] ?? day), beginning(plus(days.at(-1) ?? day, 1))];
  const found = useFetched(url("/maintenance", { from, to, kind, pattern, limit: MOST }));
  useChanges(found.reload);

  const move = (/** @type {number} */ by) => {
    const next = view === "month" ? plusMonths(day, by) : plus(day, by * (view === "week" ? 7 : AGENDA_DAYS));
    setQuery({ day: next });
  };
  const canPlan = may("operate");
  useKeys("Maintenance", [
    ["n", "next week, month or fortnight", () => move(1)],
    ["p", "previous week, month or fortnight", () => move(-1)],
    ["t", "today", () => setQuery({ day: null })],
    ...(canPlan ? [/** @type {import("../keys.js").Binding} */ (["c", "schedule maintenance", () => setPlanning("form")])] : []),
  ]);
  /** @type {Window[]} */
  const windows = found.value?.items ?? [];
  const isWaiting = found.isLoading && !found.value;
  const open = query.get("id");
  const opened = windows.find((one) => one.id === open);
  const common = {
    windows,
    today,
    canPlan,
    onOpen: (/** @type {string} */ id) => setQuery({ id }),
    onMore: (/** @type {string} */ one) => setQuery({ view: "agenda", day: one }),
    onPlan: (/** @type {number} */ start, /** @type {number} */ end) => setPlanning({ start, end }),
  };
  return html`<${Page} wide title="Maintenance" lead="During maintenance, failing checks send no alerts. Failures are still recorded."
    actions=${canPlan && html`<${Button} kind="main" onClick=${() => setPlanning("form")}>Schedule maintenance<//>`}>
    <div class="bar-of cal-bar">
      <div class="actions">
        <${Button} onClick=${() => move(-1)} label="Previous">‹<//>
        <${Button} onClick=${() => setQuery({ day: null })} disabled=${day === today}>Today<//>
        <${Button} onClick=${() => move(1)} label="Next">›<//>
      </div>
      <h2 class="cal-range" aria-live="polite">${view === "month" ? monthName(day) : rangeName(days[0] ?? day, days.at(-1) ?? day)}</h2>
      <${Choice} label="View" value=${view} onChange=${(/** @type {string} */ value) => setQuery({ view: value })}
        options=${[["week", "Week"], ["month", "Month"], ["agenda", "List"]]} />
      <${Choice} label="Kind" value=${kind} onChange=${(/** @type {string} */ value) => setQuery({ kind: value })}
        options=${[["", "All"], ["scheduled", html`<span class="cal-key cal-scheduled"></span> Scheduled`], ["unscheduled", html`<span class="cal-key cal-unscheduled"></span> Acknowledged`]]} />
      <${Search} value=${pattern} onSearch=${(/** @type {string} */ value) => setQuery({ pattern: value })} placeholder="web-*:HTTP" label="Filter by check" />
    </div>
    ${found.problem && html`<${Failed} problem=${found.problem} retry=${found.reload} />`}
    ${found.value?.next && html`<p class="notice">Not everything is shown. Select a shorter period or use filters.</p>`}
    ${view !== "agenda" && canPlan && html`<p class="soft cal-hint">Drag over a period to schedule maintenance, or use the arrow keys and Enter.</p>`}
    <div class=${isWaiting ? "cal-waiting" : ""} aria-busy=${found.isLoading ? "true" : "false"}>
      ${isWaiting && view !== "agenda" && html`<span class="unseen" role="status" aria-label="Loading"></span>`}
      ${view === "week" && html`<${Card} flush><${Week} ...${common} days=${days} now=${now} /><//>`}
      ${view === "month" && html`<${Card} flush><${Month} ...${common} days=${days} month=${day.slice(0, 7)} /><//>`}
      ${view === "agenda" && (found.value === null && !found.problem ? html`<${Card}><${Loading} lines=${6} /><//>` : html`<${Agenda} ...${common} from=${from}
        isFiltered=${Boolean(kind || pattern)} onAll=${() => setQuery({ kind: null, pattern: null })} onPlan=${canPlan ? () => setPlanning("form") : null} />`)}
    </div>
    ${planning && html`<${Plan} span=${planning === "form" ? null : planning} pattern=${pattern} onClose=${() => setPlanning(null)} onDone=${found.reload} />`}
    ${opened && html`<${Detail} key=${opened.id} window=${opened} onClose=${() => setQuery({ id: null })} onChanged=${found.reload} />`}
  <//>`;
}

/** Reloads when anybody changes maintenance, at a limited rate. @param {() => void} reload */
function useChanges(reload) {
  const last = useRef(/** @type {string | null} */ (null));
  const timer = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined));
  const soon = useCallback(() => {
    clearTimeout(timer.current);
    timer.current = setTimeout(reload, WAIT_MS);
  }, [reload]);
  useEffect(() => () => clearTimeout(timer.current), []);
  useLive("/live?topics=maintenance", {
    maintenance: (data) => {
      // The first message arrives with the subscription: changes just before it may be missing.
      const seen = JSON.stringify(data);
      if (last.current !== seen) soon();
      last.current = seen;
    },
    reset: reload,
  });
}
