/** One check: state, actions, timeline, and who gets notified. */

import { html } from "htm/preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { url, useFetched } from "../api.js";
import { useKeys } from "../keys.js";
import { useLive } from "../live.js";
import { useQuery } from "../location.js";
import { may } from "../session.js";
import { lasting } from "../times.js";
import { Copy } from "../kit/copy.js";
import { Button } from "../kit/form.js";
import { Card, Empty, Facts, Failed, Loading, Page, Tabs } from "../kit/layout.js";
import { Chip, State } from "../kit/state.js";
import { Since, When } from "../kit/time.js";
import { Alerts } from "./check/alerts.js";
import { Recipients } from "./check/recipients.js";
import { Decisions } from "./check/decisions.js";
import { History } from "./check/history.js";
import { Measurements } from "./check/measurements.js";
import { Timeline } from "./check/timeline.js";
import { end, Terms, Windows } from "./check/windows.js";
import { ActDialog } from "./checks/act.js";
import { useSubject } from "./checks/subjects.js";
import { eventLink, jobLink } from "./events/words.js";
import { serverLink } from "./servers/words.js";
import { capitalized, counted } from "../words.js";

/**
 * @typedef {{check: string, entity: string, name: string, state: string | null, enabled: boolean, summary: string, details: string,
 *   perfdata: {key: string, value: string}[], since: number | null, last_update: number | null, silent_at: number | null,
 *   ttl: number | null, delays: Record<string, {seconds: number, source: string}>, tags: string[], event_tags: string[], short_id: string,
 *   acknowledged: {since: number, until: number, words: string} | null, maintenance: import("./check/timeline.js").Span[],
 *   last_notifications: Record<string, number>, counts: {changes: number, alerts: number, notifications: Record<string, number>}}} Known
 */

/** @typedef {import("./checks/subjects.js").Subject} Subject */

/** @type {[tab: string, words: string][]} */
const TABS = [
  ["history", "History"],
  ["callees", "Who gets notified"],
  ["decisions", "Decisions"],
  ["alerts", "Alerts"],
  ["maintenance", "Maintenance"],
  ["measured", "Measurements"],
];

export default function Check() {
  const [query] = useQuery();
  const id = query.get("id") ?? "";
  const found = useFetched(id ? url("/check", { check: id }) : null, { every: 15 });
  const entity = id.split(":")[0]?.toLowerCase() ?? "";
  const followed = useRef("");
  useLive(entity ? url("/checks/live", { entity, enabled: "any" }) : null, {
    changed: (/** @type {Changed} */ change) => {
      // What changed before the stream began is in none of its events.
      const isFirst = followed.current !== entity;
      followed.current = entity;
      if (isFirst || names(change).includes(`${entity}${id.slice(entity.length)}`)) found.reload();
    },
    reset: found.reload,
  });
  if (!id) {
    return html`<${Page} title="Check"><${Empty} title="No check selected." action=${html`<${Button} href="/checks">Show all checks<//>`} /><//>`;
  }
  if (found.value) return html`<${Shown} known=${found.value} reload=${found.reload} tab=${query.get("tab") ?? "history"} />`;
  return html`<${Page} title=${id} above=${html`<a href="/checks">Checks</a>`}>
    ${found.problem ? html`<${Failed} problem=${found.problem} retry=${found.reload} />` : html`<${Loading} lines=${8} />`}
  <//>`;
}

/** @typedef {{rows: {id: string}[], gone: string[], heard: [id: string, ...more: unknown[]][]}} Changed */

/** @param {Changed} change */
function names(change) {
  return [...change.rows.map((row) => row.id), ...change.gone, ...change.heard.map(([id]) => id)];
}

