/** What people do with a crawl: pause, resume, abort and forget it. */

import { html } from "htm/preact";
import { post } from "../../api.js";
import { confirm } from "../../kit/dialog.js";
import { Button } from "../../kit/form.js";
import { attempt, showToast } from "../../kit/toast.js";
import { may } from "../../session.js";
import { crawlPath, isOver } from "./words.js";

/** @typedef {import("./words.js").Crawl} Crawl */

/** @param {Crawl} row */
export const canPause = (row) => may("operate") && !isOver(row.state) && !row.is_aborting;

/** @param {Crawl} row @param {() => void} [after] */
export async function togglePause(row, after) {
  const isPaused = row.state === "paused";
  await attempt(() => post(`${crawlPath(row.id)}/${isPaused ? "resume" : "pause"}`), isPaused ? "Crawl resumed." : "Crawl paused.");
  after?.();
}

/** @param {Crawl} row @param {() => void} [after] */
export function abort(row, after) {
  const isWaiting = !row.pipeline;
  confirm({
    title: "Abort this crawl?",
    words: html`<p class="break">${row.url}</p><p>${isWaiting ? "It is removed from its queue and is not crawled." : "Its pipeline stops fetching and keeps what was fetched so far in WARC files."}</p>`,
    yes: "Abort crawl",
    async act() {
      await post(`${crawlPath(row.id)}/abort`);
      showToast(isWaiting ? "Crawl aborted." : "Abort requested.");
      after?.();
    },
  });
}

/** @param {Crawl} row @param {() => void} [after] */
export function expire(row, after) {
  confirm({
    title: "Allow this URL to be archived again?",
    words: html`<p>The record of this crawl is removed now. Its files and its entry in the history stay.</p>`,
    yes: "Allow",
    kind: "main",
    async act() {
      await post(`${crawlPath(row.id)}/expire`);
      showToast("The URL can be archived again.");
      after?.();
    },
  });
}

/** @param {{row: Crawl, small?: boolean, after?: () => void}} props */
export function Acts({ row, small = false, after }) {
  if (!canPause(row)) return null;
  return html`<${Button} small=${small} onClick=${() => togglePause(row, after)}>${row.state === "paused" ? "Resume" : "Pause"}<//>
    <${Button} small=${small} kind="danger" onClick=${() => abort(row, after)}>Abort<//>`;
}
