/** Tries a plugin: runs a job of it that counts nowhere and notifies nobody. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { get, post, url } from "../../api.js";
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
  const title = `Test of ${plugin.title}`;
  const run = async () => {
    const event = await testEvent(plugin.id, { title, params, targets });
    const { id } = await post(`/events/${event}/run`, { params, targets, test: true });
    go(jobLink(id));
  };
  return html`<${Fetched} of=${options} lines=${5}>${(/** @type {import("../events/words.js").Options} */ known) => html`<${Form} onSubmit=${run} submit="Run a test job">
    <${ParamFields} params=${plugin.params ?? []} values=${params} onChange=${setParams} />
    <${Targets} targets=${known.targets} selected=${targets} onChange=${setTargets} />
    <p class="hint">The job belongs to the disabled event ${title}. It counts in no statistics and notifies nobody.</p>
  <//>`}<//>`;
}

/**
 * Every job belongs to an event. Test jobs also run while it is disabled.
 * @param {string} plugin @param {{title: string, params: any, targets: string[]}} given
 * @returns {Promise<string>} the id of the event
 */
async function testEvent(plugin, given) {
  const id = `try_${plugin}`;
  const { items } = await get(url("/events", { plugin, text: id, enabled: "false" }));
  if (!items.some((/** @type {{id: string}} */ one) => one.id === id)) await post("/events", { id, plugin, enabled: false, ...given });
  return id;
}
