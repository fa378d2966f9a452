/** The form of an alert definition, which shows what the definition says about a server now. */

import { html } from "htm/preact";
import { useFetched } from "../../api.js";
import { may } from "../../session.js";
import { NumberField } from "../../kit/amounts.js";
import { Field, Toggle } from "../../kit/form.js";
import { State } from "../../kit/state.js";
import { EnabledField, NotesField, TitleFields } from "../definitions/common_fields.js";
import { ExpressionField, ServerField, useServer, useTrial } from "../expressions/trial.js";
import { GroupField } from "../monitors/group_field.js";
import { AlertActions } from "./actions.js";

/**
 * @typedef {import("../definitions/definitions.js").Change} Change
 * @typedef {{is_true: boolean, message: string, value: number | null, count: number, samples: number, concerns_server: boolean, is_active: boolean, would_fire: boolean, would_clear: boolean}} Tried
 */

/** @param {{draft: any, change: Change, isNew: boolean}} props */
export function AlertFields({ draft, change, isNew }) {
  const on = useServer();
  const monitors = useFetched("/monitors").value ?? [];
  return html`<${TitleFields} draft=${draft} change=${change} isNew=${isNew} placeholder="Disk full" />
    <div class="trial"><${ServerField} on=${on} hint="What you write is evaluated on its last sample." /></div>
    <${ExpressionField} label="Expression" name="expression" value=${draft.expression ?? ""} server=${on.server} onInput=${(/** @type {string} */ expression) => change({ expression })}
      placeholder="mounts.root.use >= 90" hint=${html`True while the server has this alert. <a href="/expressions">How to write expressions</a>`} />
    <${ExpressionField} isMessage label="Message" name="message" value=${draft.message ?? ""} server=${on.server} onInput=${(/** @type {string} */ message) => change({ message })}
      placeholder="The root file system is {{pct(mounts.root.use)}} full." hint=${html`Text, with expressions in <code>{{ }}</code>.`} />
    <${Outcome} draft=${draft} server=${on.server} />
    <div class="form-row">
      <${NumberField} label="Samples" name="samples" value=${draft.samples ?? 1} onInput=${(/** @type {any} */ samples) => change({ samples })} hint="So many minutes it must hold before the alert becomes active, and as many the other way before it is cleared." />
      <${Field} label="Marked on the plots of" name="monitor_id" value=${draft.monitor_id ?? ""} onInput=${(/** @type {string} */ monitor_id) => change({ monitor_id })}
        options=${[["", "no monitor"], ...monitors.map((/** @type {{record: {id: string, title: string}}} */ { record }) => [record.id, record.title])]} />
    </div>
    <${GroupField} chosen=${draft.groups ?? []} onChange=${(/** @type {string[]} */ groups) => change({ groups })} none="None selected: of all servers." some="Only of servers of these groups." />
    <${Toggle} label="Give the server no new jobs" checked=${draft.limit_jobs === true} onChange=${(/** @type {boolean} */ limit_jobs) => change({ limit_jobs })} hint="While the alert is active. Jobs wait, and say why." />
    <${Toggle} label="Abort its jobs" checked=${draft.abort_jobs === true} onChange=${(/** @type {boolean} */ abort_jobs) => change({ abort_jobs })} hint="When the alert becomes active." />
    <${NotesField} draft=${draft} change=${change} />
    <${EnabledField} draft=${draft} change=${change} hint="No server has the alert of a disabled definition." />
    <${AlertActions} actions=${draft.actions} onChange=${(/** @type {any} */ actions) => change({ actions })} isExclusive=${draft.exclusive_actions === true}
      onExclusive=${(/** @type {boolean} */ exclusive_actions) => change({ exclusive_actions })} />`;
}

/** What the definition would do with the last sample. @param {{draft: any, server: string}} props */
function Outcome({ draft, server }) {
  const { expression = "", message = "", samples, groups = [], monitor_id = "", enabled = true } = draft;
  const isReady = may("edit_alerts") && server !== "" && expression.trim() !== "";
  const definition = { id: draft.id || "test", expression, message, groups, monitor_id, enabled, ...(Number.isInteger(samples) ? { samples } : {}) };
  const { value: tried } = /** @type {{value: Tried | null}} */ (useTrial("/alert-definitions/test", isReady ? { server, definition } : null));
  if (!tried) return null;
  return html`<output class="trial-outcome">${tried.is_true ? html`<${State} state="warning" word="true now" />` : html`<${State} state="ok" word="not true now" />`}
    <span>${outcomeWords(tried)}</span></output>`;
}

/** @param {Tried} tried */
function outcomeWords({ is_true, count, samples, concerns_server, is_active, would_fire, would_clear }) {
  if (!concerns_server) return "This server is in none of the groups, so it never has the alert.";
  if (would_clear) return "The alert is active. The next sample like this clears it.";
  if (is_active) return is_true ? "The alert is active." : `The alert is active. ${count + 1} samples like this clear it.`;
  if (would_fire) return "The next sample like this makes the alert active.";
  if (is_true) return samples > 1 ? `${count} of ${samples} samples.` : "The definition is disabled.";
  return "A sample like this makes no alert.";
}
