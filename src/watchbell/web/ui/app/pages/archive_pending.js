/** Crawls that wait, queue by queue, in the order in which they are taken. */

import { html } from "htm/preact";
import { post, useFetched } from "../api.js";
import { useLive } from "../live.js";
import { may } from "../session.js";
import { counted } from "../words.js";
import { Button } from "../kit/form.js";
import { Card, Empty, Fetched, Page } from "../kit/layout.js";
import { Table } from "../kit/table.js";
import { Since } from "../kit/time.js";
import { attempt } from "../kit/toast.js";
import { abort } from "./archive/acts.js";
import { ArchiveNav } from "./archive/nav.js";
import { crawlLink, crawlPath, kindOf, Standing } from "./archive/words.js";

/** @typedef {import("./archive/words.js").Crawl} Crawl */
/** @typedef {{name: string, words: string, total: number, crawls: Crawl[]}} Queue */

export default function Pending() {
  const fetched = useFetched("/archive/queues");
  useLive("/live?topics=archive", { archive: fetched.reload, reset: fetched.reload });
  const queues = /** @type {Queue[]} */ (fetched.value?.items ?? []).filter((one) => one.total > 0);
  const total = queues.reduce((sum, one) => sum + one.total, 0);
  return html`<${Page} wide title="Pending crawls" lead=${fetched.value && counted(total, "crawl")}>
    <${ArchiveNav} />
    <${Fetched} of=${fetched} lines=${6}>${() =>
      total === 0
        ? html`<${Card}><${Empty} title="No crawls are waiting." action=${html`<${Button} href="/archive">Show all crawls<//>`}>New crawls wait here until a pipeline takes them.<//><//>`
        : queues.map((queue) => html`<${Waiting} key=${queue.name} queue=${queue} reload=${fetched.reload} />`)}<//>
  <//>`;
}

/** @param {{queue: Queue, reload: () => void}} props */
function Waiting({ queue, reload }) {
  const move = (/** @type {Crawl} */ row, /** @type {"front" | "back"} */ where) => async () => {
    await attempt(() => post(`${crawlPath(row.id)}/move`, { where }), where === "front" ? "It is the next one now." : "It is the last one now.");
    reload();
  };
  const places = new Map(queue.crawls.map((row, i) => [row.id, i + 1]));
  /** @type {import("../kit/table.js").Column<Crawl>[]} */
  const columns = [
    { head: "Place", kind: "tight", cell: (row) => places.get(row.id) },
    { head: "Crawl", kind: "main", cell: (row) => html`<div class="break"><a href=${crawlLink(row.id)}>${row.url}</a><div class="soft plain">${[kindOf(row), row.started_by && `by ${row.started_by}`, row.note, row.reason].filter(Boolean).join(" · ")}</div></div>` },
    { head: "State", kind: "tight", cell: (row) => html`<${Standing} row=${row} />` },
    { head: "Waiting for", kind: "tight", cell: (row) => html`<${Since} since=${row.queued_at && Math.floor(row.queued_at)} />` },
    ...(may("operate") ? [/** @type {import("../kit/table.js").Column<Crawl>} */ ({ head: "", kind: "actions", cell: (row) => html`<div class="actions crawl-acts">
      <${Button} small disabled=${places.get(row.id) === 1} label=${`Move ${row.url} to the front`} onClick=${move(row, "front")}>To the front<//>
      <${Button} small disabled=${places.get(row.id) === queue.total} label=${`Move ${row.url} to the back`} onClick=${move(row, "back")}>To the back<//>
      <${Button} small kind="danger" label=${`Remove ${row.url}`} onClick=${() => abort(row, reload)}>Remove<//></div>` })] : []),
  ];
  return html`<${Card} flush title=${html`<code>${queue.name}</code> <span class="soft plain">${counted(queue.total, "crawl")}</span>`}>
    <p class="soft queue-words card-note">${queue.words}</p>
    <${Table} columns=${columns} rows=${queue.crawls} id=${(/** @type {Crawl} */ row) => row.id} to=${(/** @type {Crawl} */ row) => crawlLink(row.id)} label=${`Crawls in ${queue.name}`} />
    ${queue.total > queue.crawls.length && html`<div class="more soft">and ${(queue.total - queue.crawls.length).toLocaleString("en")} more</div>`}
  <//>`;
}
