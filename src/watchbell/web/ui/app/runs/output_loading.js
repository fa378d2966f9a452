/** Loads the lines of an output: the last ones first, others on demand, new ones from the stream. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { Problem } from "../api.js";
import { CHUNK, Lines } from "./output_lines.js";

/**
 * The loaded lines, and functions that load more.
 * @param {import("./output.js").Source} source
 * @param {(import("./output_lines.js").Piece & {skipped: number}) | null} news
 */
export function useOutput(source, news) {
  const lines = useRef(new Lines());
  const asked = useRef(new Set(/** @type {number[]} */ ([])));
  const [, redraw] = useState(0);
  const [isLoading, setIsLoading] = useState(true);
  const [problem, setProblem] = useState(/** @type {Problem | null} */ (null));
  const [skipped, setSkipped] = useState(0);
  const [tries, setTries] = useState(0);
  const changed = useCallback(() => redraw((count) => count + 1), []);

  useEffect(() => {
    lines.current = new Lines();
    asked.current.clear();
    setIsLoading(true);
    setProblem(null);
    setSkipped(0);
  }, [source.id, tries]);

  const load = useCallback(
    async (/** @type {{start?: number, limit: number}} */ where) => {
      const mine = lines.current;
      const before = mine.news;
      try {
        const piece = await source.load(where);
        if (mine !== lines.current) return;
        mine.add(piece, { isOld: mine.news !== before });
        changed();
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        if (mine === lines.current && mine.total === 0) setProblem(error);
      }
    },
    [source.id],
  );

  useEffect(() => {
    load({ limit: CHUNK }).finally(() => setIsLoading(false));
  }, [load, tries]);

  useEffect(() => {
    if (!news) return;
    lines.current.add(news, { isNews: true });
    // A new stream skips the lines before it, which are loaded on demand: don't count those.
    if (news.start > news.skipped) setSkipped((count) => count + news.skipped);
    changed();
  }, [news]);

  /** Loads what is missing at these places; each part is requested once at a time. */
  const want = useCallback(
    (/** @type {number[]} */ places) => {
      const missing = places.find((place) => !lines.current.at(place));
      if (missing === undefined || asked.current.has(missing)) return;
      asked.current.add(missing);
      load({ start: missing, limit: CHUNK }).finally(() => asked.current.delete(missing));
    },
    [load],
  );

  return {
    lines,
    want,
    skipped,
    problem,
    isLoading,
    isEmpty: lines.current.total === 0,
    retry: () => setTries(tries + 1),
  };
}
