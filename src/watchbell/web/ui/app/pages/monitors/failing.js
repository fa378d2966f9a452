/** Monitors or alert definitions that could not be evaluated lately. */

import { html } from "htm/preact";
import { url, useFetched } from "../../api.js";
import { counted } from "../../words.js";
import { serverLink } from "../servers/words.js";

/** @param {{of: "monitors" | "alerts"}} props */
export function Failing({ of }) {
  const { value } = useFetched("/monitors/failures", { every: 30 });
  const found = /** @type {{id: string, at: number, server: string, hostname: string, reason: string}[]} */ (value?.[of] ?? []);
  if (found.length === 0) return null;
  const path = of === "monitors" ? "/monitors" : "/alert-definitions";
  return html`<div class="notice notice-warn failing" role="status"><details><summary>${counted(found.length, of === "monitors" ? "monitor" : "alert definition")} could not be evaluated in the last minutes</summary>
    <ul>${found.map((one) => html`<li key=${one.id}><a href=${url(path, { id: one.id })}>${one.id}</a>: ${one.reason} (on <a href=${serverLink(one.server)}>${one.hostname}</a>)</li>`)}</ul></details></div>`;
}
