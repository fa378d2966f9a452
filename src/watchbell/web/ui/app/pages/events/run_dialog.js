/** Runs an event now: with its parameters, or with others for this one job. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { post } from "../../api.js";
import { Dialog } from "../../kit/dialog.js";
import { Form, Toggle } from "../../kit/form.js";
import { showToast } from "../../kit/toast.js";
import { Tokens } from "../../kit/tokens.js";
import { ParamFields } from "./params.js";
import { Targets } from "./where.js";
import { jobLink } from "./words.js";

/** @param {{event: any, options: import("./words.js").Options, onClose: () => void, onDone: () => void}} props */
export function RunDialog({ event, options, onClose, onDone }) {
  const [params, setParams] = useState(/** @type {Record<string, any>} */ ({}));
  const [tags, setTags] = useState(/** @type {string[]} */ (event.tags));
  const [targets, setTargets] = useState(/** @type {string[]} */ (event.targets));
  const [isTest, setIsTest] = useState(false);
  const plugin = options.plugins.find((one) => one.id === event.plugin);
  const run = async () => {
    const isSame = (/** @type {string[]} */ one, /** @type {string[]} */ other) => one.join(" ") === other.join(" ");
    const { id } = await post(`/events/${encodeURIComponent(event.id)}/run`, {
      params,
      ...(isSame(tags, event.tags) ? {} : { tags }),
      ...(isSame(targets, event.targets) ? {} : { targets }),
      ...(isTest ? { test: true } : {}),
    });
    showToast(html`Started <a href=${jobLink(id)}>job ${id}</a>`);
    onDone();
    onClose();
  };
  return html`<${Dialog} title=${`Run ${event.title}`} onClose=${onClose} wide>
    <${Form} onSubmit=${run} submit="Run now" cancel=${onClose}>
      ${(plugin?.params ?? []).length > 0 && html`<details open=${(plugin?.params ?? []).some((one) => one.type !== "code")}><summary>Parameters of this job</summary>
        <${ParamFields} params=${plugin?.params ?? []} values=${{ ...event.params, ...params }}
          onChange=${(/** @type {Record<string, any>} */ all) => setParams(Object.fromEntries(Object.entries(all).filter(([name, value]) => value !== event.params[name] || name in params)))} /></details>`}
      <details><summary>Where and tags</summary><div class="stack">
        <${Targets} targets=${options.targets} selected=${targets} onChange=${setTargets} />
        <${Tokens} label="Tags" words=${tags} list=${options.tags.map((one) => one.id)} onChange=${setTags} />
      </div></details>
      <${Toggle} label="Only a test" checked=${isTest} onChange=${setIsTest} hint="It runs in the same way, but does not count in statistics and checks, and nobody is notified." />
    <//>
  <//>`;
}