/** @param {{known: Known, reload: () => void, tab: string}} props */
function Shown({ known, reload, tab }) {
  const [dialog, setDialog] = useState(/** @type {import("./checks/act.js").Kind | "terms" | null} */ (null));
  const stamp = `${known.state} ${known.since} ${known.counts.alerts} ${known.counts.changes} ${known.maintenance.length} ${known.acknowledged?.since}`;
  const isFailing = known.state !== null && known.state !== "ok";
  const close = () => setDialog(null);
  useKeys("Check", may("operate") ? [
    ["a", "acknowledge", () => isFailing && setDialog("acknowledge")],
    ["p", "schedule maintenance", () => setDialog("maintenance")],
  ] : []);
  const actions = html`
    ${may("operate") && isFailing && html`<${Button} kind=${known.acknowledged ? "plain" : "main"} onClick=${() => setDialog("acknowledge")} title="Acknowledge (a)">${known.acknowledged ? "Acknowledge again" : "Acknowledge"}<//>`}
    ${may("operate") && html`<${Button} onClick=${() => setDialog("maintenance")} title="Schedule maintenance (p)">Schedule maintenance<//>`}
    ${may("operate") && html`<${Button} onClick=${() => setDialog("test-notifications")}>Test notifications<//>`}
    ${may("write") && known.enabled && html`<${Button} onClick=${() => setDialog("disable")}>Disable<//>`}
    ${may("write") && !known.enabled && html`<${Button} onClick=${() => setDialog("enable")}>Enable<//>`}`;
  const part = { check: known.check, stamp };
  const subject = useSubject(known.check, known.last_update);
  const name = subject?.title ?? known.name;
  return html`<${Page} title=${name} tab=${`${name} on ${known.entity}`} actions=${actions}
    above=${html`<a href="/checks">Checks</a> / <a href=${url("/checks", { entity: known.entity })}>${known.entity}</a>`}>
    <${Head} known=${known} subject=${subject} reload=${reload} />
    <${Timeline} ...${part} />
    <${Tabs} tabs=${TABS} />
    <div class="check-part">
      <div>
        ${tab === "callees" && html`<${Recipients} ...${part} />`}
        ${tab === "decisions" && html`<${Decisions} ...${part} />`}
        ${tab === "alerts" && html`<${Alerts} ...${part} />`}
        ${tab === "maintenance" && html`<${Windows} check=${known.check} windows=${known.maintenance} reload=${reload} onPlan=${() => setDialog("maintenance")} />`}
        ${tab === "measured" && html`<${Measurements} ...${part} perfdata=${known.perfdata} />`}
        ${!TABS.slice(1).some(([name]) => name === tab) && html`<${History} ...${part} />`}
      </div>
      <${About} known=${known} subject=${subject} onTerms=${() => setDialog("terms")} />
    </div>
    ${dialog !== null && dialog !== "terms" && html`<${OneDialog} key=${dialog} kind=${dialog} known=${known} onClose=${close} reload=${reload} />`}
    ${dialog === "terms" && html`<${Terms} check=${known.check} held=${held(known)} onClose=${close} reload=${reload} />`}
  <//>`;
}

/** @param {{kind: import("./checks/act.js").Kind, known: Known, onClose: () => void, reload: () => void}} props */
function OneDialog({ kind, known, onClose, reload }) {
  const targets = useMemo(() => ({ checks: [known.check] }), [known.check]);
  return html`<${ActDialog} kind=${kind} targets=${targets} onClose=${onClose} onDone=${reload} held=${() => new Set(known.acknowledged ? [known.check] : [])}
    stateOf=${() => known.state ?? undefined} />`;
}

/** Settings made for this check alone. @param {Known} known */
function held(known) {
  const own = Object.entries(known.delays).map(([name, delay]) => [name, delay.source === "check" ? delay.seconds : null]);
  return { ...Object.fromEntries(own), ttl: known.ttl };
}

