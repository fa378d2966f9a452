/** Who may sign in, and as what. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { patch, post, remove, useList } from "../api.js";
import { me } from "../session.js";
import { confirm } from "../kit/dialog.js";
import { Button } from "../kit/form.js";
import { Card, Page } from "../kit/layout.js";
import { Chip } from "../kit/state.js";
import { Listed } from "../kit/table.js";
import { When } from "../kit/time.js";
import { attempt, say } from "../kit/toast.js";
import { Adding, Link } from "./users/adding.js";
import { ROLES } from "./users/roles.js";

/**
 * @typedef {{name: string, role: string, created: number, has_password: boolean, last_sign_in: number | null}} User
 * @typedef {{user: string, link: string}} NewLink
 */

export default function Users() {
  const list = useList("/users");
  const [isAdding, setIsAdding] = useState(false);
  const [link, setLink] = useState(/** @type {NewLink | null} */ (null));
  const path = (/** @type {User} */ one) => `/users/${encodeURIComponent(one.name)}`;

  const change = (/** @type {User} */ one, /** @type {string} */ role) =>
    confirm({
      title: `Make ${one.name} ${/^[aeo]/.test(role) ? "an" : "a"} ${role}?`,
      words: html`<p>${ROLES.find(([name]) => name === role)?.[1]}</p><p class="soft">It holds at once, for their sessions and API keys, too.</p>
        ${one.name === me.value?.user && html`<p class="bad">This is you.</p>`}`,
      yes: "Change the role",
      kind: "main",
      act: async () => {
        await patch(path(one), { role });
        say(`${one.name} is ${role} now.`);
        list.reload();
      },
    });
  const renew = async (/** @type {User} */ one) => {
    const made = await attempt(() => post(`${path(one)}/link`));
    if (made) setLink(made);
  };
  const drop = (/** @type {User} */ one) =>
    confirm({
      title: `Remove ${one.name}?`,
      words: "Their sessions, API keys and pings work no more, at once. What they changed stays as it is, and stays in the audit log.",
      yes: "Remove",
      act: async () => {
        await remove(path(one));
        say(`${one.name} is removed.`);
        list.reload();
      },
    });

  /** @type {import("../kit/table.js").Column<User>[]} */
  const columns = [
    { head: "User", kind: "main", cell: (one) => html`${one.name}${" "}${one.name === me.value?.user && html`<${Chip} tone="good">you<//>`}` },
    { head: "Role", cell: (one) => html`<select class="role" aria-label=${`Role of ${one.name}`} value=${one.role}
        onChange=${(/** @type {any} */ event) => {
          const role = event.currentTarget.value;
          event.currentTarget.value = one.role;
          change(one, role);
        }}>
        ${ROLES.map(([role]) => html`<option value=${role}>${role}</option>`)}</select>` },
    { head: "Signed in last", kind: "tight", cell: (one) => html`<${When} at=${one.last_sign_in} />` },
    { head: "Password", kind: "tight", cell: (one) => (one.has_password ? "set" : html`<span class="soft">none yet</span>`) },
    { head: "Added", kind: "tight", hide: "phone", cell: (one) => html`<${When} at=${one.created} as="short" />` },
    { head: html`<span class="unseen">Actions</span>`, kind: "actions", cell: (one) => html`<div class="actions row-actions">
        <${Button} small onClick=${() => renew(one)} label=${`New link for ${one.name} to sign in`}>New link<//>
        <${Button} small kind="danger" onClick=${() => drop(one)} label=${`Remove ${one.name}`}>Remove<//></div>` },
  ];
  return html`<${Page} title="Users" lead="Who may sign in, and what they may do." actions=${html`<${Button} kind="main" onClick=${() => setIsAdding(true)}>Add a user<//>`}>
    <${Card} flush><${Listed} list=${list} columns=${columns} id=${(/** @type {User} */ one) => one.name} label="Users" empty="There is nobody." /><//>
    ${isAdding && html`<${Adding} onClose=${() => setIsAdding(false)} onAdded=${(/** @type {NewLink} */ made) => {
      setIsAdding(false);
      setLink(made);
      list.reload();
    }} />`}
    ${link && html`<${Link} made=${link} onClose=${() => setLink(null)} />`}
  <//>`;
}
