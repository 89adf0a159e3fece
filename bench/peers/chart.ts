import { round } from '../report.ts'

export interface Bar {
  readonly label: string
  readonly isOurs: boolean
  /** Undefined if the system was not measured that way. */
  readonly live: number | undefined
  readonly bulk: number | undefined
}

const LABELS = 300
const PANEL = 250
const GAP = 70
const ROW = 24
const TOP = 44

/** The rates as bars in two panels, each with its own scale. The colours follow the colour scheme of the reader. */
export function chart(bars: readonly Bar[]): string {
  const width = LABELS + 2 * (PANEL + GAP)
  const height = TOP + bars.length * ROW + 12
  const panels = (['live', 'bulk'] as const).map((metric, i) =>
    panel(bars, metric, LABELS + i * (PANEL + GAP), metric === 'live' ? 'One task per call' : 'In bulk'),
  )
  const labels = bars.map(
    ({ label }, i) => `<text x="${LABELS - 10}" y="${middle(i)}" class="label">${escapeXml(label)}</text>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title">
<title id="title">Tasks per second from enqueue to completion</title>
<style>
text { font: 12px system-ui, sans-serif; fill: #24292f }
.label { text-anchor: end }
.head { font-weight: 600 }
.ours { fill: #0969da }
.peer { fill: #8c959f }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.ours { fill: #4493f8 }
.peer { fill: #6e7681 }
}
</style>
${[...labels, ...panels.flat()].join('\n')}
</svg>
`
}

function panel(bars: readonly Bar[], metric: 'live' | 'bulk', left: number, title: string): string[] {
  const largest = Math.max(...bars.map((bar) => bar[metric] ?? 0))
  const shapes = bars.flatMap((bar, i) => {
    const value = bar[metric]
    if (value === undefined) return []
    const length = Math.max(1, Math.round((value / largest) * PANEL))
    const y = TOP + i * ROW + 4
    return [
      `<rect x="${left}" y="${y}" width="${length}" height="${ROW - 8}" class="${bar.isOurs ? 'ours' : 'peer'}"/>`,
      `<text x="${left + length + 6}" y="${middle(i)}">${round(value)}</text>`,
    ]
  })
  return [`<text x="${left}" y="24" class="head">${title}, tasks/s</text>`, ...shapes]
}

/** The baseline of the text in a row. */
function middle(row: number): number {
  return TOP + row * ROW + ROW / 2 + 4
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
