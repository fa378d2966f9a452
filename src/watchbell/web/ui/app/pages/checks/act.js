/** What is done with many checks: asked first, with what it will concern. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { post, Problem } from "../../api.js";
import { Dialog } from "../../kit/dialog.js";
import { Field, Form } from "../../kit/form.js";
import { Failed, Loading } from "../../kit/layout.js";
import { Mark } from "../../kit/state.js";
import { attempt, say } from "../../kit/toast.js";
import { zone } from "../../times.js";

/**
 * @typedef {{checks: string[]} | {filter: Record<string, any>}} Targets
 * @typedef {{check: string, done: boolean, reason: string}} Item
 * @typedef {{count: number, done: number, dry_run: boolean, items: Item[]}} Acted
 * @typedef {"acknowledge" | "maintenance" | "end-maintenance" | "disable" | "enable" | "test-notifications"} Kind
 * @typedef {{title: string, short: string, yes: string, done: string, words: string, needs: "operate" | "write", kind?: "danger",
 *   fields: Record<string, string>}} Act `fields`: what is asked, with what stands there at first
 */

const LENGTHS = ["30 minutes", "1 hour", "2 hours", "4 hours", "8 hours", "1 day", "1 week"];
const NAMED = 8;

/** @type {Record<Kind, Act>} */
export const ACTS = {
  acknowledge: {
    title: "Acknowledge",
    short: "Acknowledge",
    yes: "Acknowledge",
    done: "acknowledged",
    words: "Nobody is told of these failures again until the time is over, or they recover.",
    needs: "operate",
    fields: { summary: "", duration: "4 hours" },
  },
  maintenance: {
    title: "Plan maintenance",
    short: "Maintenance",
    yes: "Plan it",
    done: "put into maintenance",
    words: "Nobody is told of failures of these checks while it lasts.",
    needs: "operate",
    fields: { start: "now", duration: "1 hour", summary: "" },
  },
  "end-maintenance": {
    title: "End maintenance",
    short: "End maintenance",
    yes: "End it",
    done: "taken out of maintenance",
    words: "Planned maintenance that is open ends now, and acknowledgements are taken back: whoever is to be told of a failure is told again.",
    needs: "operate",
    kind: "danger",
    fields: {},
  },
  disable: {
    title: "Disable",
    short: "Disable",
    yes: "Disable",
    done: "disabled",
    words: "Disabled checks are hidden, and nobody is told of them. Each comes back by itself when it reports again.",
    needs: "write",
    kind: "danger",
    fields: {},
  },
  enable: {
    title: "Enable",
    short: "Enable",
    yes: "Enable",
    done: "enabled",
    words: "They are shown again, as they were when they last reported.",
    needs: "write",
    fields: {},
  },
  "test-notifications": {
    title: "Test notifications",
    short: "Test",
    yes: "Send the test",
    done: "tested",
    words: "Everybody who would be told that these checks are critical gets a message that says it is a test.",
    needs: "operate",
    kind: "danger",
    fields: { summary: "Testing notifications to all contacts" },
  },
};

/**
 * @param {{kind: Kind, targets: Targets, board: import("./board.js").Board, onClose: () => void, onDone: () => void}} props
 */
