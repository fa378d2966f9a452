/** Actions on one or many checks, each with a dialog that previews its effect. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { post, Problem } from "../../api.js";
import { Dialog } from "../../kit/dialog.js";
import { Field, Form } from "../../kit/form.js";
import { Failed, Loading } from "../../kit/layout.js";
import { Mark } from "../../kit/state.js";
import { MomentField } from "../../kit/moment.js";
import { zone } from "../../times.js";
import { counted } from "../../words.js";
import { sayActed } from "./undo.js";

/**
 * @typedef {{checks: string[]} | {filter: Record<string, any>}} Targets
 * @typedef {{check: string, done: boolean, reason: string}} Item
 * @typedef {{count: number, done: number, dry_run: boolean, items: Item[], window: string}} Acted
 * @typedef {"acknowledge" | "maintenance" | "end-maintenance" | "disable" | "enable" | "test-notifications"} Kind
 * @typedef {{title: string, short: string, yes: string, done: string, words: string, needs: "operate" | "write", kind?: "danger",
 *   fields: Record<string, string>}} Act `fields`: the form's fields with their initial values
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
    words: "No more alerts until this time is over or the check recovers.",
    needs: "operate",
    fields: { summary: "", duration: "4 hours" },
  },
  maintenance: {
    title: "Schedule maintenance",
    short: "Maintenance",
    yes: "Schedule",
    done: "put into maintenance",
    words: "No alerts about failures while it lasts. They are still recorded.",
    needs: "operate",
    fields: { start: "now", duration: "1 hour", summary: "" },
  },
  "end-maintenance": {
    title: "End maintenance",
    short: "End maintenance",
    yes: "End maintenance",
    done: "taken out of maintenance",
    words: "Scheduled maintenance and acknowledgements end now. Failures trigger alerts again.",
    needs: "operate",
    kind: "danger",
    fields: {},
  },
  disable: {
    title: "Disable",
    short: "Disable",
    yes: "Disable",
    done: "disabled",
    words: "Disabled checks are hidden and send no alerts. Each comes back when it reports again.",
    needs: "write",
    kind: "danger",
    fields: {},
  },
  enable: {
    title: "Enable",
    short: "Enable",
    yes: "Enable",
    done: "enabled",
    words: "The checks are listed again with their last reported state.",
    needs: "write",
    fields: {},
  },
  "test-notifications": {
    title: "Test notifications",
    short: "Test",
    yes: "Send test",
    done: "tested",
    words: "Everyone who would be alerted if these checks were critical gets a test message.",
    needs: "operate",
    kind: "danger",
    fields: { summary: "Testing notifications to all contacts" },
  },
};

/**
 * @param {{kind: Kind, targets: Targets, onClose: () => void, onDone: () => void, held?: () => Set<string>,
 *   stateOf?: (check: string) => string | undefined}} props
 *   `held`: checks that are already acknowledged; `onDone`: called after the action and after its undo
 */
export function ActDialog({ kind, targets, onClose, onDone, held, stateOf }) {
  const act = ACTS[kind];
  const [given, setGiven] = useState(act.fields);
  const preview = usePreview(kind, targets);
  const submit = async () => {
    const before = held?.() ?? new Set();
    /** @type {Acted} */
    const acted = await post(`/checks/${kind}`, { ...targets, ...sent(kind, given) });
    if (acted.done === 0) throw new Problem(422, acted.items[0]?.reason || "No checks were changed.");
    sayActed(kind, `${counted(acted.done, "check")} ${act.done}.`, acted, { held: before, after: onDone });
    onDone();
    onClose();
  };
  const set = (/** @type {string} */ name) => (/** @type {string} */ value) => setGiven((old) => ({ ...old, [name]: value }));
  const field = (/** @type {string} */ name) => ({ name, value: given[name] ?? "", onInput: set(name) });
  // Acknowledging may start at once; other actions wait for the preview.
  const isReady = preview.value ? preview.value.done > 0 : kind === "acknowledge";
  return html`<${Dialog} title=${act.title} onClose=${onClose}>
    <${Form} onSubmit=${submit} submit=${act.yes} kind=${act.kind ?? "main"} cancel=${onClose} disabled=${!isReady}>
      ${kind === "acknowledge" && html`<${Field} label="Comment" ...${field("summary")} placeholder="I am on it" maxlength="1000" autofocus />
        <${Field} label="Duration" ...${field("duration")} list=${LENGTHS} />`}
      <p class="soft">${act.words}</p>
      <${Preview} preview=${preview} stateOf=${stateOf} />
      ${kind === "maintenance" && html`<div class="form-row">
        <${MomentField} label="Start" ...${field("start")} hint="For example now, tomorrow 08:00 or 24 nov 22:00" />
        <${Field} label="Duration" ...${field("duration")} list=${LENGTHS} hint="For example 90 minutes, 2 hours or 1 week" />
      </div>
      <${Field} label="Reason" ...${field("summary")} placeholder="New disks" maxlength="1000" />`}
      ${kind === "test-notifications" && html`<${Field} label="Message" ...${field("summary")} maxlength="1000" />`}
    <//>
  <//>`;
}

/** @param {Kind} kind @param {Record<string, string>} given */
function sent(kind, given) {
  return kind === "maintenance" ? { ...given, zone: zone() } : given;
}

/**
 * The checks that the action would change.
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

/** @param {{preview: ReturnType<typeof usePreview>, stateOf: ((check: string) => string | undefined) | undefined}} props */
function Preview({ preview, stateOf }) {
  const { value, problem } = preview;
  if (problem) return html`<${Failed} problem=${problem} retry=${preview.reload} />`;
  if (!value) return html`<${Loading} lines=${2} />`;
  const affected = value.items.filter((item) => item.done);
  const more = value.done - Math.min(affected.length, NAMED);
  return html`<div class="checks-preview" aria-live="polite">
    <p><strong>${counted(value.done, "check")}</strong>${value.done < value.count && ` of ${value.count.toLocaleString("en")} selected`}${value.done > 0 ? ":" : ""}</p>
    <ul>
      ${affected.slice(0, NAMED).map(({ check }) => html`<li>${stateOf && html`<${Mark} state=${stateOf(check) ?? "none"} /> `}${check}</li>`)}
      ${more > 0 && html`<li class="soft">and ${more.toLocaleString("en")} more</li>`}
    </ul>
    ${[...reasons(value.items)].map(([reason, count]) => html`<p class="soft">${counted(count, "check")} skipped: ${reason}.</p>`)}
  </div>`;
}

/** Reasons for skipped checks, with counts. @param {Item[]} items */
function reasons(items) {
  /** @type {Map<string, number>} */
  const found = new Map();
  for (const { done, reason } of items) if (!done) found.set(reason, (found.get(reason) ?? 0) + 1);
  return found;
}
