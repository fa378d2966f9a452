/** One dashboard: its panels, and arranging them. */

import { html } from "htm/preact";
import { useRef, useState } from "preact/hooks";
import { ask, Problem, remove, useFetched } from "../api.js";
import { go, useQuery } from "../location.js";
import { may } from "../session.js";
import { confirm } from "../kit/dialog.js";
import { Copy } from "../kit/copy.js";
import { Button, Choice } from "../kit/form.js";
import { Card, Empty, Fetched, Page } from "../kit/layout.js";
import { withCode } from "../kit/text.js";
import { showToast } from "../kit/toast.js";
import { Arranging } from "./dashboards/arrange.js";
import { Panels } from "./dashboards/panels.js";
import { dashboardLink } from "./dashboards/words.js";
import { Revisions } from "./events/revisions.js";
import { SPANS } from "./monitors/words.js";

/**
 * @typedef {import("./dashboards/words.js").Dashboard} Known
 * @typedef {import("./dashboards/words.js").Monitor} Monitor
 * @typedef {import("./dashboards/words.js").Resolution} Resolution
 */

/** @type {[string, string][]} */
const CHOICES = [["", "As saved"], ...Object.entries(SPANS).map(([value, { words }]) => /** @type {[string, string]} */ ([value, words]))];
const ABOVE = html`<a href="/dashboards">Dashboards</a>`;

export default function Dashboard() {
  const [query] = useQuery();
  const id = query.get("id") ?? "";
  const fetched = useFetched(id ? `/dashboards/${encodeURIComponent(id)}` : null);
  const monitors = useFetched("/monitors", { every: 300 });
  const both = { ...fetched, value: fetched.value && monitors.value && { dashboard: fetched.value.record, monitors: monitors.value.map((/** @type {{record: Monitor}} */ one) => one.record) }, problem: fetched.problem ?? monitors.problem };
  // What others save meanwhile must not replace what is being arranged.
  const edited = useRef(/** @type {Known | null} */ (null));
  const isEdited = Boolean(query.get("edit")) && may("edit_dashboards");
  if (!isEdited || edited.current?.id !== id) edited.current = null;
  if (isEdited && !fetched.isLoading) edited.current ??= fetched.value?.record ?? null;
  if (!id) return html`<${Page} title="Dashboard" above=${ABOVE}><${Card}><${Empty} title="No dashboard selected." action=${html`<${Button} href="/dashboards">Show all dashboards<//>`} /><//><//>`;
  if (!both.value || (isEdited && !edited.current)) return html`<${Page} wide title="Dashboard" above=${ABOVE}><${Fetched} of=${{ ...both, value: null }} lines=${8} /><//>`;
  const given = { dashboard: /** @type {Known} */ (both.value.dashboard), monitors: /** @type {Monitor[]} */ (both.value.monitors) };
  if (query.get("history")) return html`<${History} dashboard=${given.dashboard} reload=${fetched.reload} />`;
  if (edited.current) return html`<${Arranged} key=${id} dashboard=${edited.current} monitors=${given.monitors} reload=${fetched.reload} />`;
  return html`<${Seen} ...${given} />`;
}

/** @param {{dashboard: Known, monitors: Monitor[]}} props */
function Seen({ dashboard, monitors }) {
  const [query, setQuery] = useQuery();
  const wanted = query.get("span") ?? "";
  const span = wanted in SPANS ? /** @type {Resolution} */ (wanted) : null;
  const { id, title, notes = "", panels = [] } = dashboard;
  const link = window.location.origin + dashboardLink(id, span ? { span } : {});
  const hasPlots = panels.some((one) => one.type === "plot");
  return html`<${Page} wide title=${title} above=${ABOVE} lead=${notes && withCode(notes)} actions=${html`
    ${hasPlots && html`<${Choice} label="Time range of plots" value=${span ?? ""} options=${CHOICES} onChange=${(/** @type {string} */ to) => setQuery({ span: to })} />`}
    <${Copy} text=${link} label="Copy link" />
    <${Button} href=${dashboardLink(id, { history: "yes" })}>History<//>
    ${may("edit_dashboards") && html`<${Button} href=${dashboardLink(id, { edit: "yes" })}>Edit<//>`}`}>
    ${panels.length === 0 && html`<${Card}><${Empty} title="No panels yet." action=${may("edit_dashboards") && html`<${Button} href=${dashboardLink(id, { edit: "yes" })}>Add panels<//>`} /><//>`}
    <${Panels} panels=${panels} monitors=${monitors} span=${span} />
  <//>`;
}

/** @param {{dashboard: Known, reload: () => void}} props */
function History({ dashboard, reload }) {
  const back = () => {
    reload();
    go(dashboardLink(dashboard.id));
  };
  return html`<${Page} title=${dashboard.title} above=${html`${ABOVE} · <a href=${dashboardLink(dashboard.id)}>${dashboard.title}</a>`} lead="Earlier versions. Each can be restored.">
    <${Revisions} path=${`/dashboards/${encodeURIComponent(dashboard.id)}`} current=${dashboard.revision} canRestore=${may("edit_dashboards")} onRestored=${back} />
  <//>`;
}

/** @param {{dashboard: Known, monitors: Monitor[], reload: () => void}} props */
function Arranged({ dashboard, monitors, reload }) {
  const [problem, setProblem] = useState(/** @type {Problem | null} */ (null));
  const { id } = dashboard;
  const path = `/dashboards/${encodeURIComponent(id)}`;
  const leave = (ask = true) => go(dashboardLink(id), { replace: true, ask });
  const save = async (/** @type {Partial<Known>} */ changes) => {
    setProblem(null);
    try {
      await ask("PUT", path, changes, { headers: { "if-match": `"${dashboard.revision}"` } });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      setProblem(error.status === 412 ? new Problem(412, "Somebody else changed this dashboard. Open it in another tab to see the changes, then edit it again.") : error);
      return;
    }
    showToast("Saved.");
    reload();
    leave(false);
  };
  const drop = () =>
    confirm({
      title: `Delete ${dashboard.title}?`,
      words: "The dashboard is deleted for everybody. Its history is kept for 90 days.",
      yes: "Delete",
      async act() {
        await remove(path);
        showToast(`${dashboard.title} deleted.`);
        go("/dashboards", { ask: false });
      },
    });
  return html`<${Arranging} dashboard=${dashboard} monitors=${monitors} problem=${problem} onSave=${save} onCancel=${() => leave()} onDelete=${may("delete_dashboards") ? drop : null} above=${ABOVE} />`;
}
