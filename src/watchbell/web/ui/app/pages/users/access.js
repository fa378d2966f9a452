/** The dialog that gives a user privileges and custom roles, and limits them. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { patch } from "../../api.js";
import { Dialog } from "../../kit/dialog.js";
import { Form } from "../../kit/form.js";
import { CustomRoles, Limits, names, Privileges } from "./rights.js";

/**
 * @typedef {import("../users.js").User} User
 * @param {{user: User, roles: import("./rights.js").Role[], onClose: () => void, onSaved: () => void}} props
 */
export function Access({ user, roles, onClose, onSaved }) {
  const [privileges, setPrivileges] = useState(user.privileges);
  const [held, setHeld] = useState(user.roles);
  const [categories, setCategories] = useState(user.categories.join(", "));
  const [groups, setGroups] = useState(user.groups.join(", "));
  const save = async () => {
    const body = { privileges, roles: held, categories: names(categories), groups: names(groups) };
    await patch(`/users/${encodeURIComponent(user.name)}`, body);
    onSaved();
  };
  return html`<${Dialog} title=${`Access of ${user.name}`} wide onClose=${onClose}>
    <${Form} onSubmit=${save} cancel=${onClose}>
      <p class="soft">On top of the role ${user.role}. Changes take effect immediately, also for sessions and API keys.</p>
      <${CustomRoles} roles=${roles} selected=${held} onChange=${setHeld} />
      <${Privileges} selected=${privileges} onChange=${setPrivileges} />
      <${Limits} categories=${categories} groups=${groups} onCategories=${setCategories} onGroups=${setGroups} />
    <//>
  <//>`;
}
