/** Adding a user, and the link by which they come in. */

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
  return html`<${Dialog} title="Add a user" onClose=${onClose}>
    <${Form} onSubmit=${add} submit="Add" cancel=${onClose} disabled=${name.trim() === ""}>
      <${Field} label="Name" name="name" value=${name} onInput=${setName} maxlength="64" autocapitalize="none" spellcheck=${false}
        hint="Small letters, digits and . _ @ + - ; an address will do." />
      <${Field} label="Role" name="role" value=${role} onInput=${setRole} options=${ROLES.map(([one]) => [one, one])}
        hint=${ROLES.find(([one]) => one === role)?.[1]} />
    <//>
  <//>`;
}

/** @param {{made: NewLink, onClose: () => void}} props */
export function Link({ made, onClose }) {
  return html`<${Dialog} title=${`A link for ${made.user}`} onClose=${onClose}>
    <div class="stack">
      <p>Give it to them in a way that nobody else reads. It lets its holder sign in as <strong>${made.user}</strong>, once, within a day; then they set a password. It is not shown again.</p>
      <${Command} text=${made.link} />
      <div class="actions"><${Button} kind="main" onClick=${onClose}>Done<//></div>
    </div>
  <//>`;
}
