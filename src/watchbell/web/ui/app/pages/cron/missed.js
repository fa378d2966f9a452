/** Scheduled runs that did not happen, and why. */

import { html } from "htm/preact";
import { url, useList } from "../../api.js";
import { Card, Empty } from "../../kit/layout.js";
import { Listed } from "../../kit/table.js";
import { When } from "../../kit/time.js";
import { useChanges } from "./changes.js";
import { counted } from "../../words.js";
import { jobLink } from "./words.js";

/** @typedef {{job: string, first: number, last: number, count: number | null, reason: string, at: number}} Omission */

/** @param {{job?: string}} props of one job, or of all */
export function Missed({ job = "" }) {
  const list = useList(url("/cron/omissions", { job }));
  useChanges(list.reload, 1000);
  /** @type {import("../../kit/table.js").Column<Omission>[]} */
  const columns = [
    ...(job ? [] : [{ head: "Job", kind: /** @type {const} */ ("main"), cell: (/** @type {Omission} */ one) => html`<a href=${jobLink(one.job)}>${one.job}</a>` }]),
    { head: "Scheduled", cell: (one) => html`<${Due} one=${one} />` },
    { head: "Reason", cell: (one) => one.reason },
    { head: "Recorded", kind: "tight", cell: (one) => html`<${When} at=${one.at} />` },
  ];
  return html`<${Card} flush><${Listed} list=${list} columns=${columns} label="Missed runs"
    id=${(/** @type {Omission} */ one) => `${one.job} ${one.first} ${one.at}`}
    empty=${html`<${Empty} title="No missed runs.">Runs that were missed, or skipped because the previous run was still running, are listed here.<//>`} /><//>`;
}

/** @param {{one: Omission}} props */
function Due({ one }) {
  if (one.count === 1) return html`<${When} at=${one.first} as="short" />`;
  const many = one.count === null ? "many runs" : counted(one.count, "run");
  return html`${many} from <${When} at=${one.first} as="short" /> to <${When} at=${one.last} as="short" />`;
}
