/** Alerts that a medium gave up: why, and sent again. */

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
import { attempt, say } from "../../kit/toast.js";

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
      : html`<code class="gateway-raw">${row.raw}</code>`}<div class="bad gateway-said">${row.error}</div></div>`,
  },
  { head: "To", cell: (row) => html`<span class="gateway-said">${row.address}</span>` },
  { head: "Tries", kind: "number", cell: (row) => row.tries },
  { head: "Given up", kind: "tight", cell: (row) => html`<${When} at=${row.given_up} />` },
];

/** @param {{medium: string, onChanged: () => void}} props */
export function GivenUp({ medium, onChanged }) {
  const list = useList(url("/gateways/failed", { medium }));
  const [chosen, setChosen] = useState(/** @type {Set<string>} */ (new Set()));
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => place.current?.scrollIntoView({ block: "nearest" }), []);
  const changed = () => {
    setChosen(new Set());
    list.reload();
    onChanged();
  };
  const again = async () => {
    const done = await attempt(
      () => post("/gateways/retry", { medium, ids: [...chosen].slice(0, 1_000) }),
      (/** @type {{count: number}} */ told) => `${told.count} on the way again.`,
    );
    if (done) changed();
  };
  const all = () =>
    confirm({
      title: "Send all of them again?",
      words: html`<p>All alerts that ${medium} gave up are sent once more, also those that are long over for whoever gets them.</p>`,
      yes: "Send all again",
      kind: "main",
      act: async () => {
        const told = await post("/gateways/retry", { medium, all: true });
        say(`${told.count.toLocaleString("en-GB")} on the way again.`);
        changed();
      },
    });
  return html`<div ref=${place}><${Card} flush title=${`Given up by ${medium}`}
    actions=${may("operate") && list.items.length > 0 && html`${chosen.size > 0 && html`<${Button} kind="main" small onClick=${again}>Send ${chosen.size} again<//>`}
      <${Button} small onClick=${all}>Send all again<//>`}>
    <${Listed} list=${list} columns=${COLUMNS} id=${(/** @type {Failure} */ row) => row.id} label=${`Given up by ${medium}`}
      ...${may("operate") ? { selected: chosen, onSelect: setChosen } : {}}
      empty=${html`<${Empty} title="Nothing was given up."><p>All that was sent here has been taken, or is still tried.</p><//>`} /><//></div>`;
}
