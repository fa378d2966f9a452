/** A contact: profile, media, links and notification rules. */

import { html } from "htm/preact";
import { url, useFetched } from "../api.js";
import { useQuery } from "../location.js";
import { may } from "../session.js";
import { Button } from "../kit/form.js";
import { Empty, Fetched, Page } from "../kit/layout.js";
import { Links } from "./contact/links.js";
import { Media } from "./contact/media.js";
import { askRemove, Profile } from "./contact/profile.js";
import { Rules } from "./contact/rules.js";
import { nameOf } from "./contact/shapes.js";

/** @typedef {import("./contact/shapes.js").Contact} Shown */

export default function Contact() {
  const [query] = useQuery();
  const id = query.get("id");
  const found = useFetched(id ? url("/contact", { id }) : null);
  const above = html`<a href="/contacts">Contacts</a>`;
  if (!id) {
    return html`<${Page} title="Contact" above=${above}><${Empty} title="No contact selected." action=${html`<${Button} href="/contacts">Show all contacts<//>`} /><//>`;
  }
  const contact = /** @type {Shown | null} */ (found.value);
  return html`<${Page} title=${contact ? nameOf(contact) : id} above=${above}
    actions=${contact && html`<${Button} href=${url("/alerts", { contact: id })}>Alerts<//>
      ${may("write") && html`<${Button} kind="quiet" onClick=${() => askRemove(contact)}>Delete<//>`}`}>
    <${Fetched} of=${found} lines=${8}>${(/** @type {Shown} */ shown) => html`
      <div class="columns">
        <${Profile} contact=${shown} put=${found.put} />
        <${Links} key=${shown.id} contact=${shown} />
      </div>
      <${Media} contact=${shown} put=${found.put} />
      <${Rules} key=${shown.id} contact=${shown} />`}<//>
  <//>`;
}
