/** Snapshots of servers and groups, and what is watched. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { post, put, remove, url, useFetched, useInterval, useList } from "../api.js";
import { go, useQuery } from "../location.js";
import { may } from "../session.js";
import { counted } from "../words.js";
import { confirm, Dialog } from "../kit/dialog.js";
import { Button, Choice, Field, Form } from "../kit/form.js";
import { Card, Empty, Page } from "../kit/layout.js";
import { Listed } from "../kit/table.js";
import { When } from "../kit/time.js";
import { attempt, showToast } from "../kit/toast.js";
import { groupTitle, nameOf, serverLink } from "./servers/words.js";
import { PERIODS } from "./snapshots/acts.js";
import { snapshotLink, subjectOf, Taken } from "./snapshots/words.js";

/**
 * @typedef {import("./snapshots/words.js").Head} Head
 * @typedef {import("./snapshots/acts.js").Watch} Watch
 * @typedef {import("./servers/words.js").Group} Group
 */

const EVERY = 15;

export default function Snapshots() {
  const [query, setQuery] = useQuery();
  const [isTaking, setIsTaking] = useState(false);
  const [selected, setSelected] = useState(/** @type {Set<string>} */ (new Set()));
  const given = (/** @type {string} */ name) => query.get(name) ?? "";
  const wanted = { server: given("server"), group: given("group"), source: given("source") };
  const list = useList(url("/snapshots", wanted));
  useInterval(list.reload, list.hasMore ? 0 : EVERY);
  const groups = useFetched("/groups", { every: 60 }).value?.items;
  const known = [...selected].filter((id) => list.items.some((/** @type {Head} */ one) => one.id === id));
  const take = may("create_snapshots") && html`<${Button} kind="main" onClick=${() => setIsTaking(true)}>Take snapshot<//>`;
  const drop = () =>
    confirm({
      title: `Delete ${counted(known.length, "snapshot")}?`,
      words: "They can't be restored.",
      yes: "Delete",
      async act() {
        for (const id of known) await remove(`/snapshots/${encodeURIComponent(id)}`);
        showToast(`${counted(known.length, "snapshot")} deleted.`);
        setSelected(new Set());
        list.reload();
      },
    });
  const isFiltered = Object.values(wanted).some(Boolean);
  return html`<${Page} wide title="Snapshots" lead="Everything that a server was doing at one time." actions=${take}>
    <${Watches} stamp=${isTaking} />
    <div class="bar-of">
      <${Choice} label="Filter by who took it" value=${wanted.source} options=${[["", "All"], ["user", "People"], ["watch", "Watches"], ["alert", "Server alerts"], ["job", "Jobs"]]} onChange=${(/** @type {string} */ source) => setQuery({ source })} />
      ${wanted.server && html`<${Button} small onClick=${() => setQuery({ server: null })} label="Remove the filter by server">Of one server ✕<//>`}
      ${wanted.group && html`<${Button} small onClick=${() => setQuery({ group: null })} label="Remove the filter by group">Of ${groupTitle(groups, wanted.group)} ✕<//>`}
      ${known.length > 0 && html`<span class="actions"><${Button} small disabled=${known.length !== 2} href=${known.length === 2 ? url("/snapshots/compare", { before: known[0] ?? "", after: known[1] ?? "" }) : undefined}
          title="Select two snapshots">Compare<//>
        ${may("delete_snapshots") && html`<${Button} small kind="danger" onClick=${drop}>Delete<//>`}
        <${Button} small kind="quiet" onClick=${() => setSelected(new Set())}>Clear selection<//></span>`}
    </div>
    <${Card} flush><${Listed} list=${list} columns=${columns(groups)} id=${(/** @type {Head} */ one) => one.id} to=${(/** @type {Head} */ one) => snapshotLink(one.id)} label="Snapshots" selected=${selected} onSelect=${setSelected}
      empty=${isFiltered
        ? html`<${Empty} title="No snapshots match these filters." action=${html`<${Button} onClick=${() => setQuery({ server: null, group: null, source: null })}>Clear filters<//>`} />`
        : html`<${Empty} title="No snapshots yet." action=${take}>A snapshot keeps the processes, connections, file systems and the last minute of a server.<//>`} /><//>
    ${isTaking && html`<${TakeDialog} groups=${groups ?? []} onClose=${() => setIsTaking(false)} />`}
  <//>`;
}

/** @param {Group[] | undefined} groups @returns {import("../kit/table.js").Column<Head>[]} */
const columns = (groups) => [
  { head: "Of", kind: "main", cell: (one) => html`<a href=${snapshotLink(one.id)}>${subjectOf(one, groups)}</a>${one.type === "group" && html` <span class="soft">${counted(one.servers ?? 1, "server")}</span>`}` },
  { head: "Taken", kind: "tight", cell: (one) => html`<${When} at=${one.date} as="short" />` },
  { head: "By", cell: (one) => html`<${Taken} head=${one} />` },
  { head: "Alerts", kind: "number", cell: (one) => (one.alerts?.length ? html`<span class="bad">${one.alerts.length}</span>` : html`<span class="soft">–</span>`) },
  { head: "Jobs", kind: "number", cell: (one) => one.jobs?.length || html`<span class="soft">–</span>` },
];

/** @param {{stamp: unknown}} props `stamp`: changes when there may be another one */
function Watches({ stamp }) {
  const fetched = useFetched("/watches", { every: EVERY });
  useEffect(fetched.reload, [stamp]);
  const found = /** @type {Watch[]} */ (fetched.value ?? []);
  if (found.length === 0) return null;
  const end = async (/** @type {Watch} */ one) => {
    await attempt(() => remove(`/${one.type}s/${encodeURIComponent(one.target)}/watch`), `No longer watching ${one.name}.`);
    fetched.reload();
  };
  return html`${found.map((one) => html`<div class="notice notice-wide" role="status" key=${`${one.type} ${one.target}`}>
    <span>Watching ${one.type === "server" ? html`<a href=${serverLink(one.target)}>${one.name}</a>` : `the group ${one.name}`} until <${When} at=${one.until} as="short" />${one.username && `, for ${one.username}`}: a snapshot is taken each minute.</span>
    ${may("create_snapshots") && html`<${Button} small onClick=${() => end(one)} label=${`End the watch of ${one.name}`}>End watch<//>`}</div>`)}`;
}

/** @param {{groups: Group[], onClose: () => void}} props */
function TakeDialog({ groups, onClose }) {
  const servers = /** @type {import("./servers/words.js").Row[] | null} */ (useFetched("/servers?limit=500").value?.items ?? null);
  const [target, setTarget] = useState("");
  const [seconds, setSeconds] = useState("");
  const options = [...(servers ?? []).filter((one) => one.seen !== null).map((one) => [`servers/${encodeURIComponent(one.id)}`, nameOf(one)]), ...groups.filter((one) => one.online > 0).map((one) => [`groups/${encodeURIComponent(one.id)}`, `Group ${one.title}`])];
  const chosen = target || options[0]?.[0] || "";
  const take = async () => {
    if (seconds === "") {
      const { id } = await post(`/${chosen}/snapshots`);
      go(snapshotLink(id));
    } else {
      const { name } = await put(`/${chosen}/watch`, { seconds: Number(seconds) });
      showToast(`Watching ${name}: a snapshot is taken each minute.`);
      onClose();
    }
  };
  return html`<${Dialog} title="Take snapshot" onClose=${onClose}>
    <${Form} onSubmit=${take} submit=${seconds ? "Watch" : "Take snapshot"} cancel=${onClose} disabled=${chosen === ""}>
      ${servers !== null && options.length === 0 ? html`<p>No server has connected yet.</p>` : html`<${Field} label="Of" name="target" value=${chosen} onInput=${setTarget} options=${options} hint="A group's snapshot shows all its servers that are up, or were within an hour." />`}
      <${Field} label="How often" name="seconds" value=${seconds} onInput=${setSeconds} options=${[["", "Once, now"], ...PERIODS.map(([period, words]) => [period, `Each minute for ${words}`])]} />
    <//>
  <//>`;
}
