/** The list of custom roles, and the dialog that edits one. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { patch, post, remove } from "../../api.js";
import { confirm, Dialog } from "../../kit/dialog.js";
import { Button, Field, Form, Toggle } from "../../kit/form.js";
import { Card, Empty } from "../../kit/layout.js";
import { Chip } from "../../kit/state.js";
import { Listed } from "../../kit/table.js";
import { showToast } from "../../kit/toast.js";
import { Limits, LimitWords, names, Privileges } from "./rights.js";

/** @typedef {import("./rights.js").Role} Role */

/** @type {Role} */
const BLANK = { id: "", title: "", enabled: true, notes: "", privileges: [], categories: [], groups: [] };

/** @param {{list: ReturnType<typeof import("../../api.js").useList>, onChanged: () => void}} props */
export function RoleList({ list, onChanged }) {
  const [edited, setEdited] = useState(/** @type {Role | null} */ (null));
  const drop = (/** @type {Role} */ one) =>
    confirm({
      title: `Delete the role ${one.title}?`,
      words: "A role that users or API keys have can't be deleted.",
      yes: "Delete",
      act: async () => {
        await remove(`/roles/${one.id}`);
        showToast(`${one.title} deleted.`);
        onChanged();
      },
    });
  /** @type {import("../../kit/table.js").Column<Role>[]} */
  const columns = [
    { head: "Role", kind: "main", cell: (one) => html`<div>${one.title}${" "}${!one.enabled && html`<${Chip}>disabled<//>`}<div class="soft plain">${one.notes || html`<span class="mono">${one.id}</span>`}</div></div>` },
    { head: "Privileges", cell: (one) => html`<span class="chips">${one.privileges.map((name) => html`<${Chip}>${name}<//>`)}</span><${LimitWords} one=${one} />` },
    { head: html`<span class="unseen">Actions</span>`, kind: "actions", cell: (one) => html`<div class="actions row-actions">
        <${Button} small onClick=${() => setEdited(one)} label=${`Edit ${one.title}`}>Edit<//>
        <${Button} small kind="danger" onClick=${() => drop(one)} label=${`Delete ${one.title}`}>Delete<//></div>` },
  ];
  const make = html`<${Button} onClick=${() => setEdited(BLANK)}>New role<//>`;
  return html`<${Card} flush title="Custom roles" actions=${make}>
    <${Listed} list=${list} columns=${columns} id=${(/** @type {Role} */ one) => one.id} label="Custom roles"
      empty=${html`<${Empty} title="No custom roles."><p>A custom role is a set of privileges that users and API keys can have on top of their role.</p><//>`} />
    ${edited && html`<${RoleDialog} role=${edited} onClose=${() => setEdited(null)} onSaved=${() => {
      setEdited(null);
      onChanged();
    }} />`}
  <//>`;
}

/** @param {{role: Role, onClose: () => void, onSaved: () => void}} props `role`: with an empty id for a new one */
function RoleDialog({ role, onClose, onSaved }) {
  const [id, setId] = useState(role.id);
  const [title, setTitle] = useState(role.title);
  const [notes, setNotes] = useState(role.notes);
  const [isEnabled, setIsEnabled] = useState(role.enabled);
  const [privileges, setPrivileges] = useState(role.privileges);
  const [categories, setCategories] = useState(role.categories.join(", "));
  const [groups, setGroups] = useState(role.groups.join(", "));
  const save = async () => {
    const body = { title, notes, enabled: isEnabled, privileges, categories: names(categories), groups: names(groups) };
    await (role.id ? patch(`/roles/${role.id}`, body) : post("/roles", { id, ...body }));
    onSaved();
  };
  return html`<${Dialog} title=${role.id ? `Edit ${role.title}` : "New role"} wide onClose=${onClose}>
    <${Form} onSubmit=${save} submit=${role.id ? "Save" : "Create"} cancel=${onClose} disabled=${title.trim() === ""}>
      <div class="form-row">
        <${Field} label="Title" name="title" value=${title} onInput=${setTitle} maxlength="100" placeholder="Backup operators" />
        ${!role.id && html`<${Field} label="Id" name="id" value=${id} onInput=${setId} mono maxlength="64" placeholder="backup_operators" hint="Optional. Can't be changed later." />`}
      </div>
      <${Field} label="Notes" name="notes" value=${notes} onInput=${setNotes} maxlength="10000" />
      <${Toggle} label="Enabled" name="enabled" checked=${isEnabled} onChange=${setIsEnabled} hint="A disabled role grants nothing." />
      <${Privileges} selected=${privileges} onChange=${setPrivileges} />
      <${Limits} categories=${categories} groups=${groups} onCategories=${setCategories} onGroups=${setGroups} />
    <//>
  <//>`;
}
