/** Commands that were created for servers which have not joined yet. */

import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { remove, useInterval, useList } from "../../api.js";
import { confirm } from "../../kit/dialog.js";
import { Button } from "../../kit/form.js";
import { Card } from "../../kit/layout.js";
import { Chip } from "../../kit/state.js";
import { Listed } from "../../kit/table.js";
import { When } from "../../kit/time.js";
import { showToast } from "../../kit/toast.js";

/** @typedef {import("./words.js").Token} Token */

const EVERY = 15;

/** @param {{stamp: string}} props `stamp`: changes when a server may have joined */
export function JoinTokens({ stamp }) {
  const list = useList("/servers/tokens");
  useEffect(list.reload, [stamp]);
  useInterval(list.reload, EVERY);
  if (list.items.length === 0) return null;
  const revoke = (/** @type {Token} */ one) =>
    confirm({
      title: "Revoke this command?",
      words: "No server can join with it any more.",
      yes: "Revoke",
      async act() {
        await remove(`/servers/tokens/${one.id}`);
        showToast("Command revoked.");
        list.reload();
      },
    });
  /** @type {import("../../kit/table.js").Column<Token>[]} */
  const columns = [
    { head: "For", kind: "main", cell: (one) => (one.hostname ? html`<span class="mono">${one.hostname}</span>` : html`<span>any new server</span>`) },
    { head: "Created", cell: (one) => html`<span><${When} at=${one.created} /> by ${one.created_by}</span>` },
    { head: "Expires", kind: "tight", cell: (one) => (one.expires !== null && one.expires * 1000 < Date.now() ? html`<${Chip} tone="bad">expired<//>` : html`<${When} at=${one.expires} />`) },
    { head: html`<span class="unseen">Actions</span>`, kind: "actions", cell: (one) => html`<${Button} small kind="danger" onClick=${() => revoke(one)} label=${`Revoke the command for ${one.hostname || "any new server"}`}>Revoke<//>` },
  ];
  return html`<${Card} flush title="Waiting for these servers"><${Listed} list=${list} columns=${columns} keys=${false} id=${(/** @type {Token} */ one) => one.id} label="Commands that no server has joined with" empty="" /><//>`;
}
