/** Live streams: one per page; they reconnect automatically. */

import { useEffect, useRef } from "preact/hooks";
import { get, Problem } from "./api.js";
import { connection } from "./session.js";

const HIDDEN_MS = 30_000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;

/**
 * Listens to a stream of the server while the component is rendered. Each event's data is JSON.
 * `reset` is called whenever events may have been missed: fetch everything again then. A page that
 * is hidden for half a minute disconnects, and gets a reset when it returns.
 *
 * @param {string | null} path below `/api/v1`; null for none
 * @param {Record<string, (data: any, id: string) => void>} handlers by the name of the event
 */
export function useLive(path, handlers) {
  const latest = useRef(handlers);
  latest.current = handlers;
  const names = Object.keys(handlers).sort().join(" ");
  useEffect(() => {
    if (path === null) return undefined;
    const stream = new Stream(`/api/v1${path}`, names.split(" "), (name, data, id) =>
      latest.current[name]?.(data, id),
    );
    return () => stream.close();
  }, [path, names]);
}

class Stream {
  /**
   * @param {string} url
   * @param {string[]} names
   * @param {(name: string, data: any, id: string) => void} emit
   */
  constructor(url, names, emit) {
    this.url = url;
    this.names = names;
    this.emit = emit;
    this.wait = FIRST_WAIT_MS;
    this.isClosed = false;
    this.hasBeenOpen = false;
    /** @type {EventSource | null} */
    this.source = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    this.seen = () => this.visibility();
    document.addEventListener("visibilitychange", this.seen);
    this.open();
  }

  open() {
    const source = new EventSource(this.url);
    this.source = source;
    source.onopen = () => {
      this.wait = FIRST_WAIT_MS;
      if (connection.value === "lost") connection.set("fine");
      // A new source has no last id, so the server can't replay missed events.
      if (this.hasBeenOpen) this.emit("reset", null, "");
      this.hasBeenOpen = true;
      source.onopen = () => connection.value === "lost" && connection.set("fine");
    };
    for (const name of new Set([...this.names, "reset"])) {
      source.addEventListener(name, (event) => {
        const data = event.data === "" ? null : JSON.parse(event.data);
        this.emit(name, data, event.lastEventId);
      });
    }
    source.onerror = () => this.lost(source);
  }

  /** @param {EventSource} source */
  lost(source) {
    if (this.isClosed || source !== this.source) return;
    if (source.readyState === EventSource.CLOSED) this.again();
    else connection.value === "fine" && connection.set("lost");
  }

  again() {
    this.hangUp();
    this.timer = setTimeout(async () => {
      try {
        await get("/session");
      } catch (problem) {
        if (!(problem instanceof Problem)) throw problem;
        if (!this.isMissing() || problem.status === 401) return;
        this.again();
        return;
      }
      if (this.isMissing() && !document.hidden) this.open();
    }, this.wait);
    this.wait = Math.min(this.wait * 2, LONGEST_WAIT_MS);
  }

  /** Returning to the page may have opened the stream in the meantime. */
  isMissing() {
    return !this.isClosed && this.source === null;
  }

  visibility() {
    clearTimeout(this.timer);
    if (document.hidden) this.timer = setTimeout(() => this.hangUp(), HIDDEN_MS);
    else if (this.source === null) this.open();
  }

  hangUp() {
    this.source?.close();
    this.source = null;
  }

  close() {
    this.isClosed = true;
    clearTimeout(this.timer);
    document.removeEventListener("visibilitychange", this.seen);
    this.hangUp();
  }
}
