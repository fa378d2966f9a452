/** The file systems of a machine, and the people who are signed in. */

import { html } from "htm/preact";
import { Gauge } from "../../kit/gauge.js";
import { Card } from "../../kit/layout.js";
import { Table } from "../../kit/table.js";
import { When } from "../../kit/time.js";
import { bytes } from "../../words.js";
import { percent } from "../servers/words.js";

/**
 * @typedef {import("./sample.js").Sample} Sample
 * @typedef {import("./sample.js").User} User
 */

/** @type {import("../../kit/table.js").Column<User>[]} */
const USERS = [
  { head: "User", kind: "main", cell: (one) => one.user },
  { head: "Terminal", cell: (one) => html`<span class="mono">${one.tty || "–"}</span>` },
  { head: "From", cell: (one) => html`<span class="mono">${one.from || "–"}</span>` },
  { head: "Since", kind: "tight", cell: (one) => html`<${When} at=${one.since || null} none="–" />` },
];

/** @param {{sample: Sample}} props */
export function Mounts({ sample }) {
  const found = Object.values(sample.mounts).sort((a, b) => b.use - a.use || a.mount.localeCompare(b.mount));
  return html`<${Card} title="File systems">
    ${found.length === 0 ? html`<p class="soft">The sample lists no file systems.</p>` : html`<ul class="mounts">${found.map((one) => html`<li key=${one.mount}>
      <div class="mounts-name"><span class="mono">${one.mount}</span> <span class="soft">${one.type}${!one.rw && ", read-only"}</span></div>
      <${Gauge} label=${`Use of ${one.mount}`} part=${one.use / 100} words=${`${percent(one.use)}: ${bytes(one.used)} of ${bytes(one.size)}`} />
    </li>`)}</ul>`}
  <//>`;
}

/** @param {{sample: Sample}} props */
export function Users({ sample }) {
  return html`<${Card} flush title="Signed in">${sample.users.length === 0
    ? html`<p class="soft card-note">Nobody is signed in.</p>`
    : html`<${Table} columns=${USERS} rows=${sample.users.map((one, i) => ({ ...one, place: i }))} id=${(/** @type {User & {place: number}} */ one) => String(one.place)} label="Users who are signed in" keys=${false} />`}<//>`;
}
