/** What people do with a job: abort, run again, resume, start now, tag and delete. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { post, put, remove } from "../../api.js";
import { useKeys } from "../../keys.js";
import { go } from "../../location.js";
import { may } from "../../session.js";
import { confirm, Dialog } from "../../kit/dialog.js";
import { Button, Field, Form } from "../../kit/form.js";
import { Tokens } from "../../kit/tokens.js";
import { attempt, showToast } from "../../kit/toast.js";
import { useOptions } from "../events/words.js";
import { jobLink, ownTags } from "./words.js";

/** @typedef {import("./words.js").JobRow} JobRow */
/** @typedef {import("../job.js").JobShown} JobShown */

/** @param {{shown: JobShown, row: JobRow, isLive: boolean, reload: () => void}} props */
export function Acts({ shown, row, isLive, reload }) {
  const [asked, setAsked] = useState(/** @type {"" | "abort" | "tags"} */ (""));
  const path = `/jobs/${encodeURIComponent(row.id)}`;
  const canAbort = isLive && shown.can_abort;
  const isDelayed = row.state === "start_delay" || row.state === "retry_delay";
  const again = async () => {
    const made = await attempt(() => post(`${path}/rerun`), "Launched again.");
    if (made) go(jobLink(made.id));
  };
  const send = (/** @type {string} */ verb, /** @type {string} */ done) => async () => {
    await attempt(() => post(`${path}/${verb}`), done);
    reload();
  };
  const drop = () =>
    confirm({
      title: "Delete this job?",
      words: "Its record, its output and its files are deleted. This can't be undone.",
      yes: "Delete",
      async act() {
        await remove(path);
        showToast("Job deleted.");
        go("/jobs?tab=finished");
      },
    });
  useKeys("Job", [
    ...(canAbort ? [/** @type {import("../../keys.js").Binding} */ (["a", "abort", () => setAsked("abort")])] : []),
    ...(shown.can_rerun ? [/** @type {import("../../keys.js").Binding} */ (["r", "run again", () => void again()])] : []),
  ]);
  return html`
    ${!isLive && may("delete_jobs") && html`<${Button} kind="quiet" onClick=${drop}>Delete<//>`}
    ${!isLive && may("tag_jobs") && html`<${Button} onClick=${() => setAsked("tags")}>Edit tags<//>`}
    ${shown.can_rerun && html`<${Button} onClick=${again}>Run again<//>`}
    ${shown.is_suspended && may("run_jobs") && html`<${Button} kind="main" onClick=${send("resume", "Job resumed.")}>Resume<//>`}
    ${isLive && isDelayed && may("run_jobs") && html`<${Button} kind="main" onClick=${send("skip-delay", "The job starts now.")}>Start now<//>`}
    ${canAbort && html`<${Button} kind="danger" onClick=${() => setAsked("abort")}>Abort<//>`}
    ${asked === "abort" && html`<${AbortDialog} path=${path} row=${row} onClose=${() => setAsked("")} onDone=${reload} />`}
    ${asked === "tags" && html`<${TagsDialog} path=${path} tags=${row.tags} onClose=${() => setAsked("")} onDone=${reload} />`}`;
}

/** @param {{path: string, row: JobRow, onClose: () => void, onDone: () => void}} props */
function AbortDialog({ path, row, onClose, onDone }) {
  const [reason, setReason] = useState("");
  const abort = async () => {
    await post(`${path}/abort`, { reason });
    showToast("Abort requested.");
    onClose();
    onDone();
  };
  const isBegun = row.state === "active" || row.state === "finishing";
  return html`<${Dialog} title="Abort this job?" onClose=${onClose}>
    <${Form} onSubmit=${abort} submit="Abort" kind="danger" cancel=${onClose}>
      <p>${isBegun ? "Its processes are terminated, and killed if they don't exit in time." : "It is taken out of its queue and does not run."} It is not tried again.</p>
      <${Field} label="Reason" name="reason" value=${reason} onInput=${setReason} placeholder="Optional" hint="Shown on this page and in notifications." maxlength="1000" />
    <//>
  <//>`;
}

/** @param {{path: string, tags: string[], onClose: () => void, onDone: () => void}} props */
function TagsDialog({ path, tags, onClose, onDone }) {
  const options = useOptions().value;
  const [words, setWords] = useState(() => ownTags(tags));
  const save = async () => {
    await put(`${path}/tags`, { tags: words });
    showToast("Tags saved.");
    onClose();
    onDone();
  };
  return html`<${Dialog} title="Edit tags" onClose=${onClose}>
    <${Form} onSubmit=${save} cancel=${onClose}>
      <${Tokens} label="Tags" words=${words} onChange=${setWords} list=${(options?.tags ?? []).map((one) => one.id)} hint="Press Enter or type a comma after each." />
    <//>
  <//>`;
}
