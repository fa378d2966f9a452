/** The sessions of a user. */

import { html } from "htm/preact";
import { remove, url, useList } from "../../api.js";
import { Button } from "../../kit/form.js";
import { confirm } from "../../kit/dialog.js";
import { Card } from "../../kit/layout.js";
import { Chip } from "../../kit/state.js";
import { Listed } from "../../kit/table.js";
import { When } from "../../kit/time.js";
import { showToast } from "../../kit/toast.js";
import { agentWords } from "./agents.js";

/**
 * @typedef {{id: string, user: string, began: number, seen: number, ends: number, address: string, agent: string,
 *   is_this: boolean}} Session
 */

/** @param {{user: string}} props */
export function Sessions({ user }) {
  const list = useList(url("/sessions", { user }));
  const sorted = list.items.toSorted((/** @type {Session} */ one, /** @type {Session} */ other) => Number(other.is_this) - Number(one.is_this) || other.seen - one.seen);
  const hasOthers = sorted.some((/** @type {Session} */ one) => !one.is_this);
  const end = (/** @type {Session} */ one) =>
    confirm({
      title: "End this session?",
      words: `${agentWords(one.agent)} at ${one.address} has to sign in again.`,
      yes: "End session",
      act: async () => {
        await remove(`/sessions/${one.id}`);
        showToast("Session ended.");
        list.reload();
      },
    });
  const endOthers = () =>
    confirm({
      title: "End all your other sessions?",
      words: "You stay signed in here, and have to sign in again everywhere else.",
      yes: "End sessions",
      act: async () => {
        await remove("/sessions");
        showToast("Other sessions ended.");
        list.reload();
      },
    });
  /** @type {import("../../kit/table.js").Column<Session>[]} */
  const columns = [
    { head: "Browser", kind: "main", cell: (one) => html`<span title=${one.agent}>${agentWords(one.agent)}</span>${" "}${one.is_this && html`<${Chip} tone="good">this session<//>`}` },
    { head: "Address", cell: (one) => html`<span class="mono">${one.address}</span>` },
    { head: "Last used", kind: "tight", cell: (one) => html`<${When} at=${one.seen} />` },
    { head: "Signed in", kind: "tight", cell: (one) => html`<${When} at=${one.began} as="short" />` },
    { head: "Expires", kind: "tight", cell: (one) => html`<${When} at=${one.ends} as="short" />` },
    { head: html`<span class="unseen">Actions</span>`, kind: "actions", cell: (one) => !one.is_this && html`<${Button} small onClick=${() => end(one)} label=${`End the session from ${one.address}`}>End<//>` },
  ];
  return html`<${Card} flush title="Sessions" actions=${hasOthers && html`<${Button} small onClick=${endOthers}>End other sessions<//>`}>
    <${Listed} list=${{ ...list, items: sorted }} columns=${columns} id=${(/** @type {Session} */ one) => one.id} label="Sessions" empty="No sessions." />
  <//>`;
}
