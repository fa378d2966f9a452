/** Gateways: status of each medium, failed alerts, previews and tests. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { useFetched } from "../api.js";
import { useLive } from "../live.js";
import { useQuery } from "../location.js";
import { may } from "../session.js";
import { Button } from "../kit/form.js";
import { Card, Empty, Facts, Fetched, Page } from "../kit/layout.js";
import { Chip, State } from "../kit/state.js";
import { When } from "../kit/time.js";
import { FailedAlerts } from "./gateways/failed_alerts.js";
import { Preview } from "./gateways/preview.js";
import { Test } from "./gateways/test.js";

/**
 * @typedef {{name: string, kind: string, is_alive: boolean, health: "ok" | "warning" | "critical" | "none", words: string, state: string, seen: number | null, queued: number, on_its_way: number,
 *   delivered: number, given_up: number, failed: number, last_success: number | null, last_answer: string,
 *   last_failure: number | null, last_error: string, settings: {name: string, value: string | number | boolean}[]}} Gateway
 */

const number = (/** @type {number} */ count) => count.toLocaleString("en-GB");

/** @param {Gateway} gateway */
function word(gateway) {
  if (!gateway.is_alive) return "not running";
  return { ok: "running", warning: "degraded", critical: "failing", none: "not running" }[gateway.health];
}

export default function Gateways() {
  const [query, setQuery] = useQuery();
  const gateways = useFetched("/gateways", { every: 15 });
  useLive("/live?topics=gateways", { gateways: gateways.reload, reset: gateways.reload });
  const [test, setTest] = useState(/** @type {Gateway | null} */ (null));
  const medium = query.get("medium");
  const preview = query.get("preview");
  return html`<${Page} title="Gateways" lead="Gateways deliver alerts, one for each medium.">
    <${Fetched} of=${gateways} lines=${6}>${(/** @type {Gateway[]} */ all) =>
      all.length === 0
        ? html`<${Card}><${Empty} title="No gateways are configured.">
            <p>Add a table such as <code>[gateways.email]</code> to the settings file; docs/gateways.md lists all kinds.</p><//><//>`
        : html`<div class="gateways">${all.map((one) => html`<${One} key=${one.name} gateway=${one} onTest=${() => setTest(one)}
            onPreview=${() => setQuery({ preview: one.name })} onGivenUp=${() => setQuery({ medium: medium === one.name ? null : one.name })} isOpen=${medium === one.name} />`)}</div>
          ${all.some((one) => one.name === medium) && html`<${FailedAlerts} key=${medium} medium=${medium} onChanged=${gateways.reload} />`}`}<//>
    ${test && html`<${Test} medium=${test.name} kind=${test.kind} onClose=${() => setTest(null)} />`}
    ${preview && html`<${Preview} medium=${preview} onClose=${() => setQuery({ preview: null })} />`}
  <//>`;
}

/** @param {{gateway: Gateway, isOpen: boolean, onTest: () => void, onPreview: () => void, onGivenUp: () => void}} props */
function One({ gateway, isOpen, onTest, onPreview, onGivenUp }) {
  return html`<${Card} title=${html`${gateway.name} ${gateway.kind !== gateway.name && html`<${Chip} tone="soft">${gateway.kind}<//>`}`}
    actions=${html`<${State} state=${gateway.health} word=${word(gateway)} />`}>
    ${gateway.is_alive && gateway.health !== "ok" && html`<p class=${gateway.health === "critical" ? "bad gateway-state" : "soft gateway-state"}>${gateway.words}</p>`}
    ${!gateway.is_alive && html`<p class=${gateway.queued > 0 ? "bad gateway-state" : "soft gateway-state"}>${gateway.seen === null ? "This gateway has never run." : html`Last seen <${When} at=${gateway.seen} />.`} Start it with <code>watchbell up</code> or <code>watchbell run gateways</code>.</p>`}
    <dl class="gateway-counts">
      <div><dt>waiting</dt><dd>${number(gateway.queued)}</dd></div>
      <div><dt>sending</dt><dd>${number(gateway.on_its_way)}</dd></div>
      <div><dt>delivered</dt><dd>${number(gateway.delivered)}</dd></div>
      <div class=${gateway.failed > 0 ? "bad" : ""}><dt>failed</dt><dd>${number(gateway.failed)}</dd></div>
    </dl>
    <${Facts} rows=${[
      ["Last delivery", html`<${When} at=${gateway.last_success} />${gateway.last_answer && html`<div class="soft gateway-reply">${gateway.last_answer}</div>`}`],
      gateway.last_failure !== null && ["Last failure", html`<${When} at=${gateway.last_failure} />${gateway.last_error && html`<div class="bad gateway-reply">${gateway.last_error}</div>`}`],
      ...gateway.settings.filter((one) => one.name !== "kind").map((one) => /** @type {[any, any]} */ ([html`<code>${one.name}</code>`, html`<code>${String(one.value)}</code>`])),
    ]} />
    <div class="actions gateway-actions">
      ${gateway.failed > 0 && html`<${Button} small onClick=${onGivenUp} aria-expanded=${isOpen ? "true" : "false"}>${isOpen ? "Hide" : "Show"} failed alerts<//>`}
      <${Button} small kind="quiet" onClick=${onPreview}>Preview message<//>
      ${may("admin") && html`<${Button} small kind="quiet" onClick=${onTest}>Send test<//>`}
    </div>
  <//>`;
}
