/** The machine of a server, as its agent describes it. */

import { html } from "htm/preact";
import { url } from "../../api.js";
import { Card, Facts } from "../../kit/layout.js";
import { Chip } from "../../kit/state.js";
import { When } from "../../kit/time.js";
import { bytes, counted } from "../../words.js";
import { groupTitle } from "../servers/words.js";

/** @param {{shown: import("../servers/words.js").Shown, groups: import("../servers/words.js").Group[] | undefined}} props */
export function Machine({ shown, groups }) {
  const { row, info, notes, userData } = shown;
  const cores = Number(info.cpu?.cores) || 0;
  const system = [info.os?.distro, info.os?.release].filter(Boolean).join(" ") || info.platform;
  const kernel = info.os?.kernel || info.release;
  const total = Number(info.memory?.total) || row.memory_total;
  return html`<${Card} title="Machine"><${Facts} rows=${[
    ["Hostname", html`<span class="mono">${row.hostname}</span>`],
    row.ip !== "" && ["Address", html`<span class="mono">${row.ip}</span>`],
    ["Groups", html`<span class="chips">${row.groups.map((id) => html`<${Chip} href=${url("/servers", { group: id })}>${groupTitle(groups, id)}<//>`)}</span><span class="soft">${shown.autoGroup ? "by hostname" : "by hand"}</span>`],
    ["Slots", html`${row.slots} <span class="soft">${slotsWords(shown, groups)}</span>`],
    ["System", html`${system || "unknown"}${kernel && html` <span class="soft">kernel ${kernel}</span>`}`],
    ["CPU", html`${info.cpu?.brand || info.arch || "unknown"} <span class="soft">${[cores && counted(cores, "core"), info.arch].filter(Boolean).join(", ")}</span>`],
    total ? ["Memory", bytes(total)] : null,
    info.virt ? ["Virtualization", info.virt] : null,
    info.booted ? ["Booted", html`<${When} at=${info.booted} />`] : null,
    ["Agent", html`${info.agent || "unknown"}${info.python && html` <span class="soft">Python ${info.python}</span>`}`],
    ["Joined", html`<${When} at=${shown.created} as="short" />`],
    notes !== "" && ["Notes", html`<span class="notes">${notes}</span>`],
    Object.keys(userData).length > 0 && ["User data", html`<pre class="json">${JSON.stringify(userData, null, 2)}</pre>`],
  ]} /><//>`;
}

/** Where the number of slots comes from. @param {import("../servers/words.js").Shown} shown @param {import("../servers/words.js").Group[] | undefined} groups */
export function slotsWords({ row, maxJobs, info }, groups) {
  if (maxJobs !== null) return "set for this server";
  const limiting = (groups ?? []).filter((one) => row.groups.includes(one.id) && one.max_jobs_per_server !== null);
  if (limiting.length > 0) return `set by ${limiting.map((one) => one.title).join(", ")}`;
  return info.slots ? "set by its agent" : "four for each core";
}
