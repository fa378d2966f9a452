/** The list of all checks, live: filtered while typing, selected, and changed in bulk. */

import { html } from "htm/preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { url, useFetched } from "../api.js";
import { useKeys } from "../keys.js";
import { useLive } from "../live.js";
import { go, useQuery } from "../location.js";
import { counted } from "../words.js";
import { may } from "../session.js";
import { Command } from "../kit/copy.js";
import { Button } from "../kit/form.js";
import { Empty, Failed, Loading, Page } from "../kit/layout.js";
import { ActDialog, ACTS } from "./checks/act.js";
import { Bar } from "./checks/bar.js";
import { CheckTable } from "./checks/check_table.js";
import { asked, isNarrow, wanted } from "./checks/filter.js";
import { useMedia, VirtualList } from "../kit/virtual_list.js";
import { Head, Line } from "./checks/line.js";
import { useSelection } from "../kit/selection.js";

/** @typedef {import("./checks/act.js").Kind} Kind */

export default function Checks() {
  const [query, change] = useQuery();
  const by = useMemo(() => wanted(query), [query]);
  const isSmall = useMedia("(max-width: 40rem)");
  const { table, redraw, problem, reload } = useChecks(by);
  const [isOver, setIsOver] = useState(false);
  const [isAtTop, setIsAtTop] = useState(true);
  const [hasFocus, setHasFocus] = useState(false);
  const [doing, setDoing] = useState(/** @type {{kind: Kind, targets: import("./checks/act.js").Targets} | null} */ (null));
  const rows = table?.shown ?? NONE;
  const selection = useSelection(rows);

  const isHeld = isOver || !isAtTop || (hasFocus && selection.current >= 0) || selection.ids.size > 0 || doing !== null;
  useLayoutEffect(() => {
    if (table?.hold(isHeld)) redraw();
  }, [table, isHeld]);

  const sight = JSON.stringify(asked(by, { withStates: true }));
  useLayoutEffect(selection.clear, [sight]);

  const begin = useCallback((/** @type {Kind} */ kind) => {
    if (!may(ACTS[kind].needs)) return;
    const targets = selection.isAll ? { filter: asked(by, { withStates: true }) } : { checks: selection.targets() };
    if ("filter" in targets || targets.checks.length > 0) setDoing({ kind, targets });
  }, [by, selection]);
  useKeys("Checks", [
    ["j", "next check", () => selection.move(1)],
    ["k", "previous check", () => selection.move(-1)],
    ["ArrowDown", "next check", () => selection.move(1)],
    ["ArrowUp", "previous check", () => selection.move(-1)],
    ["Enter", "open the check", () => selection.currentId && go(url("/check", { id: selection.currentId }))],
    ["x", "select the check", () => selection.toggle(selection.current, false)],
    ["Shift+X", "select all up to the check", () => selection.toggle(selection.current, true)],
    ["Escape", "clear the selection", selection.clear],
    [".", "show pending changes", () => table?.settle() && redraw()],
    ...(may("operate") ? /** @type {import("../keys.js").Binding[]} */ ([
      ["a", "acknowledge", () => begin("acknowledge")],
      ["m", "schedule maintenance", () => begin("maintenance")],
    ]) : []),
  ]);

  const draw = (/** @type {import("./checks/rows.js").Row} */ row, /** @type {number} */ index) => html`<${Line} key=${row.id} row=${row} index=${index}
    isSelected=${selection.ids.has(row.id)} isCurrent=${index === selection.current} select=${selection.toggle} />`;
  return html`<${Page} title="Checks" wide lead=${table && html`<${Lead} table=${table} rows=${rows.length} settle=${() => table.settle() && redraw()} />`}>
    <div class="checks">
      <${Bar} by=${by} change=${change} table=${table} isSmall=${isSmall} />
      ${problem && html`<${Failed} problem=${problem} retry=${reload} />`}
      ${!table && !problem && html`<div class="card"><${Loading} lines=${12} /></div>`}
      ${table && rows.length === 0 && html`<div class="card"><${Nothing} table=${table} isNarrow=${isNarrow(by)} clear=${() => go("/checks")} /></div>`}
      ${table && rows.length > 0 && html`<div class="checks-list card card-flush">
        <${VirtualList} rows=${rows} height=${isSmall ? 58 : 34} id=${(/** @type {any} */ row) => row.id} draw=${draw} label="Checks" current=${selection.current}
          onHover=${setIsOver} onScroll=${setIsAtTop} onFocus=${setHasFocus}>
          <${Head} by=${by} change=${change} isAll=${selection.isAll} all=${selection.all} clear=${selection.clear} />
        <//>
        ${selection.ids.size > 0 && html`<${Actions} selection=${selection} total=${rows.length} begin=${begin} by=${by} />`}
      </div>`}
    </div>
    ${doing && table && html`<${ActDialog} ...${doing} held=${() => table.acknowledged()} stateOf=${(/** @type {string} */ check) => table.known.get(check)?.state}
      onClose=${() => setDoing(null)} onDone=${selection.clear} />`}
  <//>`;
}

