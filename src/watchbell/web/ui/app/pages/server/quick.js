/** The quick values of a server, read as they come. */

import { useEffect, useRef, useState } from "preact/hooks";
import { get, Problem, url, useInterval } from "../../api.js";
import { SECONDS } from "../machine/quick_plots.js";

/** @typedef {import("../machine/sample.js").Quick} Quick */

/** Seconds between two readings. */
const EVERY = 2;

/**
 * @param {string} path of the server
 * @returns {{quick: Quick[], now: number}} those of the last minute, and the time of the latest
 */
export function useQuick(path) {
  const [quick, setQuick] = useState(/** @type {Quick[]} */ ([]));
  const last = useRef(0);
  const isReading = useRef(false);
  const read = async () => {
    if (isReading.current) return;
    isReading.current = true;
    try {
      const { items } = await get(url(`${path}/quick`, { since: last.current || null }));
      if (items.length === 0) return;
      last.current = items.at(-1).date;
      setQuick((known) => [...known, ...items].filter((one) => one.date > last.current - SECONDS));
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem; // it is read again
    } finally {
      isReading.current = false;
    }
  };
  useEffect(() => void read(), [path]);
  useInterval(read, EVERY);
  return { quick, now: quick.at(-1)?.date ?? 0 };
}
