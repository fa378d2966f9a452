/** Tries a plugin: runs one job of it that counts nowhere. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { post } from "../../api.js";
import { go } from "../../location.js";
import { Form } from "../../kit/form.js";
import { Fetched } from "../../kit/layout.js";
import { ParamFields } from "../events/params.js";
import { Targets } from "../events/where.js";
import { jobLink, useOptions } from "../events/words.js";

/** @param {{plugin: any}} props */
export function TryPlugin({ plugin }) {
  const options = useOptions();
  const [params, setParams] = useState(/** @type {Record<string, any>} */ ({}));
  const [targets, setTargets] = useState(["main"]);
  const run = async () => {
    const { id } = await post(`/plugins/${encodeURIComponent(plugin.id)}/try`, { params, targets });
    go(jobLink(id));
  };
  return html`<${Fetched} of=${options} lines=${5}>${(/** @type {import("../events/words.js").Options} */ known) => html`<${Form} onSubmit=${run} submit="Run a test job">
    <${ParamFields} params=${plugin.params ?? []} values=${params} onChange=${setParams} />
    <${Targets} targets=${known.targets} selected=${targets} onChange=${setTargets} />
  <//>`}<//>`;
}
