/** The language of expressions: try it on a live server, see its values, and read how it works. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { useFetched } from "../api.js";
import { useQuery } from "../location.js";
import { Choice, Search } from "../kit/form.js";
import { Card, Fetched, Page } from "../kit/layout.js";
import { withCode } from "../kit/text.js";
import { When } from "../kit/time.js";
import { REFERENCE } from "./expressions/reference.js";
import { ExpressionField, ServerField, useServer } from "./expressions/trial.js";
import { pathsOf } from "./expressions/paths.js";

/** @typedef {import("./machine/sample.js").Sample} Sample */

const FIRST = "100 - memory.available / memory.total * 100";
/** Values that are listed at once. */
const MOST = 60;

export default function Expressions() {
  const [query] = useQuery();
  const [text, setText] = useState(query.get("text") ?? FIRST);
  const [kind, setKind] = useState(query.get("kind") === "message" ? "message" : "expression");
  const on = useServer(query.get("server") ?? "");
  const put = (/** @type {string} */ given, /** @type {boolean} */ isMessage = false) => {
    setText(given);
    setKind(isMessage ? "message" : "expression");
    document.querySelector(".expressions-try textarea")?.scrollIntoView({ block: "center" });
  };
  const insert = (/** @type {string} */ path) => put(kind === "message" ? `${text}{{${path}}}` : path, kind === "message");
  return html`<${Page} wide title="Expressions" lead=${html`One small language for <a href="/monitors">monitors</a>, <a href="/alert-definitions">alert definitions</a> and their messages, and workflows.`}>
    <div class="expressions">
      <div class="expressions-try">
        <${Card} title="Try it" actions=${html`<${Choice} label="What to evaluate" value=${kind} options=${[["expression", "Expression"], ["message", "Message"]]} onChange=${setKind} />`}>
          <div class="stack">
            <${ExpressionField} key=${kind} label=${kind === "message" ? "Message" : "Expression"} name="text" rows=${3} value=${text} onInput=${setText} server=${on.server} isMessage=${kind === "message"}
              hint=${kind === "message" ? html`Text, with expressions in <code>{{ }}</code>.` : undefined} />
            <${ServerField} on=${on} label="On" hint="Its last full sample has the values." />
          </div>
        <//>
        ${on.server && html`<${Values} key=${on.server} server=${on.server} onSelect=${insert} />`}
      </div>
      <div>${REFERENCE.map((part) => html`<${Part} key=${part.title} part=${part} onTry=${put} />`)}</div>
    </div>
  <//>`;
}

/** The values that expressions see. @param {{server: string, onSelect: (path: string) => void}} props */
function Values({ server, onSelect }) {
  const fetched = useFetched(`/servers/${encodeURIComponent(server)}/machine`);
  const [text, setText] = useState("");
  const data = /** @type {Sample | null} */ (fetched.value?.data ?? null);
  const paths = useMemo(() => (data ? pathsOf(data) : []), [data]);
  const words = text.toLowerCase().split(" ").filter(Boolean);
  const found = paths.filter(([path]) => words.every((word) => path.toLowerCase().includes(word)));
  return html`<${Card} flush title="Values of this server" actions=${data && html`<span class="soft">as of <${When} at=${data.date} /></span>`}>
    <${Fetched} of=${fetched} lines=${5}>${() => data === null ? html`<p class="soft card-note">This server has sent no full sample yet.</p>` : html`
      <div class="bar-of card-bar"><${Search} value=${text} onSearch=${setText} placeholder="Filter by name" label="Filter values" /></div>
      ${found.length === 0 && html`<p class="soft card-note">No values match this filter.</p>`}
      <ul class="values">${found.slice(0, MOST).map(([path, value]) => html`<li key=${path}><button type="button" class="values-path mono" title="Use it" onClick=${() => onSelect(path)}>${path}</button> <span class="values-value mono soft">${value}</span></li>`)}</ul>
      ${found.length > MOST && html`<p class="soft card-note">${(found.length - MOST).toLocaleString("en")} more: filter to see them. Alerts also see the values of monitors, as <code>monitors.ID</code>.</p>`}`}<//>
  <//>`;
}

/** @param {{part: import("./expressions/reference.js").Part, onTry: (text: string, isMessage?: boolean) => void}} props */
function Part({ part, onTry }) {
  return html`<${Card} title=${part.title}>
    ${part.words.map((words) => html`<p>${withCode(words)}</p>`)}
    ${part.examples.length > 0 && html`<ul class="examples">${part.examples.map(([text, meaning]) => html`<li key=${text}>
      <button type="button" class="example mono" title="Try it" onClick=${() => onTry(text, part.isMessage)}>${text}</button><span class="soft">${withCode(meaning)}</span></li>`)}</ul>`}
  <//>`;
}
