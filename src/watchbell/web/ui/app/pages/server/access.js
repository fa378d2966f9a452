/** The token by which the agent of a server identifies itself. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { post, useFetched } from "../../api.js";
import { may } from "../../session.js";
import { confirm, Dialog } from "../../kit/dialog.js";
import { Button } from "../../kit/form.js";
import { Card, Fetched } from "../../kit/layout.js";
import { Table } from "../../kit/table.js";
import { When } from "../../kit/time.js";
import { attempt, showToast } from "../../kit/toast.js";
import { Waiting } from "../servers/add_dialog.js";
import { nameOf } from "../servers/words.js";

/**
 * @typedef {import("../servers/words.js").Shown} Shown
 * @typedef {import("../servers/words.js").Token} Token
 */

/** @type {import("../../kit/table.js").Column<Token>[]} */
const COLUMNS = [
  { head: "Token", kind: "main", cell: (one) => html`<span class="mono">${one.id}</span>` },
  { head: "Created", kind: "tight", cell: (one) => html`<${When} at=${one.created} />` },
  { head: "Last used", kind: "tight", cell: (one) => html`<${When} at=${one.last_used} />` },
];

/** @param {{shown: Shown, path: string}} props */
export function Access({ shown, path }) {
  const tokens = useFetched(`${path}/tokens`, { every: 10 });
  const [created, setCreated] = useState(/** @type {import("../servers/words.js").CreatedToken | null} */ (null));
  const { row } = shown;
  const name = nameOf(row);
  const rotate = () =>
    confirm({
      title: `Rotate the token of ${name}?`,
      words: "Its agent connects again and gets a new token. The current one is valid until then. Jobs that it runs continue.",
      yes: "Rotate",
      kind: "main",
      async act() {
        await post(`${path}/rotate`);
        showToast(row.is_online ? "The agent gets a new token." : "The agent gets a new token when it connects.");
        tokens.reload();
      },
    });
  const revoke = () =>
    confirm({
      title: `Revoke the token of ${name}?`,
      words: html`<p>Its agent is disconnected, and can't come back without a new token.</p>
        ${row.jobs > 0 && html`<p>It runs ${row.jobs === 1 ? "a job" : `${row.jobs} jobs`} now, which will count as lost.</p>`}`,
      yes: "Revoke",
      async act() {
        await post(`${path}/revoke`);
        showToast(`The token of ${name} was revoked.`);
        tokens.reload();
      },
    });
  const join = () =>
    attempt(async () => {
      setCreated(await post("/servers/tokens", { hostname: row.hostname, hours: 24 }));
    });
  return html`<${Card} title="Access">
    <div class="stack">
      <${Fetched} of=${tokens} lines=${2}>${(/** @type {{items: Token[]}} */ { items }) =>
        items.length > 0
          ? html`<${Table} columns=${COLUMNS} rows=${items} id=${(/** @type {Token} */ one) => one.id} keys=${false} label="Tokens" />
            <div class="actions"><${Button} onClick=${rotate}>Rotate<//><${Button} kind="danger" onClick=${revoke}>Revoke<//></div>`
          : html`<p>This server has no token: its agent can't connect.${may("add_servers") && " Create a command to let it join again."}</p>`}<//>
      ${may("add_servers") && html`<div><${Button} onClick=${join}>Join again<//><div class="hint">Creates a command for a machine of the name ${row.hostname}, which takes the place of the current one.</div></div>`}
    </div>
    ${created && html`<${Dialog} title=${`Join ${name} again`} onClose=${() => setCreated(null)}><${Waiting} created=${created} onClose=${() => setCreated(null)} /><//>`}
  <//>`;
}
