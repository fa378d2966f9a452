/** The output of jobs: where it is read, and that of one job among others. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { get, url } from "../../api.js";
import { useLive } from "../../live.js";
import { Output } from "../../runs/output.js";

/** @param {string} id @returns {import("../../runs/output.js").Source} */
export function outputOf(id) {
  const path = `/jobs/${encodeURIComponent(id)}`;
  return {
    id,
    load: (where) => get(url(`${path}/output`, where)),
    search: (query) => get(url(`${path}/search`, query)),
    download: `/api/v1${path}/download`,
  };
}

/** @param {{id: string, isLive: boolean}} props */
export function JobOutput({ id, isLive }) {
  const source = useMemo(() => outputOf(id), [id]);
  const [news, setNews] = useState(/** @type {any} */ (null));
  useLive(isLive ? `/jobs/${encodeURIComponent(id)}/live` : null, { lines: setNews });
  return html`<${Output} source=${source} isLive=${isLive} news=${news} tail="" />`;
}
