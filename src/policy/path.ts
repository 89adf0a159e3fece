/** A step of a path: a name, an index, or null for any; a `deep` step matches at any depth. */
interface Step {
  readonly name: string | null
  readonly deep: boolean
}

/** A path into JSON, for example `$.to`, `$.items[*].card` or `$..password`. */
export type Path = readonly Step[]

export class PathError extends Error {}

const MAX_STEPS = 20

const NAME = /^[^.[\]*'"\s]+/
const BRACKET = /^\[(?:(\*)|(\d{1,9})|'((?:[^'\\]|\\.)+)'|"((?:[^"\\]|\\.)+)")\]/

export function parsePath(text: string): Path {
  if (!text.startsWith('$')) throw new PathError('does not begin with $, as in $.items[*].card')
  const steps: Step[] = []
  let rest = text.slice(1)
  while (rest !== '') {
    const [step, length] = stepOf(rest)
    steps.push(step)
    rest = rest.slice(length)
  }
  if (steps.length === 0) throw new PathError('matches everything; name the values to redact')
  if (steps.length > MAX_STEPS) throw new PathError(`has more than ${MAX_STEPS} steps`)
  // Two of them would visit every value many times.
  if (steps.filter(({ deep }) => deep).length > 1) throw new PathError('has .. more than once')
  return steps
}

function stepOf(rest: string): [step: Step, length: number] {
  const deep = rest.startsWith('..')
  const dots = deep ? 2 : rest.startsWith('.') ? 1 : 0
  const after = rest.slice(dots)
  if (dots < 2 && dots === (after.startsWith('[') ? 1 : 0)) throw unreadable(rest)
  if (after.startsWith('*')) return [{ name: null, deep }, dots + 1]
  const [name] = NAME.exec(after) ?? []
  if (name !== undefined && dots > 0) return [{ name, deep }, dots + name.length]
  const bracket = BRACKET.exec(after)
  if (bracket === null) throw unreadable(rest)
  const [whole, star, index, single, double] = bracket
  const quoted = (single ?? double)?.replace(/\\(.)/g, '$1')
  return [{ name: star === undefined ? (index ?? quoted ?? null) : null, deep }, dots + whole.length]
}

function unreadable(rest: string): PathError {
  return new PathError(
    `cannot be read from ${JSON.stringify(rest.slice(0, 40))} on; write $.a.b, $.a[*].b or $..b`,
  )
}

/** The remaining steps of each path, on the way down into a value. */
export type Trails = readonly Path[]

/** The paths below a member, and whether one of them ends there. */
export function follow(trails: Trails, name: string): { readonly below: Trails; readonly isEnd: boolean } {
  const below: Path[] = []
  let isEnd = false
  for (const path of trails) {
    const [step] = path
    if (step === undefined) continue
    if (step.deep) below.push(path)
    if (step.name !== null && step.name !== name) continue
    if (path.length === 1) isEnd = true
    else below.push(path.slice(1))
  }
  return { below, isEnd }
}
