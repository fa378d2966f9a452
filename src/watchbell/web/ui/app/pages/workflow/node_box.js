/** One node of a graph, as it is drawn. */

import { html } from "htm/preact";
import { Mark } from "../../kit/state.js";
import { isAttached } from "./graph.js";

/**
 * @typedef {{state: string, word: string, words?: string, progress?: number}} Badge a state, and words below the title
 * @typedef {{node: import("./graph.js").GraphNode, fact: import("./words.js").Fact, badge: Badge | undefined, isSelected: boolean, isCurrent: boolean,
 *   isTarget: boolean, isEditable: boolean}} Boxed
 */

/** @param {Boxed} boxed */
export function nodeBox({ node, fact, badge, isSelected, isCurrent, isTarget, isEditable }) {
  const look = ["node", `node-${fact.look}`, isSelected && "node-selected", isTarget && "node-target", badge && `node-is-${badge.state}`];
  const isSource = !isAttached(node.type) && node.type !== "note";
  const words = badge?.words ?? fact.about;
  return html`<div key=${node.id} id=${`node-${node.id}`} class=${look.filter(Boolean).join(" ")} data-node=${node.id} role="button" tabindex=${isCurrent ? 0 : -1} aria-pressed=${isSelected ? "true" : "false"}
    style=${{ transform: `translate(${node.x}px, ${node.y}px)` }}>
    <span class="unseen">${badge ? `${fact.name}: ${[badge.word, badge.words].filter(Boolean).join(", ")}` : fact.name}</span>
    ${node.type !== "note" && html`<span class="node-icon"><svg viewBox="0 0 16 16" aria-hidden="true"><path d=${fact.icon} /></svg></span>`}
    <span class="node-words" aria-hidden="true"><span class="node-title">${fact.title}</span>${words && html`<span class="node-about">${words}</span>`}</span>
    ${badge && html`<span class="node-badge" aria-hidden="true"><${Mark} state=${badge.state} title=${badge.word} /></span>`}
    ${badge?.progress !== undefined && html`<span class="node-progress"><span style=${{ width: `${Math.round(badge.progress * 100)}%` }}></span></span>`}
    ${isEditable && isSource && html`<span class="node-port" data-port="out" aria-hidden="true"></span>`}
  </div>`;
}

/** Draws only what has changed: a vnode that is the same as before costs nothing. */
export class Drawn {
  constructor() {
    /** @type {Map<string, {by: any[], vnode: any}>} */
    this.known = new Map();
  }

  /** @param {string} id @param {any[]} by what it depends on @param {() => any} draw */
  of(id, by, draw) {
    const known = this.known.get(id);
    if (known && known.by.every((one, i) => one === by[i])) return known.vnode;
    const vnode = draw();
    this.known.set(id, { by, vnode });
    return vnode;
  }
}
