/** Recent alerts, grouped by check and time. */

import { html } from "htm/preact";
import { url } from "../../api.js";
import { Card, Empty } from "../../kit/layout.js";
import { Chip, Mark } from "../../kit/state.js";
import { When } from "../../kit/time.js";

/** @typedef {import("../check/alerts.js").Alert} Alert */

const MOST = 7;
/** @type {Record<string, "good" | "bad" | "warn" | "plain">} */
const TONES = { delivered: "good", failed: "bad", underway: "warn", queued: "plain" };
/** @type {Record<string, string>} */
const MARKS = { acknowledgement: "acknowledged", test_notifications: "none" };

/** @param {{alerts: Alert[]}} props */
export function Sent({ alerts }) {
  return html`<${Card} title="Recent alerts" actions=${html`<a href="/alerts">Show all</a>`}>
    ${alerts.length === 0
      ? html`<${Empty} title="No alerts yet." />`
      : html`<ul class="overview-sent">${grouped(alerts).slice(0, MOST).map((group) => html`<${Group} group=${group} />`)}</ul>`}
  <//>`;
}

/** @param {Alert[]} alerts @returns {Alert[][]} */
function grouped(alerts) {
  /** @type {Map<string, Alert[]>} */
  const groups = new Map();
  for (const one of alerts) {
    const key = `${one.sent.time} ${one.sent.state} ${one.sent.check}`;
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  return [...groups.values()];
}

/** @param {{group: Alert[]}} props */
function Group({ group }) {
  const first = group[0]?.sent;
  if (!first) return null;
  /** @type {Map<string, string[]>} */
  const media = new Map();
  for (const { sent, contact_name } of group) {
    const name = contact_name || sent.contact;
    media.set(name, [...(media.get(name) ?? []), sent.media]);
  }
  const outcomes = [...new Set(group.map((one) => one.sent.outcome))].sort();
  return html`<li>
    <${Mark} state=${MARKS[first.state] ?? first.state} title=${first.type} />
    <div><a href=${url("/check", { id: first.check })}>${first.check}</a>
      <div class="soft">${[...media].map(([name, by]) => `${name} by ${by.join(" and ")}`).join(", ")}</div></div>
    <div class="overview-became"><${When} at=${first.time} />
      ${outcomes.map((outcome) => html`<${Chip} tone=${TONES[outcome] ?? "plain"}>${outcome}<//>`)}</div>
  </li>`;
}
