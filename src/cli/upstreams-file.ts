import { readFileSync } from 'node:fs'
import { parseDocument } from 'yaml'
import { fileUpstream, type UpstreamRecord } from '../gate/upstreams-shape.ts'
import { CliError, EXIT } from './exit.ts'

/** The upstreams of the operator's file: a list of them in YAML, of which JSON is a part. */
export function readUpstreamsFile(file: string): readonly UpstreamRecord[] {
  const document = parseDocument(readText(file))
  const [error] = document.errors
  if (error !== undefined) throw wrong(file, `is not YAML or JSON: ${error.message.split('\n')[0]}`)
  const content: unknown = document.toJS()
  if (!Array.isArray(content)) throw wrong(file, 'is not a list of upstreams')
  const records: UpstreamRecord[] = []
  for (const [i, item] of content.entries()) {
    const record = checked(file, i, item)
    if (records.some(({ name }) => name === record.name)) throw wrong(file, `has ${record.name} twice`)
    records.push(record)
  }
  return records
}

function checked(file: string, i: number, item: unknown): UpstreamRecord {
  const parsed = fileUpstream.safeParse(item)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const path = ['', ...(issue?.path ?? [])].join('.')
  throw wrong(file, `[${i}]${path} ${issue?.message}`)
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    throw wrong(file, `cannot be read (${String(code)})`)
  }
}

function wrong(file: string, problem: string): CliError {
  const hint = 'It is a list of upstreams, each with a name and a transport; see docs/gateway.md.'
  return new CliError(EXIT.usage, `${file} ${problem}.`.replace(/\.\.$/, '.'), hint)
}
