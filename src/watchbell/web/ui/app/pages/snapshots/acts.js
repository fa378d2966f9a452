/** Taking a snapshot of a server or group, and watching it for a while. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { post, put, remove, useFetched } from "../../api.js";
import { may } from "../../session.js";
import { Dialog } from "../../kit/dialog.js";
import { Button, Field, Form } from "../../kit/form.js";
import { When } from "../../kit/time.js";
import { attempt, showToast } from "../../kit/toast.js";
import { snapshotLink } from "./words.js";

/**
 * @typedef {{type: "server" | "group", id: string, name: string}} Target
 * @typedef {{type: "server" | "group", target: string, name: string, until: number, username: string, created: number}} Watch
 */

/** @type {[seconds: string, words: string][]} */
export const PERIODS = [["300", "5 minutes"], ["900", "15 minutes"], ["3600", "1 hour"], ["21600", "6 hours"], ["86400", "1 day"]];

const pathOf = (/** @type {Target} */ { type, id }) => `/${type}s/${encodeURIComponent(id)}`;

/** @param {{target: Target, disabled?: boolean, onTaken?: () => void}} props */
export function TakeSnapshot({ target, disabled = false, onTaken }) {
  if (!may("create_snapshots")) return null;
  const take = async () => {
    const head = await attempt(() => post(`${pathOf(target)}/snapshots`), (/** @type {{id: string}} */ { id }) => html`Snapshot of ${target.name} taken. <a href=${snapshotLink(id)}>Open snapshot</a>`);
    if (head) onTaken?.();
  };
  return html`<${Button} onClick=${take} disabled=${disabled}>Take snapshot<//>`;
}

/** A button that starts or ends a watch. @param {{target: Target, onChange?: () => void}} props */
export function WatchButton({ target, onChange }) {
  const [isAsking, setIsAsking] = useState(false);
  const [seconds, setSeconds] = useState("300");
  const fetched = useFetched("/watches", { every: 30 });
  if (!may("create_snapshots")) return null;
  const known = /** @type {Watch[] | null} */ (fetched.value)?.find((one) => one.type === target.type && one.target === target.id);
  const changed = () => {
    fetched.reload();
    onChange?.();
  };
  const begin = async () => {
    await put(`${pathOf(target)}/watch`, { seconds: Number(seconds) });
    showToast(`Watching ${target.name}: a snapshot is taken each minute.`);
    setIsAsking(false);
    changed();
  };
  const end = async () => {
    await attempt(() => remove(`${pathOf(target)}/watch`), `No longer watching ${target.name}.`);
    changed();
  };
  if (known) return html`<span class="watching"><span class="soft">Watched until <${When} at=${known.until} as="short" /></span> <${Button} onClick=${end}>End watch<//></span>`;
  return html`<${Button} onClick=${() => setIsAsking(true)}>Watch<//>
    ${isAsking && html`<${Dialog} title=${`Watch ${target.name}`} onClose=${() => setIsAsking(false)}>
      <${Form} onSubmit=${begin} submit="Watch" cancel=${() => setIsAsking(false)}>
        <p>A snapshot is taken each minute until the time is over.</p>
        <${Field} label="For" name="seconds" value=${seconds} onInput=${setSeconds} options=${PERIODS} />
      <//>
    <//>`}`;
}
