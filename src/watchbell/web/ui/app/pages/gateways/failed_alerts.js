/** Failed alerts of a gateway, with retry. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { post, url, useList } from "../../api.js";
import { may } from "../../session.js";
import { confirm } from "../../kit/dialog.js";
import { Button } from "../../kit/form.js";
import { Card, Empty } from "../../kit/layout.js";
import { State } from "../../kit/state.js";
import { Listed } from "../../kit/table.js";
import { When } from "../../kit/time.js";
import { attempt, showToast } from "../../kit/toast.js";
import { counted } from "../../words.js";

/**
 * @typedef {{id: string, given_up: number, since: number, check: string, state: string, address: string, tries: number,
 *   error: string, raw: string}} Failure
 */

/** @type {import("../../kit/table.js").Column<Failure>[]} */
const COLUMNS = [
  {
    head: "About",
    kind: "main",
    cell: (row) => html`<div>${row.check
      ? html`<${State} state=${row.state} /> <a href=${url("/check", { id: row.check })}>${row.check}</a>`
      : html`<code class="gateway-raw">${row.raw}</code>`}<div class="bad gateway-reply">${row.error}</div></div>`,
  },
  { head: "To", cell: (row) => html`<span class="gateway-reply">${row.address}</span>` },
  { head: "Attempts", kind: "number", cell: (row) => row.tries },
  { head: "Failed", kind: "tight", cell: (row) => html`<${When} at=${row.given_up} />` },
];

/** @param {{medium: string, onChanged: () => void}} props */
export function FailedAlerts({ medium, onChanged }) {
  const list = useList(url("/gateways/failed", { medium }));
  const [selected, setSelected] = useState(/** @type {Set<string>} */ (new Set()));
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => place.current?.scrollIntoView({ block: "nearest" }), []);
  const changed = () => {
    setSelected(new Set());
    list.reload();
    onChanged();
  };
  const again = async () => {
    const done = await attempt(
      () => post("/gateways/retry", { medium, ids: [...selected].slice(0, 1_000) }),
      (/** @type {{count: number}} */ answer) => `${counted(answer.count, "alert")} queued again.`,
    );
    if (done) changed();
  };
  const all = () =>
    confirm({
      title: "Retry all failed alerts?",
      words: html`<p>All failed alerts of ${medium} are sent again, including old ones.</p>`,
      yes: "Retry all",
      kind: "main",
      act: async () => {
        const answer = await post("/gateways/retry", { medium, all: true });
        showToast(`${counted(answer.count, "alert")} queued again.`);
        changed();
      },
    });
  return html`<div ref=${place}><${Card} flush title=${`Failed alerts of ${medium}`}
    actions=${may("operate") && list.items.length > 0 && html`${selected.size > 0 && html`<${Button} kind="main" small onClick=${again}>Retry ${counted(selected.size, "alert")}<//>`}
      <${Button} small onClick=${all}>Retry all<//>`}>
    <${Listed} list=${list} columns=${COLUMNS} id=${(/** @type {Failure} */ row) => row.id} label=${`Failed alerts of ${medium}`}
      ...${may("operate") ? { selected, onSelect: setSelected } : {}}
      empty=${html`<${Empty} title="No failed alerts."><p>All alerts were delivered or are still being retried.</p><//>`} /><//></div>`;
}
