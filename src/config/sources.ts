import { readFileSync } from 'node:fs'
import { parseDocument } from 'yaml'
import { closest } from '../util/closest.ts'

export const PREFIX = 'ASYNCGATE_'
export const DEFAULT_FILE = 'asyncgate.config.yaml'
/** Variables of the test suite, which the servers it starts inherit. */
const TEST_PREFIX = 'ASYNCGATE_TEST_'
/** The folder of the local approval key. It is not a setting, because a config file that others can write must not move it. */
export const CONFIG_DIR = 'ASYNCGATE_CONFIG_DIR'

/** The settings of one source. */
export interface Source {
  readonly layer: 'default' | 'detected' | 'command' | 'file' | 'environment' | 'flag'
  readonly values: ReadonlyMap<string, unknown>
  /** The name of a setting in this source, for messages. */
  spell(name: string): string
}

export interface Read {
  readonly source: Source
  readonly problems: readonly string[]
}

/** Settings that this version refuses because their features are not supported yet. `*` stands for the rest of a name. */
export const UNSUPPORTED: Readonly<Record<string, string>> = {
  'metagate_*': 'bootstrapping from MetaGate',
  'cors_*': 'CORS settings other than ALLOWED_ORIGINS',
  'jwt_*': 'JWT settings other than OAUTH_*',
  default_list_limit: 'page sizes other than 50',
  max_list_limit: 'page sizes other than 200',
  default_bootstrap_max_items: 'page sizes other than 50',
  max_bootstrap_max_items: 'page sizes other than 200',
}

/** The feature that a setting belongs to if it is not supported yet. */
export function unsupportedFeature(name: string): string | undefined {
  const matches = (pattern: string) =>
    pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern
  return Object.entries(UNSUPPORTED).find(([pattern]) => matches(pattern))?.[1]
}

export const variableOf = (name: string): string => PREFIX + name.toUpperCase()

export function readEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  known: readonly string[],
): Read {
  const given = Object.entries(env).flatMap(([variable, value]): [string, unknown][] =>
    variable.startsWith(PREFIX) &&
    !variable.startsWith(TEST_PREFIX) &&
    variable !== CONFIG_DIR &&
    value !== ''
      ? [[variable.slice(PREFIX.length), value]]
      : [],
  )
  return readValues('environment', given, known, variableOf)
}

/** Reads the config file. The default file may be absent. */
export function readFile(path: string | undefined, known: readonly string[]): Read {
  const file = path ?? DEFAULT_FILE
  const spell = (name: string) => `${name} in ${file}`
  const failed = (problem: string): Read => ({ ...readValues('file', [], known, spell), problems: [problem] })
  let source: string
  try {
    source = readFileSync(file, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (path === undefined && code === 'ENOENT') return readValues('file', [], known, spell)
    return failed(`The file ${file} cannot be read (${code}).`)
  }
  const document = parseDocument(source)
  const [error] = document.errors
  if (error !== undefined) return failed(`${file} is not YAML: ${error.message.split('\n')[0]}`)
  const content: unknown = document.toJS()
  if (content === null || content === undefined) return readValues('file', [], known, spell)
  if (typeof content !== 'object' || Array.isArray(content))
    return failed(`${file} is not a mapping of NAME: VALUE.`)
  const given = Object.entries(content).flatMap(([name, value]): [string, unknown][] =>
    value === null ? [] : [[name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name, value]],
  )
  return readValues('file', given, known, spell)
}

/** Names may be in lower or in upper case. */
export function readValues(
  layer: Source['layer'],
  given: readonly (readonly [string, unknown])[],
  known: readonly string[],
  spell: (name: string) => string,
): Read {
  const values = new Map<string, unknown>()
  const problems: string[] = []
  for (const [written, value] of given) {
    const name = written === written.toUpperCase() ? written.toLowerCase() : written
    const feature = unsupportedFeature(name)
    if (values.has(name)) problems.push(`${spell(name)} is given twice.`)
    else if (known.includes(name)) values.set(name, value)
    else if (feature !== undefined)
      problems.push(`${spell(name)} is not supported yet (${feature}). Remove it.`)
    else problems.push(`${spell(written)} is not a known setting.${didYouMean(name, known, spell)}`)
  }
  return { source: { layer, values, spell }, problems }
}

function didYouMean(name: string, known: readonly string[], spell: (name: string) => string): string {
  const meant = closest(name, known)
  return meant === undefined
    ? ' "asyncgate config" shows all settings.'
    : ` Did you mean ${spell(meant)}? "asyncgate config" shows all settings.`
}
