import { invalid } from '../core/errors.ts'

export interface Part {
  readonly name: string
  readonly filename: string | undefined
  readonly media_type: string
  readonly content: Buffer
}

const MAX_PARTS = 200

/** The parts of a multipart/form-data body (RFC 7578). The bytes of each stay as they are, whatever their charset. */
export function parseMultipart(contentType: string, body: Buffer): Part[] {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;]{1,70}))/i.exec(contentType) ?? []
  const boundary = quoted ?? plain
  if (boundary === undefined) throw invalid('', 'is multipart without a boundary')
  const parts: Part[] = []
  const delimiter = Buffer.from(`\r\n--${boundary}`)
  // The first delimiter may stand at the very start.
  let at = body.indexOf(delimiter.subarray(2))
  if (at > 0) at = body.indexOf(delimiter)
  let start = at < 0 ? -1 : at + (at === 0 ? delimiter.length - 2 : delimiter.length)
  while (start >= 0 && body.toString('latin1', start, start + 2) === '\r\n') {
    const end = body.indexOf(delimiter, start)
    if (end < 0) throw invalid('', 'ends before the end of its last part')
    parts.push(readPart(body.subarray(start + 2, end)))
    if (parts.length > MAX_PARTS) throw invalid('', `has more than ${MAX_PARTS} parts`)
    start = end + delimiter.length
  }
  if (start < 0 || body.toString('latin1', start, start + 2) !== '--') {
    throw invalid('', 'is not multipart as its boundary says')
  }
  return parts
}

function readPart(bytes: Buffer): Part {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) throw invalid('', 'has a part without headers')
  const headers = new Map(
    bytes
      .toString('utf8', 0, end)
      .split('\r\n')
      .map((line): [string, string] => {
        const colon = line.indexOf(':')
        return [line.slice(0, Math.max(0, colon)).trim().toLowerCase(), line.slice(colon + 1).trim()]
      }),
  )
  const disposition = headers.get('content-disposition') ?? ''
  const name = parameter(disposition, 'name')
  if (name === undefined) throw invalid('', 'has a part without a name')
  return {
    name,
    filename: parameter(disposition, 'filename'),
    media_type: headers.get('content-type')?.split(';')[0]?.trim() ?? 'text/plain',
    content: bytes.subarray(end + 4),
  }
}

/** As browsers write it: quotes and line breaks are percent-encoded, nothing else is. */
function parameter(header: string, name: string): string | undefined {
  const [, quoted, plain] = new RegExp(`;\\s*${name}=(?:"([^"]*)"|([^\\s;]+))`, 'i').exec(header) ?? []
  return (quoted ?? plain)?.replace(/%(22|0D|0A)/gi, (code) => decodeURIComponent(code))
}
