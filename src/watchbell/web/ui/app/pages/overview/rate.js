/** Events per second, live, and the queues. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { Cell, useCell } from "../../cell.js";
import { connection } from "../../session.js";
import { clock } from "../../times.js";
import { Card } from "../../kit/layout.js";
import { plain, Plot } from "../../kit/plot.js";

const SECONDS = 300;
const LINES = [{ label: "events per second", fill: true }];

/** Kept while other pages are open. @type {{times: number[], rates: (number | null)[]}} */
const course = { times: [], rates: [] };
/** @type {Cell<number | null>} */
export const rate = new Cell(/** @type {number | null} */ (null));

/** @param {{queues: {name: string, length: number}[]}} props */
export function Rate({ queues }) {
  const now = useCell(clock);
  const [data, setData] = useState(/** @type {import("../../kit/plot.js").Data} */ ([[], []]));
  useEffect(() => {
    const last = course.times[course.times.length - 1] ?? 0;
    if (now <= last) return;
    if (last && now - last > 3) {
      // No data was recorded while the page was hidden: leave a gap.
      course.times.push(last + 1);
      course.rates.push(null);
    }
    course.times.push(now);
    course.rates.push(connection.value === "fine" ? rate.value : null);
    while ((course.times[0] ?? now) < now - SECONDS) {
      course.times.shift();
      course.rates.shift();
    }
    setData([[...course.times], [...course.rates]]);
  }, [now]);
  const waiting = queues.filter((one) => one.length > 0);
  return html`<${Card} title="Events">
    <${Plot} label="Events per second in the last five minutes" lines=${LINES} data=${data} height=${140} from=${now - SECONDS} to=${now} least=${1}
      format=${(/** @type {number} */ value) => `${plain(value)}/s`} />
    <p class="soft">${waiting.length === 0
      ? "All queues are empty."
      : html`Waiting: ${waiting.map((one, i) => html`${i > 0 && ", "}<strong>${one.length.toLocaleString("en")}</strong> ${queueName(one.name)}`)}.`}</p>
  <//>`;
}

/** @param {string} name */
function queueName(name) {
  if (name === "events" || name === "notifications") return name;
  return `alerts by ${name}`;
}
