/** The plot of a panel: a monitor of some servers. */

import { html } from "htm/preact";
import { url, useFetched } from "../../api.js";
import { Fetched } from "../../kit/layout.js";
import { byName, highestFirst, Lines } from "../monitors/lines.js";
import { BLANK, HEIGHTS } from "./words.js";

/**
 * @typedef {import("../monitors/lines.js").Now} Now
 * @typedef {import("../monitors/words.js").SeriesShown} SeriesShown
 */

const EVERY = 30;

/** @param {import("./content.js").Shown} props */
export function MonitorPlot({ panel, monitors, span }) {
  const monitor = monitors.find((one) => one.id === panel.monitor);
  const values = useFetched(monitor ? url("/servers/values", { group: panel.group }) : null, { every: EVERY });
  if (!monitor) return html`<p class="soft">The monitor ${panel.monitor} was deleted.</p>`;
  return html`<${Fetched} of=${values} lines=${4}>${(/** @type {Now[]} */ known) => html`<${Servers} panel=${panel} monitor=${monitor} known=${known} span=${span ?? panel.span ?? BLANK.span} />`}<//>`;
}

/** @param {{panel: import("./words.js").Panel, monitor: import("./words.js").Monitor, known: Now[], span: import("./words.js").Resolution}} props */
function Servers({ panel, monitor, known, span }) {
  const named = panel.servers ?? [];
  const found = named.length > 0 ? known.filter((one) => named.includes(one.server)) : highestFirst(known, monitor.id).filter((one) => monitor.id in one.values);
  const chosen = byName(found.slice(0, named.length || (panel.count ?? BLANK.count)));
  const ids = chosen.map((one) => one.server).sort();
  const fetched = useFetched(ids.length > 0 ? url("/series", { monitor: monitor.id, server: ids, resolution: span }) : null, { every: EVERY });
  if (ids.length === 0) return html`<p class="soft">No server has a value of this monitor.</p>`;
  return html`<${Fetched} of=${fetched} lines=${4}>${(/** @type {SeriesShown} */ shown) => html`<${Lines} monitor=${monitor} shown=${shown} chosen=${chosen} span=${span} height=${HEIGHTS[panel.height ?? BLANK.height]} />`}<//>`;
}
