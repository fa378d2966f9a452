/** Users, their roles, and custom roles. */

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
import { attempt, showToast } from "../kit/toast.js";
import { Access } from "./users/access.js";
import { Adding, Link } from "./users/adding.js";
import { RoleList } from "./users/custom_roles.js";
import { LimitWords } from "./users/rights.js";
import { ROLES } from "./users/roles.js";

/**
 * @typedef {{name: string, role: string, privileges: string[], roles: string[], categories: string[], groups: string[],
 *   created: number, has_password: boolean, last_sign_in: number | null}} User
 * @typedef {{user: string, link: string}} NewLink
 */

export default function Users() {
  const list = useList("/users");
  const roles = useList("/roles");
  const [edited, setEdited] = useState(/** @type {User | null} */ (null));
  const [isAdding, setIsAdding] = useState(false);
  const [link, setLink] = useState(/** @type {NewLink | null} */ (null));
  const path = (/** @type {User} */ one) => `/users/${encodeURIComponent(one.name)}`;

  const change = (/** @type {User} */ one, /** @type {string} */ role) =>
    confirm({
      title: `Make ${one.name} ${/^[aeo]/.test(role) ? "an" : "a"} ${role}?`,
      words: html`<p>${ROLES.find(([name]) => name === role)?.[1]}</p><p class="soft">The change takes effect immediately, also for sessions and API keys.</p>
        ${one.name === me.value?.user && html`<p class="bad">This is your own account.</p>`}`,
      yes: "Change role",
      kind: "main",
      act: async () => {
        await patch(path(one), { role });
        showToast(`Role of ${one.name} changed to ${role}.`);
        list.reload();
      },
    });
  const renew = async (/** @type {User} */ one) => {
    const made = await attempt(() => post(`${path(one)}/link`));
    if (made) setLink(made);
  };
  const drop = (/** @type {User} */ one) =>
    confirm({
      title: `Delete ${one.name}?`,
      words: "Their sessions, API keys and ping addresses stop working immediately. Their changes and audit log entries are kept.",
      yes: "Delete",
      act: async () => {
        await remove(path(one));
        showToast(`${one.name} deleted.`);
        list.reload();
      },
    });

  const titles = new Map(roles.items.map((role) => [role.id, role.title]));
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
    { head: "Also", cell: (one) => html`<span class="chips">${one.roles.map((id) => html`<${Chip} tone="good">${titles.get(id) ?? id}<//>`)}${one.privileges.map((name) => html`<${Chip}>${name}<//>`)}</span><${LimitWords} one=${one} />` },
    { head: "Last sign-in", kind: "tight", cell: (one) => html`<${When} at=${one.last_sign_in} />` },
    { head: "Password", kind: "tight", cell: (one) => (one.has_password ? "set" : html`<span class="soft">not set</span>`) },
    { head: "Added", kind: "tight", hide: "phone", cell: (one) => html`<${When} at=${one.created} as="short" />` },
    { head: html`<span class="unseen">Actions</span>`, kind: "actions", cell: (one) => html`<div class="actions row-actions">
        <${Button} small onClick=${() => setEdited(one)} label=${`Access of ${one.name}`}>Access<//>
        <${Button} small onClick=${() => renew(one)} label=${`New sign-in link for ${one.name}`}>New sign-in link<//>
        <${Button} small kind="danger" onClick=${() => drop(one)} label=${`Delete ${one.name}`}>Delete<//></div>` },
  ];
  return html`<${Page} title="Users" lead="People who can sign in, and what they may do." actions=${html`<${Button} kind="main" onClick=${() => setIsAdding(true)}>New user<//>`}>
    <${Card} flush><${Listed} list=${list} columns=${columns} id=${(/** @type {User} */ one) => one.name} label="Users" empty="No users." /><//>
    <${RoleList} list=${roles} onChanged=${roles.reload} />
    ${edited && html`<${Access} user=${edited} roles=${roles.items} onClose=${() => setEdited(null)} onSaved=${() => {
      showToast(`Access of ${edited.name} changed.`);
      setEdited(null);
      list.reload();
    }} />`}
    ${isAdding && html`<${Adding} onClose=${() => setIsAdding(false)} onAdded=${(/** @type {NewLink} */ made) => {
      setIsAdding(false);
      setLink(made);
      list.reload();
    }} />`}
    ${link && html`<${Link} made=${link} onClose=${() => setLink(null)} />`}
  <//>`;
}
