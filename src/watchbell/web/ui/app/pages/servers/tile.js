/** A tile of the fleet: a server with its health, load and jobs. */

import { html } from "htm/preact";
import { Component } from "preact";
import { counted } from "../../words.js";
import { State } from "../../kit/state.js";
import { nameOf, percent, serverLink } from "./words.js";

/** @typedef {import("./words.js").Row} Row */

/** Drawn again only when its row has changed: hundreds of them are live. @extends {Component<{row: Row}>} */
export class Tile extends Component {
  /** @param {{row: Row}} next */
  shouldComponentUpdate(next) {
    return next.row !== this.props.row;
  }

  render() {
    const { row } = this.props;
    const [state, word] = healthOf(row);
    const memory = row.memory === null || !row.memory_total ? null : row.memory / row.memory_total;
    return html`<li><a class=${`fleet-tile fleet-${state}`} href=${serverLink(row.id)}>
      <span class="fleet-name ellipsis" title=${nameOf(row)}>${nameOf(row)}</span>
      <${State} state=${state} word=${word} />
      <${Bar} label="CPU" part=${row.cpu === null ? null : row.cpu / 100} />
      <${Bar} label="Memory" part=${memory} />
      <span class="fleet-facts"><span>load ${row.load === null ? "–" : row.load.toFixed(2)}</span><span>${counted(row.jobs, "job")}</span></span>
    </a></li>`;
  }
}

/** @param {Row} row @returns {[state: string, word: string]} */
function healthOf(row) {
  if (row.state === "offline") return ["critical", row.alerts > 0 ? `down, ${counted(row.alerts, "alert")}` : "down"];
  if (row.alerts > 0) return ["warning", counted(row.alerts, "alert")];
  return row.state === "disabled" ? ["disabled", "disabled"] : ["ok", "up"];
}

/** @param {{label: string, part: number | null}} props */
function Bar({ label, part }) {
  const used = part === null ? 0 : Math.min(Math.max(part, 0), 1);
  return html`<span class="fleet-bar"><span class="soft">${label}</span>
    <span class="fleet-track" aria-hidden="true"><i class=${used < 0.8 ? "" : used < 0.95 ? "fleet-high" : "fleet-full"} style=${{ transform: `scaleX(${used.toFixed(3)})` }}></i></span>
    <span class="number">${part === null ? "–" : percent(used * 100)}</span></span>`;
}