export function ActDialog({ kind, targets, board, onClose, onDone }) {
  const act = ACTS[kind];
  const [given, setGiven] = useState(act.fields);
  const preview = usePreview(kind, targets);
  const submit = async () => {
    const acted = await post(`/checks/${kind}`, { ...targets, ...sent(kind, given) });
    tell(kind, acted);
    onDone();
  };
  const set = (/** @type {string} */ name) => (/** @type {string} */ value) => setGiven((old) => ({ ...old, [name]: value }));
  return html`<${Dialog} title=${act.title} onClose=${onClose}>
    <${Form} onSubmit=${submit} submit=${act.yes} kind=${act.kind ?? "main"} cancel=${onClose} disabled=${!preview.value || preview.value.done === 0}>
      <p>${act.words}</p>
      <${Preview} preview=${preview} board=${board} />
      ${"start" in given && html`<div class="form-row">
        <${Field} label="Begins" name="start" value=${given.start} onInput=${set("start")} hint="now, tomorrow 08:00, sat 22:00" />
        <${Field} label="Lasts" name="duration" value=${given.duration} onInput=${set("duration")} list=${LENGTHS} hint="90 minutes, 2 hours, 1 week" />
      </div>`}
      ${kind === "acknowledge" && html`<${Field} label="For" name="duration" value=${given.duration} onInput=${set("duration")} list=${LENGTHS} />`}
      ${"summary" in given && html`<${Field} label=${kind === "maintenance" ? "Why" : "Message"} name="summary" value=${given.summary} onInput=${set("summary")}
        placeholder=${kind === "acknowledge" ? "What you know, for the others" : ""} maxlength="1000" />`}
    <//>
  <//>`;
}

/** @param {Kind} kind @param {Record<string, string>} given */
function sent(kind, given) {
  return kind === "maintenance" ? { ...given, zone: zone() } : given;
}

/**
 * What it would be done for.
 * @param {Kind} kind @param {Targets} targets
 * @returns {{value: Acted | null, problem: Problem | null, reload: () => void}}
 */
function usePreview(kind, targets) {
  const [found, setFound] = useState(/** @type {{value: Acted | null, problem: Problem | null}} */ ({ value: null, problem: null }));
  const [asked, setAsked] = useState(0);
  useEffect(() => {
    let isThere = true;
    post(`/checks/${kind}`, { ...targets, ...sent(kind, ACTS[kind].fields), dry_run: true }).then(
      (value) => isThere && setFound({ value, problem: null }),
      (problem) => {
        if (!(problem instanceof Problem)) throw problem;
        if (isThere) setFound({ value: null, problem });
      },
    );
    return () => void (isThere = false);
  }, [kind, targets, asked]);
  return { ...found, reload: () => setAsked(asked + 1) };
}

/** @param {{preview: ReturnType<typeof usePreview>, board: import("./board.js").Board}} props */
function Preview({ preview, board }) {
  const { value, problem } = preview;
  if (problem) return html`<${Failed} problem=${problem} retry=${preview.reload} />`;
  if (!value) return html`<${Loading} lines=${2} />`;
  const meant = value.items.filter((item) => item.done);
  const more = value.done - Math.min(meant.length, NAMED);
  return html`<div class="checks-preview" aria-live="polite">
    <p><strong>${counted(value.done)}</strong>${value.done < value.count && ` of the ${value.count.toLocaleString("en")} chosen`}${value.done > 0 ? ":" : ""}</p>
    <ul>
      ${meant.slice(0, NAMED).map(({ check }) => html`<li><${Mark} state=${board.known.get(check)?.state ?? "none"} /> ${check}</li>`)}
      ${more > 0 && html`<li class="soft">and ${more.toLocaleString("en")} more</li>`}
    </ul>
    ${[...reasons(value.items)].map(([reason, count]) => html`<p class="soft">${count.toLocaleString("en")} not: ${reason}.</p>`)}
  </div>`;
}

/** @param {number} count */
function counted(count) {
  return count === 1 ? "1 check" : `${count.toLocaleString("en")} checks`;
}

/** Why it can't be done, and for how many. @param {Item[]} items */
function reasons(items) {
  /** @type {Map<string, number>} */
  const found = new Map();
  for (const { done, reason } of items) if (!done) found.set(reason, (found.get(reason) ?? 0) + 1);
  return found;
}

/** @param {Kind} kind @param {Acted} acted */
function tell(kind, acted) {
  const done = acted.items.filter((item) => item.done).map((item) => item.check);
  const undo = kind === "disable" && done.length > 0 && done.length <= 10_000;
  const back = () => attempt(() => post("/checks/enable", { checks: done }), `${counted(done.length)} enabled`);
  say(`${counted(acted.done)} ${ACTS[kind].done}`, undo ? { action: { words: "Undo", act: back } } : {});
}
