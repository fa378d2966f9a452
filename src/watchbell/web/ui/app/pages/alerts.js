/** The list of alerts with recipient, medium and delivery status. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { post, url, useFetched, useList } from "../api.js";
import { useLive } from "../live.js";
import { useQuery } from "../location.js";
import { may } from "../session.js";
import { Button, Choice } from "../kit/form.js";
import { Card, Empty, Page } from "../kit/layout.js";
import { Chip, State } from "../kit/state.js";
import { Listed } from "../kit/table.js";
import { When } from "../kit/time.js";
import { attempt } from "../kit/toast.js";
import { Detail } from "./alerts/detail.js";
import { Filter } from "./alerts/filter.js";
import { capitalized, counted } from "../words.js";
import { OUTCOMES, shownState } from "./alerts/words.js";

/** @typedef {import("./alerts/words.js").Alert} Alert */

const PAGE = 100;
const FILTERS = ["contact", "medium", "check", "kind", "outcome", "from", "to"];

/** @param {{row: Alert}} props */
function About({ row }) {
  return html`<div class="alert-about"><${State} state=${shownState(row.sent)} word=${row.sent.rollup ? "summary" : row.sent.type} />
    ${" "}<a href=${url("/check", { id: row.sent.check })}>${row.sent.check}</a>
    ${row.sent.subject && html`<div class="soft alert-subject">${row.sent.subject}</div>`}
    ${row.sent.outcome === "failed" && html`<div class="bad alert-subject">${row.sent.error}</div>`}</div>`;
}

/** @type {import("../kit/table.js").Column<Alert>[]} */
const COLUMNS = [
  { head: "About", kind: "main", cell: (row) => html`<${About} row=${row} />` },
  { head: "To", cell: (row) => html`<div><a href=${url("/contact", { id: row.sent.contact })}>${row.contact_name || row.sent.contact}</a>
      <div class="soft alert-address">${row.sent.media} ${row.sent.address}</div></div>` },
  { head: "Status", kind: "tight", cell: (row) => html`<${Chip} tone=${OUTCOMES[row.sent.outcome].tone}>${OUTCOMES[row.sent.outcome].words}<//>` },
  { head: "When", kind: "tight", cell: (row) => html`<${When} at=${row.sent.time} as="short" />` },
];

export default function Alerts() {
  const [query, setQuery] = useQuery();
  const [selected, setSelected] = useState(/** @type {Set<string>} */ (new Set()));
  const given = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? ""]));
  const list = useList(url("/alerts", { ...given, limit: PAGE }));
  const media = useFetched("/contacts/media");
  // Keep the place of readers who have loaded older pages.
  const refresh = () => void (list.items.length <= PAGE && selected.size === 0 && list.reload());
  useLive("/live?topics=alerts", { alerts: refresh, reset: refresh });
  const open = query.get("id");
  const isFiltered = Object.values(given).some(Boolean);
  const here = (/** @type {string | null} */ id) => url("/alerts", { ...given, id });
  const again = async () => {
    const answers = await attempt(() => post("/alerts/retry", { ids: [...selected].slice(0, 100) }), (/** @type {{status: string}[]} */ all) => {
      const done = all.filter((one) => one.status === "again").length;
      return done === all.length ? `${counted(done, "alert")} queued again.` : `${done} of ${all.length} alerts queued again; the others had not failed.`;
    });
    if (answers) setSelected(new Set());
    list.reload();
  };
  return html`<${Page} title="Alerts" lead="Messages sent to contacts, and the replies of the servers.">
    <div class="bar-of">
      <${Choice} label="Filter by status" value=${given.outcome ?? ""} onChange=${(/** @type {string} */ outcome) => setQuery({ outcome })}
        options=${[["", "All"], ...Object.entries(OUTCOMES).map(([name, one]) => [name, capitalized(one.words)])]} />
      <${Filter} given=${given} media=${(media.value ?? []).map((/** @type {{medium: string}} */ one) => one.medium)} onChange=${setQuery} />
      ${selected.size > 0 && may("operate") && html`<${Button} kind="main" onClick=${again}>Retry ${counted(selected.size, "alert")}<//>`}
    </div>
    <${Card} flush><${Listed} list=${list} columns=${COLUMNS} id=${(/** @type {Alert} */ row) => row.sent.id} label="Alerts"
      to=${(/** @type {Alert} */ row) => here(row.sent.id)}
      ...${given.outcome === "failed" && may("operate") ? { selected, onSelect: setSelected } : {}}
      empty=${isFiltered
        ? html`<${Empty} title=${list.hasMore ? "No recent alerts match these filters." : "No alerts match these filters."} action=${html`<div class="actions">
            ${list.hasMore && html`<${Button} onClick=${list.more} busy=${list.isLoading}>Search older alerts<//>`}
            <${Button} onClick=${() => setQuery(Object.fromEntries(FILTERS.map((name) => [name, null])))}>Clear filters<//></div>`} />`
        : html`<${Empty} title="No alerts yet."><p>When a check fails, its contacts get alerts. They are listed here with the reply of the server.</p><//>`} /><//>
    ${open && html`<${Detail} id=${open} onClose=${() => setQuery({ id: null })} onRetry=${list.reload} />`}
  <//>`;
}
