import { fileUpstream, type UpstreamRecord } from '../features/upstreams/shape.ts'
import { OperatorFile } from './operator-file.ts'

const HINT = 'It is a list of upstreams, each with a name and a transport; see docs/gateway.md.'

/** The upstreams of the operator's file: a list of them. */
export function readUpstreamsFile(path: string): readonly UpstreamRecord[] {
  const file = new OperatorFile(path, HINT)
  if (!Array.isArray(file.content)) throw file.wrong('is not a list of upstreams')
  const records: UpstreamRecord[] = []
  for (const [i, item] of file.content.entries()) {
    const record = checked(file, i, item)
    if (records.some(({ name }) => name === record.name)) throw file.wrong(`has ${record.name} twice`)
    records.push(record)
  }
  return records
}

function checked(file: OperatorFile, i: number, item: unknown): UpstreamRecord {
  const parsed = fileUpstream.safeParse(item)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const path = ['', ...(issue?.path ?? [])].join('.')
  throw file.wrong(`[${i}]${path} ${issue?.message}`)
}
