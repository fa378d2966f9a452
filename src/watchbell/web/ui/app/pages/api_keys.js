/** API keys for programs, and for jobs that ping. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { remove, url, useList } from "../api.js";
import { may, me } from "../session.js";
import { lasting } from "../times.js";
import { confirm } from "../kit/dialog.js";
import { Button } from "../kit/form.js";
import { Card, Empty, Page } from "../kit/layout.js";
import { Chip } from "../kit/state.js";
import { Listed } from "../kit/table.js";
import { When } from "../kit/time.js";
import { showToast } from "../kit/toast.js";
import { CreatedKey } from "./api_keys/created_key.js";
import { CreateDialog } from "./api_keys/create_dialog.js";
import { LimitWords } from "./users/rights.js";

/**
 * @typedef {{entity: string, check: string, ttl: number}} Ping
 * @typedef {{id: string, name: string, owner: string, scopes: string[], privileges: string[], roles: string[],
 *   categories: string[], groups: string[], created: number, expires: number | null,
 *   last_use: number | null, ping: Ping | null}} Key
 * @typedef {{key: Key, secret: string, ping_url: string | null}} NewKey
 */

/** @param {{one: Key}} props */
function Name({ one }) {
  if (!one.ping) return html`<span>${one.name}</span>`;
  const check = `${one.ping.entity}:${one.ping.check}`;
  return html`<div>${one.name}<div class="soft plain">pings <a href=${url("/check", { id: check })}>${check}</a>, at least every ${lasting(one.ping.ttl, 2)}</div></div>`;
}

/** @param {{one: Key}} props */
function Expires({ one }) {
  if (one.expires !== null && one.expires * 1000 < Date.now()) return html`<${Chip} tone="bad">expired<//>`;
  return html`<${When} at=${one.expires} as="ago" />`;
}

export default function ApiKeys() {
  const list = useList("/api-keys");
  const [isCreating, setIsCreating] = useState(false);
  const [created, setCreated] = useState(/** @type {NewKey | null} */ (null));
  const revoke = (/** @type {Key} */ one) =>
    confirm({
      title: `Revoke ${one.name}?`,
      words: one.ping
        ? "Pings with this key are rejected. The check stays, and becomes unknown when pings are missing."
        : "Requests with this key are rejected from now on. This can't be undone.",
      yes: "Revoke",
      act: async () => {
        await remove(`/api-keys/${one.id}`);
        showToast(`${one.name} revoked.`);
        list.reload();
      },
    });
  /** @type {import("../kit/table.js").Column<Key>[]} */
  const columns = [
    { head: "Key", kind: "main", cell: (one) => html`<${Name} one=${one} />` },
    { head: "May", cell: (one) => html`<span class="chips">${[...one.scopes, ...one.roles, ...one.privileges].map((name) => html`<${Chip}>${name}<//>`)}</span><${LimitWords} one=${one} />` },
    ...(may("admin") ? [/** @type {import("../kit/table.js").Column<Key>} */ ({ head: "Owner", cell: (one) => one.owner || html`<span class="soft nowrap">command line</span>` })] : []),
    { head: "Last used", kind: "tight", cell: (one) => html`<${When} at=${one.last_use} />` },
    { head: "Expires", kind: "tight", cell: (one) => html`<${Expires} one=${one} />` },
    { head: "Created", kind: "tight", hide: "phone", cell: (one) => html`<${When} at=${one.created} as="short" />` },
    { head: html`<span class="unseen">Actions</span>`, kind: "actions", cell: (one) => html`<${Button} small kind="danger" onClick=${() => revoke(one)} label=${`Revoke ${one.name}`}>Revoke<//>` },
  ];
  const make = html`<${Button} kind="main" onClick=${() => setIsCreating(true)}>New API key<//>`;
  return html`<${Page} title="API keys" actions=${make}
    lead=${html`Programs use API keys to report events and to call <a href="/api">the API</a>.${may("admin") ? " This list shows the keys of all users." : ""}`}>
    <${Card} flush><${Listed} list=${list} columns=${columns} id=${(/** @type {Key} */ one) => one.id} label="API keys"
      empty=${html`<${Empty} title="No API keys yet." action=${make}><p>Create one for each program that reports events or calls the API, and for each job that pings.</p><//>`} /><//>
    ${isCreating && html`<${CreateDialog} scopes=${me.value?.scopes ?? []} privileges=${me.value?.privileges ?? []} onClose=${() => setIsCreating(false)} onCreated=${(/** @type {NewKey} */ key) => {
      setIsCreating(false);
      setCreated(key);
      list.reload();
    }} />`}
    ${created && html`<${CreatedKey} created=${created} onClose=${() => setCreated(null)} />`}
  <//>`;
}
