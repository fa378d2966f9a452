/** Snoozing: nobody is notified of server alerts for a while. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { post } from "../../api.js";
import { may } from "../../session.js";
import { Dialog } from "../../kit/dialog.js";
import { Button, Field, Form } from "../../kit/form.js";
import { When } from "../../kit/time.js";
import { attempt, showToast } from "../../kit/toast.js";

/** @typedef {import("./words.js").Snooze} Snooze */
/** @typedef {{value: Snooze[] | null, reload: () => void}} Snoozes */

/** @type {[string, string][]} */
const PERIODS = [["900", "15 minutes"], ["3600", "1 hour"], ["14400", "4 hours"], ["43200", "12 hours"], ["86400", "1 day"], ["604800", "1 week"]];

/** @param {{definition?: string, title?: string, snoozes: Snoozes}} props without a definition: all server alerts */
export function SnoozeButton({ definition = "", title = "all server alerts", snoozes }) {
  const [isAsking, setIsAsking] = useState(false);
  const [seconds, setSeconds] = useState("3600");
  if (!may("operate")) return null;
  if (snoozes.value?.some((one) => one.definition === definition)) return html`<${EndSnooze} definition=${definition} snoozes=${snoozes} />`;
  const begin = async () => {
    await post("/server-alerts/snooze", { definition, seconds: Number(seconds) });
    showToast("Snoozed.");
    setIsAsking(false);
    snoozes.reload();
  };
  return html`<${Button} onClick=${() => setIsAsking(true)}>${definition ? "Snooze" : "Snooze all"}<//>
    ${isAsking && html`<${Dialog} title=${`Snooze ${title}`} onClose=${() => setIsAsking(false)}>
      <${Form} onSubmit=${begin} submit="Snooze" cancel=${() => setIsAsking(false)}>
        <p>Alerts still become active and are recorded, but nobody is notified. Those that are still active at the end are reported then.</p>
        <${Field} label="For" name="seconds" value=${seconds} onInput=${setSeconds} options=${PERIODS} />
      <//>
    <//>`}`;
}

/** @param {{definition: string, snoozes: Snoozes}} props */
function EndSnooze({ definition, snoozes }) {
  const end = async () => {
    await attempt(() => post("/server-alerts/snooze/end", { definition }), "The snooze has ended.");
    snoozes.reload();
  };
  return html`<${Button} onClick=${end}>End snooze<//>`;
}

/** What is snoozed. @param {{snoozes: Snoozes, titleOf: (definition: string) => string}} props */
export function Snoozed({ snoozes, titleOf }) {
  return html`${snoozes.value?.map((one) => html`<div class="notice" role="status" key=${one.definition}>
    <span>${one.definition ? html`<strong>${titleOf(one.definition)}</strong> is` : html`<strong>All server alerts</strong> are`} snoozed until <${When} at=${one.until} as="short" />${one.by && `, by ${one.by}`}: nobody is notified.</span>
    ${may("operate") && html`<${EndSnooze} definition=${one.definition} snoozes=${snoozes} />`}</div>`)}`;
}
