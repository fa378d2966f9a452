/** All dashboards, and the form of a new one. */

import { html } from "htm/preact";
import { go, useQuery } from "../location.js";
import { may } from "../session.js";
import { Field } from "../kit/form.js";
import { Card, Page } from "../kit/layout.js";
import { When } from "../kit/time.js";
import { DefinitionForm, Definitions } from "./definitions/definitions.js";
import { dashboardLink, FIRST_PANELS } from "./dashboards/words.js";

/** @type {import("./definitions/definitions.js").Kind} */
const KIND = {
  noun: "dashboard",
  plural: "dashboards",
  filter: "",
  lead: "Pages of plots and lists, arranged by people. Everybody who can sign in can open them by their link.",
  empty: "A dashboard shows what matters to a team on one page: plots of servers, failing checks, jobs.",
  to: (id) => (id ? dashboardLink(id) : "/dashboards?new=yes"),
  blank: { title: "", notes: "" },
  body: ({ title, notes }) => ({ title, notes, panels: FIRST_PANELS }),
  columns: [
    { head: "Panels", kind: "number", cell: ({ record }) => (record.panels ?? []).length },
    { head: "By", kind: "tight", cell: ({ record }) => record.username || html`<span class="soft">–</span>` },
    { head: "Changed", kind: "tight", cell: ({ record }) => html`<${When} at=${record.modified} />` },
  ],
  Fields: ({ draft, change }) => html`
    <${Field} label="Title" name="title" value=${draft.title} onInput=${(/** @type {string} */ title) => change({ title })} />
    <${Field} label="Notes" name="notes" rows=${3} value=${draft.notes} onInput=${(/** @type {string} */ notes) => change({ notes })} hint="What it is for, shown below its title." />`,
};

export default function Dashboards() {
  const [query] = useQuery();
  if (!query.get("new")) return html`<${Definitions} kind=${KIND} />`;
  const back = () => go("/dashboards");
  return html`<${Page} title="New dashboard" above=${html`<a href="/dashboards">Dashboards</a>`}>
    <${Card}><${DefinitionForm} kind=${KIND} record=${null} canEdit=${may("create_dashboards")} onClose=${back} onDone=${(/** @type {string} */ id) => go(dashboardLink(id, { edit: "yes" }))} /><//>
  <//>`;
}
