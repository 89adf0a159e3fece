import type { z } from 'zod'
import { invalid } from '../core/errors.ts'
import type { Caller } from '../core/principal.ts'
import type { Operation } from './define-operation.ts'

export const VIEWS = ['full', 'summary'] as const
export type View = (typeof VIEWS)[number]

export const VIEW_DESCRIPTION = 'full: whole objects; summary: one short row each'

type Fields = Readonly<Record<string, unknown>>

interface OperationCaller {
  call(operation: Operation, caller: Caller, input: unknown, signal?: AbortSignal): Promise<object>
}

/** Runs an operation and returns its response in the view that the input asks for. */
export async function callInView(
  gate: OperationCaller,
  operation: Operation,
  caller: Caller,
  input: Fields,
  fallback: View,
  signal?: AbortSignal,
): Promise<object> {
  const { summary } = operation
  if (summary === undefined) return gate.call(operation, caller, input, signal)
  const { view = fallback, ...rest } = input
  if (view === 'full') return gate.call(operation, caller, rest, signal)
  if (view !== 'summary') throw invalid('view', `is not one of ${VIEWS.join(', ')}`)
  const output = await gate.call(operation, caller, { ...summary.defaults, ...rest }, signal)
  return summary.of(output, Date.now())
}

/** Removes members without information, which cost a model as much as others. */
export function compact<Value extends object>(value: Value): Partial<Value> {
  const kept: Partial<Value> = {}
  for (const key in value) if (!isEmpty(value[key])) kept[key] = value[key]
  return kept
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return true
  if (Array.isArray(value)) return value.length === 0
  return typeof value === 'object' && Object.keys(value).length === 0
}

/** One line of at most `length` characters. */
export function line(text: string, length: number): string {
  const flat = text.replace(/\s+/g, ' ').trim()
  return flat.length <= length ? flat : `${flat.slice(0, length - 1)}…`
}

const UNITS = [
  { unit: 'd', seconds: 86_400 },
  { unit: 'h', seconds: 3_600 },
  { unit: 'm', seconds: 60 },
] as const

/** The time since then in its largest unit, such as 3m. */
export function age(time: string, now: number): string {
  const seconds = Math.max(0, Math.floor((now - Date.parse(time)) / 1000))
  const { unit, seconds: size } = UNITS.find((each) => seconds >= each.seconds) ?? { unit: 's', seconds: 1 }
  return `${Math.floor(seconds / size)}${unit}`
}

/** A summary view whose type follows from its shape. */
export function summaryView<Output, Shape extends z.ZodType<object>>(view: {
  readonly shape: Shape
  readonly defaults?: Fields
  of(output: Output, now: number): z.output<Shape>
}): typeof view {
  return view
}
