import { readFileSync, statSync } from 'node:fs'
import type { Read, Source } from './sources.ts'

const SUFFIX = '_file'
const MAX_BYTES = 64 * 1024
/** Other accounts may read or change the file, or the group may change it. */
const TOO_OPEN = 0o026

/** The setting that names the file of a secret. */
export const fileSettingOf = (secret: string): string => secret + SUFFIX

export interface ReadSecrets extends Read {
  readonly warnings: readonly string[]
}

/** Replaces the names of files by the secrets that they hold, without the newline at the end. */
export function readSecretFiles({ source, problems }: Read, secrets: readonly string[]): ReadSecrets {
  const values = new Map(source.values)
  const found: string[] = [...problems]
  const warnings: string[] = []
  const fromFile = new Set<string>()
  for (const secret of secrets) {
    const setting = fileSettingOf(secret)
    const path = values.get(setting)
    if (path === undefined) continue
    values.delete(setting)
    const name = source.spell(setting)
    if (values.has(secret)) {
      found.push(`${source.spell(secret)} and ${name} are both set. Remove one of them.`)
      continue
    }
    const outcome = readSecret(String(path))
    if ('problem' in outcome) {
      found.push(`${name} names a file that ${outcome.problem}: "${path}".`)
      continue
    }
    values.set(secret, outcome.secret)
    fromFile.add(secret)
    if (outcome.isOpen) {
      warnings.push(`Other accounts may read or change the file of ${name}: run "chmod 600 ${path}".`)
    }
  }
  const spell: Source['spell'] = (name) => source.spell(fromFile.has(name) ? fileSettingOf(name) : name)
  return { source: { ...source, values, spell }, problems: found, warnings }
}

type Outcome = { readonly secret: string; readonly isOpen: boolean } | { readonly problem: string }

function readSecret(path: string): Outcome {
  try {
    const { size, mode } = statSync(path)
    if (size > MAX_BYTES) return { problem: `has more than ${MAX_BYTES / 1024} KiB` }
    const secret = readFileSync(path, 'utf8').replace(/\r?\n$/, '')
    if (secret === '') return { problem: 'is empty' }
    return { secret, isOpen: process.platform !== 'win32' && (mode & TOO_OPEN) !== 0 }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : error
    return { problem: `cannot be read (${code})` }
  }
}