/** @param {{known: Known, subject: Subject | null, reload: () => void}} props */
function Head({ known, subject, reload }) {
  const open = known.maintenance.filter((span) => span.is_open);
  const planned = open.find((span) => span.kind === "scheduled");
  const acknowledged = known.acknowledged && open.find((span) => span.kind === "unscheduled");
  const look = ["ok", "warning", "critical", "unknown"].includes(known.state ?? "") ? known.state : "none";
  return html`<section class=${`check-head check-is-${look}`} aria-live="polite" aria-label="State">
    <div class="check-state">
      <${State} state=${known.state ?? "none"} word=${known.state ?? "never reported"} />
      ${known.since !== null && html`<span>for <${Since} since=${known.since} /></span>`}
      ${!known.enabled && html`<${Chip}>disabled until it reports again<//>`}
      <span class="soft check-last-report">last report <${When} at=${known.last_update} /></span>
    </div>
    ${known.summary && html`<p class="check-summary">${known.summary}</p>`}
    <${Actions} subject=${subject} />
    ${known.details && html`<${Details} text=${known.details} />`}
    ${known.acknowledged && html`<div class="check-note"><${State} state="acknowledged" word="Acknowledged" />
      <span>${known.acknowledged.words ? `“${known.acknowledged.words}”, ` : ""}<${When} at=${known.acknowledged.since} />; no alerts until <${When} at=${known.acknowledged.until} as="short" />.</span>
      ${may("operate") && acknowledged && html`<${Button} small onClick=${() => end(known.check, acknowledged, reload)}>End<//>`}</div>`}
    ${planned && html`<div class="check-note"><${State} state="maintenance" word="In maintenance" />
      <span>${planned.summary ? `“${planned.summary}”, ` : ""}until <${When} at=${planned.end} as="short" />; failures send no alerts.</span>
      ${may("operate") && html`<${Button} small onClick=${() => end(known.check, planned, reload)}>End<//>`}</div>`}
  </section>`;
}

/** @param {{subject: Subject | null}} props */
function Actions({ subject }) {
  if (!subject) return null;
  if (subject.kind === "server") return html`<div class="actions"><${Button} small href=${serverLink(subject.id)}>Show the server<//></div>`;
  return html`<div class="actions">${subject.last_job && html`<${Button} small href=${jobLink(subject.last_job)}>Show the last job<//>`}
    <${Button} small href=${eventLink(subject.id)}>Show the event<//></div>`;
}

/** @param {{text: string}} props */
function Details({ text }) {
  const isLong = text.length > 600 || text.split("\n").length > 8;
  return isLong
    ? html`<details class="check-details"><summary>Details</summary><pre>${text}</pre></details>`
    : html`<pre class="check-details">${text}</pre>`;
}

/** @type {[name: string, words: string][]} */
const DELAYS = [
  ["initial_failure_delay", "Alert after"],
  ["repeat_failure_delay", "Repeat after"],
  ["initial_recovery_delay", "Recovery alert after"],
];
/** @type {Record<string, string>} */
const SOURCES = { event: "set by its reports", check: "set for this check", settings: "default" };

/** @param {{known: Known, subject: Subject | null, onTerms: () => void}} props */
function About({ known, subject, onTerms }) {
  const others = Object.entries(known.last_notifications).filter(([kind]) => !["critical", "warning", "unknown"].includes(kind));
  return html`<${Card} title="Details" actions=${may("write") && html`<${Button} small onClick=${onTerms}>Edit<//>`}>
    <${Facts} rows=${[
      ["Entity", html`<a href=${url("/checks", { entity: known.entity })}>${known.entity}</a>`],
      ["Check", known.name],
      subject && [capitalized(subject.kind), html`<a href=${subject.kind === "server" ? serverLink(subject.id) : eventLink(subject.id)}>${subject.title}</a>`],
      known.event_tags.length > 0 && ["Report tags", html`<span class="check-tags">${known.event_tags.map((tag) => html`<${Chip} href=${url("/checks", { tag })}>${tag}<//>`)}</span>`],
      ["Name tags", html`<span class="check-tags">${known.tags.map((tag) => html`<${Chip} href=${url("/checks", { text: tag })}>${tag}<//>`)}</span>`],
      known.silent_at !== null && ["Next report", html`due by <${When} at=${known.silent_at} as="short" />, else unknown`],
      known.ttl !== null && ["No report", `unknown after ${lasting(known.ttl, 2)}`],
      ...DELAYS.map(([name, words]) => /** @type {[any, any]} */ ([words, html`<${Delay} delay=${known.delays[name]} />`])),
      ...others.map(([kind, at]) => /** @type {[any, any]} */ ([`Last ${kind}`, html`<${When} at=${at} />`])),
      ["History", `${counted(known.counts.changes, "change")}, ${counted(known.counts.alerts, "alert")}`],
      ["Short id", html`<span class="mono">${known.short_id}</span> <${Copy} text=${known.short_id} />`],
    ]} />
  <//>`;
}

/** @param {{delay: {seconds: number, source: string} | undefined}} props */
function Delay({ delay }) {
  if (!delay) return null;
  return html`${delay.seconds === 0 ? "immediately" : lasting(delay.seconds, 2)} <span class="soft">${SOURCES[delay.source]}</span>`;
}
