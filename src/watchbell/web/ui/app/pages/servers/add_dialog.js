/** Adds a server: creates the command to run there, and waits until the server has joined. */

import { html } from "htm/preact";
import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";
import { get, post, Problem, useInterval } from "../../api.js";
import { Command } from "../../kit/copy.js";
import { Dialog } from "../../kit/dialog.js";
import { Button, Field, Form } from "../../kit/form.js";
import { State } from "../../kit/state.js";
import { When } from "../../kit/time.js";
import { useLive } from "../../live.js";
import { GroupChoice } from "./group_choice.js";
import { nameOf, serverLink } from "./words.js";

/**
 * @typedef {import("./words.js").CreatedToken} CreatedToken
 * @typedef {import("./words.js").Row} Row
 */

/** @type {[hours: string, words: string][]} */
const HOURS = [["1", "1 hour"], ["24", "1 day"], ["168", "1 week"]];

/** @param {{groups: import("./words.js").Group[], onClose: () => void}} props */
export function AddServer({ groups, onClose }) {
  const [created, setCreated] = useState(/** @type {CreatedToken | null} */ (null));
  const [hostname, setHostname] = useState("");
  const [chosen, setChosen] = useState(/** @type {string[]} */ ([]));
  const [hours, setHours] = useState("24");
  if (created) return html`<${Dialog} title="Add server" onClose=${onClose}><${Waiting} created=${created} onClose=${onClose} /><//>`;
  const create = async () => setCreated(await post("/servers/tokens", { hostname: hostname.trim(), groups: chosen, hours: Number(hours) }));
  return html`<${Dialog} title="Add server" onClose=${onClose}>
    <${Form} onSubmit=${create} submit="Create command" cancel=${onClose}>
      <p>You get one command to run on the new machine. It starts an agent there, which connects to this server. The machine needs no open port.</p>
      <${Field} label="Hostname" name="hostname" value=${hostname} onInput=${setHostname} mono maxlength="253" placeholder="any"
        hint="Only a machine of this name can join. Leave it empty to accept any new name." />
      <${GroupChoice} groups=${groups} chosen=${chosen} onChange=${setChosen} />
      <${Field} label="Valid for" name="hours" value=${hours} onInput=${setHours} options=${HOURS} />
    <//>
  <//>`;
}

/**
 * The command, and whether the server has joined.
 * @param {{created: CreatedToken, onClose: () => void}} props
 */
export function Waiting({ created, onClose }) {
  const joined = useJoined(created.token);
  const frame = useRef(/** @type {HTMLDivElement | null} */ (null));
  // The button that had the focus is gone.
  useLayoutEffect(() => /** @type {HTMLElement | null | undefined} */ (frame.current?.querySelector(".button"))?.focus(), []);
  return html`<div class="stack" ref=${frame}>
    <p>Run this on the machine, as the user that runs its jobs. Watchbell has to be installed there.</p>
    <${Command} text=${created.command} />
    <${Reach} command=${created.command} />
    <p class="soft">The command works for one server, until ${created.token.expires === null ? "it is revoked" : html`<${When} at=${created.token.expires} as="exact" />`}. It contains a secret, and is not shown again.</p>
    <div class=${joined ? "joining joining-done" : "joining"} role="status">
      ${joined
        ? html`<${State} state="ok" word="Joined" /> <span><strong>${nameOf(joined)}</strong> is connected.</span>`
        : html`<span class="joining-dot" aria-hidden="true"></span> <span>Waiting for the server to connect…</span>`}
    </div>
    <div class="actions">
      ${joined && html`<${Button} kind="main" href=${serverLink(joined.id)} onClick=${onClose}>Open server<//>`}
      <${Button} onClick=${onClose}>${joined ? "Done" : "Close"}<//>
      ${!joined && html`<span class="hint">You can close this: the command stays valid.</span>`}
    </div>
  </div>`;
}

/** Says why the command can't work on another machine, if it can't. @param {{command: string}} props */
function Reach({ command }) {
  const target = new URL(/--join (\S+)/.exec(command)?.[1] ?? window.location.origin);
  const isLocal = /^(localhost|127\.[\d.]+|\[::1\])$/.test(target.hostname);
  if (isLocal) return html`<p class="hint">${target.host} is this machine only. For other machines, set <code>web.host</code> and <code>web.url</code> to an address that they reach.</p>`;
  if (target.protocol === "https:") return null;
  return html`<p class="notice notice-warn">Without TLS, anybody on the way could read the token, so the agent refuses to connect. Set up TLS, or add <code>--plain</code> in a network that you trust.</p>`;
}

/** The server that has joined with a token; null until then. @param {import("./words.js").Token} token */
function useJoined(token) {
  const [joined, setJoined] = useState(/** @type {Row | null} */ (null));
  const isLooking = useRef(false);
  const look = useCallback(async () => {
    if (isLooking.current) return;
    isLooking.current = true;
    try {
      setJoined(await joinedWith(token));
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem; // it is asked again
    } finally {
      isLooking.current = false;
    }
  }, [token.id]);
  useInterval(look, joined ? 0 : 3);
  useLive(joined ? null : "/live?topics=servers", { servers: look, reset: look });
  return joined;
}

/** @param {import("./words.js").Token} token @returns {Promise<Row | null>} */
async function joinedWith(token) {
  const { server } = await get(`/servers/tokens/${token.id}`);
  if (!server) return null;
  const { row } = await get(`/servers/${server}`);
  return row.is_online ? row : null;
}
