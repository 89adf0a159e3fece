import { messageOf } from '../util/error-message.ts'
import { isObject } from '../util/guards.ts'
import { CONDITION_ROOTS, type ConditionData, pathOf, reach, UnknownValue } from './condition-data.ts'
import { Fuel, isTruthy, OPERATORS, OutOfFuel } from './operators.ts'

const MAX_NODES = 500
const MAX_DEPTH = 32

/** Enough for a list of ten thousand items with a few comparisons each, which takes some milliseconds. */
const MAX_STEPS = 100_000

/** Says why a condition is invalid. */
export class ConditionError extends Error {}

export interface Condition {
  /** Whether it reads, or may read, the arguments. */
  readonly usesArgs: boolean
  /** Throws if it cannot be evaluated; an UnknownValue if the data is partial and insufficient. */
  holds(data: ConditionData): boolean
}

/** A compiled part of a condition. */
type Part = (data: unknown, fuel: Fuel) => unknown

/** Collected while a condition is compiled. */
interface Survey {
  nodes: number
  usesArgs: boolean
}

interface Place {
  readonly survey: Survey
  readonly depth: number
  /** Inside of map, filter and similar operators the data is the item. */
  readonly isScoped: boolean
}

/**
 * Compiles a condition in JSON Logic. Evaluation reads own members of the data only, and stops when it exceeds its
 * budget.
 */
export function compileCondition(logic: unknown): Condition {
  if (!isObject(logic))
    throw new ConditionError('is not JSON Logic, as in {">": [{"var": "args.amount"}, 100]}')
  const survey: Survey = { nodes: 0, usesArgs: false }
  const part = compile(logic, { survey, depth: 1, isScoped: false })
  return {
    usesArgs: survey.usesArgs,
    holds: (data) => isTruthy(part(data, new Fuel(MAX_STEPS))),
  }
}

export function failureOf(error: unknown): string {
  if (error instanceof OutOfFuel) return error.message
  if (error instanceof RangeError) return 'it is nested too deeply'
  return messageOf(error)
}

function compile(logic: unknown, place: Place): Part {
  const { survey, depth } = place
  if (++survey.nodes > MAX_NODES) throw new ConditionError(`has more than ${MAX_NODES} parts`)
  if (depth > MAX_DEPTH) throw new ConditionError(`is nested deeper than ${MAX_DEPTH}`)
  if (Array.isArray(logic)) return listOf(compileAll(logic, place))
  if (isObject(logic)) return operation(logic, place)
  return (_, fuel) => {
    fuel.burn(1)
    return logic
  }
}

function compileAll(items: readonly unknown[], place: Place): Part[] {
  return items.map((item) => compile(item, inside(place)))
}

function listOf(parts: readonly Part[]): Part {
  return (data, fuel) => {
    fuel.burn(1)
    return parts.map((part) => part(data, fuel))
  }
}

function operation(logic: object, place: Place): Part {
  const [name, ...more] = Object.keys(logic)
  if (name === undefined) throw new ConditionError('has an empty object where an operator is expected')
  if (more.length > 0) {
    throw new ConditionError(
      `has ${name} and ${more.join(', ')} in one object; combine them with "and" or "or"`,
    )
  }
  const given: unknown = Object.values(logic)[0]
  const args: readonly unknown[] = Array.isArray(given) ? given : [given]
  const special = Object.hasOwn(SPECIAL, name) ? SPECIAL[name] : undefined
  if (special !== undefined) {
    checkCount(name, special.takes, args.length)
    return special.compile(args, place)
  }
  const operator = Object.hasOwn(OPERATORS, name) ? OPERATORS[name] : undefined
  if (operator === undefined) throw new ConditionError(`has the unknown operator ${JSON.stringify(name)}`)
  checkCount(name, operator.takes, args.length)
  const parts = compileAll(args, place)
  return (data, fuel) => {
    fuel.burn(1)
    return operator.apply(
      parts.map((part) => part(data, fuel)),
      fuel,
    )
  }
}

function checkCount(name: string, [least, most]: readonly [number, number], count: number): void {
  if (count >= least && count <= most) return
  const wanted = least === most ? `${least}` : most < 10 ? `${least} to ${most}` : `at least ${least}`
  throw new ConditionError(`gives ${name} ${count} arguments; it takes ${wanted}`)
}

interface Special {
  readonly takes: readonly [least: number, most: number]
  compile(args: readonly unknown[], place: Place): Part
}

const MANY = 1000

