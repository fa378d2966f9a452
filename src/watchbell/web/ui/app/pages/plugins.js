/** Plugins: the programs that jobs run, and the commands that servers run each minute. */

import { html } from "htm/preact";
import { url, useFetched } from "../api.js";
import { go, useQuery } from "../location.js";
import { may } from "../session.js";
import { Button } from "../kit/form.js";
import { Card, Fetched, Page, Tabs } from "../kit/layout.js";
import { Chip } from "../kit/state.js";
import { sent } from "./definitions/common_fields.js";
import { DefinitionForm, Definitions } from "./definitions/definitions.js";
import { PluginFields } from "./definitions/plugin_fields.js";
import { TryCommand } from "./definitions/try_command.js";
import { TryPlugin } from "./definitions/try_plugin.js";
import { Revisions } from "./events/revisions.js";
import { counted } from "../words.js";

const NEW = "/plugins?new=yes";

/** Properties that only commands of servers have. */
const COMMAND = ["groups", "format", "timeout"];

/** @type {import("./definitions/definitions.js").Kind} */
const KIND = {
  noun: "plugin",
  plural: "plugins",
  filter: "plugin",
  lead: "The programs that jobs run: an event selects a plugin and fills in its parameters. And commands that servers run each minute.",
  empty: "A plugin is any program that reads a job as JSON, or a script.",
  to: (id) => (id ? url("/plugins", { id }) : NEW),
  blank: { title: "", type: "event", enabled: true, command: "", script: "", params: [], env: {}, kill: "parent" },
  body: (draft, isNew) => sent(draft, [...(draft.type === "monitor" ? COMMAND : []), "type", "enabled", "notes", "command", "script", "params", "uid", "gid", "cwd", "env", "kill"], isNew),
  columns: [
    { head: "Parameters", cell: ({ record }) => (record.type === "monitor" ? html`<${Chip}>server command<//>` : record.params?.length ? counted(record.params.length, "parameter") : html`<span class="soft">–</span>`) },
    { head: "Program", cell: ({ record }) => html`<code>${record.command}</code>${record.stock && html` <${Chip} tone="soft">built in<//>`}` },
  ],
  Fields: PluginFields,
  canDelete: (record) => !record.stock,
};

export default function Plugins() {
  const [query] = useQuery();
  const id = query.get("id");
  if (id) return html`<${Known} key=${id} id=${id} />`;
  if (query.get("new")) {
    return html`<${Page} title="New plugin" above=${html`<a href="/plugins">Plugins</a>`}>
      <${Card}><${DefinitionForm} kind=${KIND} record=${null} canEdit=${may("create_plugins")} onClose=${() => go("/plugins")} onDone=${(/** @type {string} */ made) => go(url("/plugins", { id: made }))} /><//>
    <//>`;
  }
  return html`<${Definitions} kind=${KIND} />`;
}

/** @param {{id: string}} props */
function Known({ id }) {
  const [query] = useQuery();
  const path = `/plugins/${encodeURIComponent(id)}`;
  const fetched = useFetched(path);
  const found = fetched.value;
  const record = found?.record;
  const tab = query.get("tab") ?? "edit";
  const canEdit = may("edit_plugins");
  const isCommand = record?.type === "monitor";
  const canTry = isCommand ? canEdit : may("run_jobs") && may("create_events");
  const actions = record && !isCommand && record.enabled !== false && may("create_events") && html`<${Button} href=${url("/events/new", { plugin: id })}>New event<//>`;
  return html`<${Page} title=${record?.title ?? "Plugin"} above=${html`<a href="/plugins">Plugins</a>`} lead=${record?.notes} actions=${actions}>
    <${Tabs} tabs=${[["edit", canEdit ? "Edit" : "Definition"], ...(canTry ? [["try", "Try it"]] : []), ["history", "History"]]} />
    <${Fetched} of=${fetched} lines=${8}>${() =>
      tab === "history"
        ? html`<${Revisions} path=${path} current=${found.revision} canRestore=${canEdit} onRestored=${fetched.reload} />`
        : tab === "try"
          ? html`<${Card}>${isCommand ? html`<${TryCommand} plugin=${record} />` : html`<${TryPlugin} plugin=${record} />`}<//>`
          : html`<${Card}>${record.stock && html`<p class="notice notice-wide">This plugin belongs to Watchbell. Once you change it, it is no longer updated.</p>`}
              <${DefinitionForm} key=${found.revision} kind=${KIND} record=${record} canEdit=${canEdit} onClose=${() => go("/plugins")}
                onDone=${(/** @type {string} */ saved) => (saved ? fetched.reload() : go("/plugins"))} /><//>`}<//>
  <//>`;
}
