/** The panels of a dashboard, side by side. */

import { html } from "htm/preact";
import { Content } from "./content.js";
import { BLANK, pageOf, titleOf } from "./words.js";

/**
 * @typedef {import("./words.js").Panel} Panel
 * @typedef {import("./words.js").Monitor} Monitor
 * @typedef {import("./words.js").Resolution} Resolution
 */

/** @param {{panels: Panel[], monitors: Monitor[], span: Resolution | null}} props */
export function Panels({ panels, monitors, span }) {
  return html`<div class="panels">${panels.map((panel, place) => html`<${PanelCard} key=${place} panel=${panel} monitors=${monitors} span=${span} />`)}</div>`;
}

/**
 * @param {{panel: Panel, monitors: Monitor[], span: Resolution | null, tools?: any, look?: string, place?: number, order?: number}} props
 *   `tools`: drawn beside the title
 */
export function PanelCard({ panel, monitors, span, tools, look = "", place, order }) {
  const { width = BLANK.width, height = BLANK.height } = panel;
  const title = titleOf(panel, monitors);
  const page = tools ? "" : pageOf(panel);
  const isBare = panel.type === "text" && !panel.title && !tools;
  return html`<section class=${`panel panel-${width} panel-${height} ${look}`} aria-label=${title} data-place=${place} style=${order === undefined ? undefined : { order }}>
    ${!isBare && html`<div class="panel-head"><h2 class="ellipsis" title=${title}>${page ? html`<a class="plot-title" href=${page}>${title}</a>` : title}</h2>${tools}</div>`}
    <div class="panel-body"><${Content} panel=${panel} monitors=${monitors} span=${span} /></div>
  </section>`;
}
