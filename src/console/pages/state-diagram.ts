import type { Status } from '../../core/transitions.ts'
import { type Html, html } from '../../util/html.ts'

interface Node {
  readonly status: Status
  readonly x: number
  readonly y: number
}

const BOX = { width: 120, height: 30 }

const NODES: readonly Node[] = [
  { status: 'pending_approval', x: 0, y: 4 },
  { status: 'queued', x: 0, y: 58 },
  { status: 'leased', x: 168, y: 58 },
  { status: 'running', x: 336, y: 58 },
  { status: 'input_required', x: 168, y: 4 },
  { status: 'succeeded', x: 520, y: 4 },
  { status: 'failed', x: 520, y: 58 },
  { status: 'canceled', x: 520, y: 112 },
]

/** The transitions, as lines between the boxes. */
const LINES: readonly string[] = [
  'M60 34v20',
  'M120 73h44',
  'M288 73h44',
  'M396 58V19H292',
  'M168 34 124 56',
  'M456 66C488 66 488 19 516 19',
  'M456 73h60',
  'M456 80C488 80 488 127 516 127',
  'M60 88v39h452',
]

/** The states of a task and the ways between them, with the current one highlighted. */
export function stateDiagram(current: Status, passed: ReadonlySet<Status>): Html {
  const words = (status: Status) => status.replaceAll('_', ' ')
  const node = ({ status, x, y }: Node) => {
    const kind = status === current ? `now status-${status}` : passed.has(status) ? 'passed' : 'other'
    return html`<g class="node ${kind}"><rect x="${x + 0.5}" y="${y + 0.5}" width="${BOX.width - 1}" height="${BOX.height - 1}" rx="6"/><text x="${x + BOX.width / 2}" y="${y + 19.5}" text-anchor="middle">${words(status)}</text></g>`
  }
  return html`<div class="diagram" tabindex="0" role="region" aria-label="States of the task"><svg viewBox="0 0 641 146" width="641" height="146" role="img" aria-label="The task is ${words(current)}."><defs><marker id="arrow" viewBox="0 0 6 6" refX="5" refY="3" markerWidth="6" markerHeight="6" orient="auto"><path d="M0 0 6 3 0 6z"/></marker></defs><g class="ways">${LINES.map((way) => html`<path d="${way}" marker-end="url(#arrow)"/>`)}</g>${NODES.map(node)}</svg></div>`
}
