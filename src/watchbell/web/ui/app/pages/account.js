/** The user's account: password, display preferences and sessions. */

import { html } from "htm/preact";
import { remove } from "../api.js";
import { useCell } from "../cell.js";
import { may, me } from "../session.js";
import { Button } from "../kit/form.js";
import { Card, Facts, Page } from "../kit/layout.js";
import { attempt } from "../kit/toast.js";
import { Display } from "./account/display.js";
import { Password } from "./account/password.js";
import { Sessions } from "./account/sessions.js";
import { ROLES } from "./users/roles.js";

async function leave() {
  if ((await attempt(() => remove("/session"))) !== undefined) window.location.assign("/sign-in");
}

export default function Account() {
  const who = useCell(me);
  if (!who) return null;
  return html`<${Page} title="Account" actions=${html`<${Button} onClick=${leave}>Sign out<//>`}>
    <div class="columns">
      <div>
        <${Card} title="Profile">
          <${Facts} rows=${[
            ["User", html`<strong>${who.user}</strong>`],
            ["Role", html`${who.role}<div class="soft">${ROLES.find(([role]) => role === who.role)?.[1]}</div>`],
            ["API keys", html`<a href="/api-keys">${may("admin") ? "All API keys" : "Your API keys"}</a>`],
          ]} />
        <//>
        <${Display} />
      </div>
      <${Password} />
    </div>
    <${Sessions} user=${who.user} />
  <//>`;
}