/** @type {import("./checks/rows.js").Row[]} */
const NONE = [];

/** Changes are drawn together after this time, so that a busy page stays calm. */
const DRAWN_MS = 400;

/**
 * The checks of the server, kept current. All of them, as long as there are not too many: then what
 * is typed is found at once. Else those that are wanted.
 * @param {import("./checks/filter.js").Wanted} by
 */
function useChecks(by) {
  const [isWhole, setIsWhole] = useState(true);
  const words = isWhole ? { enabled: "any" } : texts(asked(by, { withStates: false }));
  const path = url("/checks/board", words);
  const { value, problem, reload } = useFetched(path);
  const [redraw, redrawSoon] = useRedraw();

  const last = useRef(/** @type {CheckTable | null} */ (null));
  const table = useMemo(() => {
    if (value === null) return last.current;
    const found = new CheckTable(value, by);
    found.isHeld = last.current?.isHeld ?? false;
    return (last.current = found);
  }, [value]);
  useMemo(() => table && table.wanted !== by && table.filter(by), [table, by]);
  useEffect(() => {
    if (isWhole && table && !table.isComplete) setIsWhole(false);
  }, [table]);

  const live = value && url("/checks/live", { ...words, resume: value.moment });
  useLive(live, {
    changed: (update) => {
      last.current?.apply(update, performance.now());
      redrawSoon();
    },
    reset: reload,
  });
  return { table, redraw, problem: table ? null : problem, reload };
}

/**
 * Draws again: at once, or soon together with what else comes meanwhile.
 * @returns {[now: () => void, soon: () => void]}
 */
function useRedraw() {
  const [, draw] = useState(0);
  const timer = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined));
  const now = useCallback(() => draw((count) => count + 1), []);
  const soon = useCallback(() => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      requestAnimationFrame(now);
    }, DRAWN_MS);
  }, []);
  useEffect(() => () => clearTimeout(timer.current), []);
  return [now, soon];
}

/** @param {Record<string, any>} words in which no is a word, too */
function texts(words) {
  return Object.fromEntries(Object.entries(words).map(([name, value]) => [name, typeof value === "boolean" ? String(value) : value]));
}

/** @param {{table: CheckTable, rows: number, settle: () => void}} props */
function Lead({ table, rows, settle }) {
  const all = table.isComplete ? table.known.size : table.total;
  const shown = rows === all ? "" : `${rows.toLocaleString("en")} of `;
  const waiting = table.pending.size;
  return html`<span class="checks-lead">${shown}${counted(all, "check")}
    ${!table.isComplete && html` <span class="soft">· showing the worst ${table.known.size.toLocaleString("en")}; use filters to see others</span>`}
    <span class="checks-waiting" role="status">${waiting > 0 && html` · ${counted(waiting, "change")} <button type="button" class="checks-show" onClick=${settle}>Show</button>`}</span></span>`;
}

/** @param {{table: CheckTable, isNarrow: boolean, clear: () => void}} props */
function Nothing({ table, isNarrow: isFiltered, clear }) {
  if (isFiltered && table.known.size > 0) {
    return html`<${Empty} title="No checks match these filters." action=${html`<${Button} onClick=${clear}>Clear filters<//>`} />`;
  }
  return html`<${Empty} title="No checks yet.">
    <p>A check appears here with its first report. Try it:</p>
    <${Command} text='watchbell event web-1 HTTP ok "200 OK in 12 ms"' />
  <//>`;
}

/**
 * Actions for the selected checks.
 * @param {{selection: ReturnType<typeof useSelection>, total: number, begin: (kind: Kind) => void, by: import("./checks/filter.js").Wanted}} props
 */
function Actions({ selection, total, begin, by }) {
  /** @type {Kind[]} */
  const kinds = by.show === "disabled" ? ["enable"] : ["acknowledge", "maintenance", "end-maintenance", "disable", "test-notifications"];
  return html`<div class="checks-actions" role="toolbar" aria-label="Actions for the selected checks">
    <span class="checks-selected-count" role="status">${selection.ids.size.toLocaleString("en")} selected</span>
    ${!selection.isAll && selection.ids.size < total && html`<${Button} small kind="quiet" onClick=${selection.all}>Select all ${total.toLocaleString("en")}<//>`}
    ${kinds.filter((kind) => may(ACTS[kind].needs)).map((kind) => html`<${Button} small onClick=${() => begin(kind)}>${ACTS[kind].short}<//>`)}
    <${Button} small kind="quiet" onClick=${selection.clear} label="Clear selection">✕<//>
  </div>`;
}