/** Operators that decide which of their arguments are evaluated, and over which data. */
const SPECIAL: Readonly<Record<string, Special>> = {
  var: { takes: [0, 2], compile: variable },
  missing: {
    takes: [1, MANY],
    compile(args, place) {
      for (const arg of args) noteRoot(arg, place)
      const parts = compileAll(args, place)
      return (data, fuel) => {
        const values = parts.map((part) => part(data, fuel))
        return missing(Array.isArray(values[0]) ? values[0] : values, data, fuel)
      }
    },
  },
  missing_some: {
    takes: [2, 2],
    compile([count, options], place) {
      for (const option of Array.isArray(options) ? options : [options]) noteRoot(option, place)
      const [need, keys] = [compile(count, inside(place)), compile(options, inside(place))]
      return (data, fuel) => {
        const all = keys(data, fuel)
        if (!Array.isArray(all)) throw new Error('missing_some has no list of names')
        const absent = missing(all, data, fuel)
        return all.length - absent.length >= Number(need(data, fuel)) ? [] : absent
      }
    },
  },
  if: { takes: [1, MANY], compile: choice },
  '?:': { takes: [3, 3], compile: choice },
  and: { takes: [1, MANY], compile: (args, place) => until(compileAll(args, place), false) },
  or: { takes: [1, MANY], compile: (args, place) => until(compileAll(args, place), true) },
  map: scoped((items, each) => items.map(each)),
  filter: scoped((items, each) => items.filter((item) => isTruthy(each(item)))),
  all: scoped(
    (items, each) => items.length > 0 && items.every((item) => isTruthy(each(item))),
    () => false,
  ),
  some: scoped(
    (items, each) => items.some((item) => isTruthy(each(item))),
    () => false,
  ),
  none: scoped(
    (items, each) => !items.some((item) => isTruthy(each(item))),
    () => true,
  ),
  reduce: {
    takes: [2, 3],
    compile([list, step, initial], place) {
      const [items, from] = [compile(list, inside(place)), compile(initial ?? null, inside(place))]
      const each = compile(step, { ...inside(place), isScoped: true })
      return (data, fuel) => {
        const all = items(data, fuel)
        const start = from(data, fuel)
        if (!Array.isArray(all)) return start
        return all.reduce((accumulator: unknown, current: unknown) => {
          fuel.burn(1)
          return each({ current, accumulator }, fuel)
        }, start)
      }
    },
  },
}

function variable([name, otherwise]: readonly unknown[], place: Place): Part {
  if (typeof name === 'boolean') throw new ConditionError('has a variable name that is not text')
  noteRoot(name, place)
  const fallback = compile(otherwise ?? null, inside(place))
  if (!isObject(name) && !Array.isArray(name)) {
    const path = pathOf(name)
    return (data, fuel) => found(reach(data, path, fuel), fallback, data, fuel)
  }
  const named = compile(name, inside(place))
  return (data, fuel) => {
    const path = named(data, fuel)
    fuel.weigh(path)
    return found(reach(data, pathOf(path), fuel), fallback, data, fuel)
  }
}

function found(value: unknown, fallback: Part, data: unknown, fuel: Fuel): unknown {
  return value === undefined ? fallback(data, fuel) : value
}

/** An unknown name would silently make a rule that never applies. */
function noteRoot(name: unknown, { survey, isScoped }: Place): void {
  if (isScoped) return
  const root = typeof name === 'string' ? name.split('.')[0] : undefined
  if (root === undefined || root === '' || root === 'args') survey.usesArgs = true
  else if (!(CONDITION_ROOTS as readonly string[]).includes(root)) {
    throw new ConditionError(`looks at ${JSON.stringify(name)}; there are ${CONDITION_ROOTS.join(', ')}`)
  }
}

function missing(keys: readonly unknown[], data: unknown, fuel: Fuel): unknown[] {
  return keys.filter((key) => {
    fuel.weigh(key)
    const value = reach(data, pathOf(key), fuel)
    return value === undefined || value === null || value === ''
  })
}

function choice(args: readonly unknown[], place: Place): Part {
  const parts = compileAll(args, place)
  return (data, fuel) => {
    fuel.burn(1)
    for (let i = 0; ; i += 2) {
      const [condition, value] = [parts[i], parts[i + 1]]
      if (condition === undefined) return null
      const outcome = condition(data, fuel)
      if (value === undefined) return outcome
      if (isTruthy(outcome)) return value(data, fuel)
    }
  }
}

/** The first value that is truthy as `wanted`, or the last. Unknown values before it do not matter. */
function until(parts: readonly Part[], wanted: boolean): Part {
  return (data, fuel) => {
    fuel.burn(1)
    let value: unknown
    let unknown: UnknownValue | undefined
    for (const part of parts) {
      try {
        value = part(data, fuel)
      } catch (error) {
        if (error instanceof UnknownValue) unknown = error.and(unknown)
        // An unknown value may prevent this evaluation.
        else if (unknown === undefined) throw error
        continue
      }
      if (isTruthy(value) === wanted) return value
    }
    if (unknown !== undefined) throw unknown
    return value
  }
}

function scoped(
  run: (items: readonly unknown[], each: (item: unknown) => unknown) => unknown,
  ofNoList: () => unknown = () => [],
): Special {
  return {
    takes: [2, 2],
    compile([list, step], place) {
      const items = compile(list, inside(place))
      const each = compile(step, { ...inside(place), isScoped: true })
      return (data, fuel) => {
        fuel.burn(1)
        const all = items(data, fuel)
        return Array.isArray(all) ? run(all, (item) => each(item, fuel)) : ofNoList()
      }
    },
  }
}

function inside({ survey, depth, isScoped }: Place): Place {
  return { survey, depth: depth + 1, isScoped }
}
