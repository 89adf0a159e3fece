import { type Html, html } from '../util/html.ts'

/** A line or the bars of a chart. */
interface Series {
  readonly label: string
  /** The name of its color. */
  readonly color: 'accent' | 'good' | 'bad' | 'soft' | 'warn'
  readonly kind: 'line' | 'bar'
  /** One value per row; null where there is none. */
  readonly values: readonly (number | null)[]
}

interface Chart {
  /** Identifies the chart on its page. */
  readonly id: string
  readonly title: string
  /** The unit of the values, such as `tasks per minute`. */
  readonly unit: string
  /** What a screen reader says about the content. */
  readonly description: string
  /** The starts of the rows, in milliseconds since the epoch. */
  readonly times: readonly number[]
  readonly rowSeconds: number
  readonly series: readonly Series[]
  /** Whether the values are integers, which have no ticks between them. */
  readonly isWhole: boolean
  /** The text of a value at the axis. */
  format(value: number): string
}

const WIDTH = 640
const HEIGHT = 190
const LEFT = 52
const RIGHT = 10
const TOP = 12
const BOTTOM = 24
const INNER_WIDTH = WIDTH - LEFT - RIGHT
const INNER_HEIGHT = HEIGHT - TOP - BOTTOM
const TIME_LABELS = 6

/** A chart with axes, drawn as SVG without script. */
export function chart({
  id,
  title,
  unit,
  description,
  times,
  rowSeconds,
  series,
  isWhole,
  format,
}: Chart): Html {
  const highest = Math.max(0, ...series.flatMap(({ values }) => values.map((value) => value ?? 0)))
  const ticks = ticksUpTo(highest, isWhole)
  const top = ticks.at(-1) ?? 1
  const step = INNER_WIDTH / times.length
  const x = (i: number) => round(LEFT + (i + 0.5) * step)
  const y = (value: number) => round(TOP + INNER_HEIGHT * (1 - value / top))
  return html`<figure class="chart" data-live="chart-${id}">
<figcaption><h2 id="chart-${id}">${title}</h2><span class="soft">${unit}</span>
<ul class="legend">${series.map(({ label, color }) => html`<li><span class="swatch swatch-${color}"></span>${label}</li>`)}</ul></figcaption>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="chart-${id}" aria-describedby="chart-${id}-text"><title>${title}</title><desc id="chart-${id}-text">${description}</desc>
${ticks.map(
  (tick) =>
    html`<path class="grid" d="M${LEFT} ${y(tick)}H${WIDTH - RIGHT}"/><text class="tick" x="${LEFT - 6}" y="${y(tick) + 4}" text-anchor="end">${format(tick)}</text>`,
)}
${timeLabels(times, rowSeconds).map(
  ({ i, text }) =>
    html`<path class="grid" d="M${x(i)} ${TOP + INNER_HEIGHT}v4"/><text class="tick" x="${x(i)}" y="${HEIGHT - 6}" text-anchor="middle">${text}</text>`,
)}
${series.map(({ kind, color, values }) =>
  kind === 'bar'
    ? html`<path class="bars bars-${color}" d="${bars(values, x, y, step)}"/>`
    : html`<path class="line line-${color}" d="${line(values, x, y)}"/><path class="line line-${color} dots" d="${dots(values, x, y)}"/>`,
)}
</svg></figure>`
}

type Position = (value: number) => number

/** The line breaks where values are missing. */
function line(values: readonly (number | null)[], x: Position, y: Position): string {
  return values
    .map((value, i) => {
      if (value === null) return ''
      return `${(values[i - 1] ?? null) === null ? 'M' : 'L'}${x(i)} ${y(value)}`
    })
    .join('')
}

/** Values between two missing ones. They are lines of no length, which round caps show as dots. */
function dots(values: readonly (number | null)[], x: Position, y: Position): string {
  const isMissing = (i: number) => (values[i] ?? null) === null
  return values
    .map((value, i) =>
      value !== null && isMissing(i - 1) && isMissing(i + 1) ? `M${x(i)} ${y(value)}h0` : '',
    )
    .join('')
}

function bars(values: readonly (number | null)[], x: Position, y: Position, step: number): string {
  const width = round(Math.max(1, step * 0.7))
  return values
    .map((value, i) =>
      value === null || value === 0
        ? ''
        : `M${round(x(i) - width / 2)} ${y(0)}V${y(value)}h${width}V${y(0)}z`,
    )
    .join('')
}

/** Round numbers from zero to at least the highest value. */
export function ticksUpTo(highest: number, isWhole: boolean): readonly number[] {
  if (highest <= 0) return [0, 1]
  const rough = isWhole ? Math.max(1, Math.ceil(highest / 3)) : highest / 3
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? rough
  const count = Math.ceil(highest / step - 1e-9)
  return Array.from({ length: count + 1 }, (_, i) => Number((i * step).toPrecision(6)))
}

/** Times at whole minutes, hours or days, in UTC. */
function timeLabels(times: readonly number[], rowSeconds: number) {
  const span = times.length * rowSeconds
  const every = [600, 900, 3600, 4 * 3600, 86_400, 5 * 86_400].find((size) => span / size <= TIME_LABELS + 1)
  const interval = (every ?? 10 * 86_400) * 1000
  return times.flatMap((at, i) => {
    if (at % interval !== 0) return []
    const iso = new Date(at).toISOString()
    return { i, text: interval >= 86_400_000 ? iso.slice(5, 10) : iso.slice(11, 16) }
  })
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
