/** Milliseconds, or a text such as `500ms`, `60s`, `10m`, `2h` or `1d`. */
export type Duration = number | `${number}${keyof typeof UNITS}`

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

export function milliseconds(duration: Duration): number {
  if (typeof duration === 'number') {
    if (Number.isFinite(duration) && duration >= 0) return duration
  } else {
    const [, count, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(duration) ?? []
    if (isUnit(unit)) return Number(count) * UNITS[unit]
  }
  throw new TypeError(`"${duration}" is not a duration. Use milliseconds or a text such as "60s" or "10m".`)
}

/** As the server takes them: whole ones, and never less than was asked for. */
export function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1000)
}

function isUnit(unit: string | undefined): unit is keyof typeof UNITS {
  return unit !== undefined && unit in UNITS
}
