/** The form that sets the password. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { get, put } from "../../api.js";
import { useCell } from "../../cell.js";
import { me } from "../../session.js";
import { Field, Form } from "../../kit/form.js";
import { Card } from "../../kit/layout.js";
import { showToast } from "../../kit/toast.js";

const SHORTEST = 10;

export function Password() {
  const who = useCell(me);
  const [old, setOld] = useState("");
  const [fresh, setFresh] = useState("");
  const set = async () => {
    await put("/session/password", { old, new: fresh });
    setOld("");
    setFresh("");
    me.set(await get("/session"));
    showToast("Password saved. Your other sessions have ended.");
  };
  return html`<${Card} title=${who?.has_password ? "Change your password" : "Set a password"}>
    <${Form} onSubmit=${set} submit="Save password" disabled=${fresh === "" || (who?.asks_old && old === "")}>
      <input class="unseen" name="username" value=${who?.user} autocomplete="username" tabindex="-1" aria-hidden="true" readonly />
      ${who?.asks_old && html`<${Field} label="Current password" name="old" type="password" value=${old} onInput=${setOld} maxlength="1000" autocomplete="current-password" />`}
      <${Field} label=${who?.has_password ? "New password" : "Password"} name="new" type="password" value=${fresh} onInput=${setFresh} maxlength="1000"
        autocomplete="new-password" hint=${`At least ${SHORTEST} characters, and not your user name. Your other sessions are ended.`} />
    <//>
  <//>`;
}
