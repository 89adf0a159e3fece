import { type Html, html } from './html.ts'

const STEPS: readonly (readonly [seconds: number, unit: string])[] = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
]

/** Rounded down: how long something has lasted, or will. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(Math.abs(ms) / 1000))
  const [size, unit] = STEPS.find(([step]) => seconds >= step) ?? [1, 's']
  return `${Math.floor(seconds / size)} ${unit}`
}

/** A time as people say it, with the exact one behind it. */
export function time(iso: string, now: number): Html {
  const at = Date.parse(iso)
  const words = at > now ? `in ${duration(at - now)}` : now - at < 1000 ? 'now' : `${duration(now - at)} ago`
  return html`<time datetime="${iso}" title="${exact(iso)}">${words}</time>`
}

/** To the second, in UTC. */
export function exact(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`
}
