/** The dialogs that create a user and show the sign-in link. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { post } from "../../api.js";
import { Command } from "../../kit/copy.js";
import { Dialog } from "../../kit/dialog.js";
import { Button, Field, Form } from "../../kit/form.js";
import { ROLES } from "./roles.js";

/** @typedef {import("../users.js").NewLink} NewLink */

/** @param {{onClose: () => void, onAdded: (made: NewLink) => void}} props */
export function Adding({ onClose, onAdded }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState("viewer");
  const add = async () => onAdded(await post("/users", { name, role }));
  return html`<${Dialog} title="New user" onClose=${onClose}>
    <${Form} onSubmit=${add} submit="Create" cancel=${onClose} disabled=${name.trim() === ""}>
      <${Field} label="Name" name="name" value=${name} onInput=${setName} maxlength="64" autocapitalize="none" spellcheck=${false}
        hint="Lower-case letters, digits and . _ @ + - ; for example an email address." />
      <${Field} label="Role" name="role" value=${role} onInput=${setRole} options=${ROLES.map(([one]) => [one, one])}
        hint=${ROLES.find(([one]) => one === role)?.[1]} />
    <//>
  <//>`;
}

/** @param {{made: NewLink, onClose: () => void}} props */
export function Link({ made, onClose }) {
  return html`<${Dialog} title=${`Sign-in link for ${made.user}`} onClose=${onClose}>
    <div class="stack">
      <p>Send this link to <strong>${made.user}</strong> privately. It signs them in once, within a day, and lets them set a password. It is not shown again.</p>
      <${Command} text=${made.link} />
      <div class="actions"><${Button} kind="main" onClick=${onClose}>Done<//></div>
    </div>
  <//>`;
}
