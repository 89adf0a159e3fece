import { z } from 'zod'
import { listingOf } from '../../src/mcp/tools/listing.ts'

/** The query with which a program gets all tools, the schemas of their results, and results as data. */
export const PROGRAM = '?toolsets=all&schemas=output'

/** The same for connections without a URL. */
export const PROGRAM_LISTING = listingOf(['all'], true)

const Text = z.object({ content: z.tuple([z.object({ type: z.literal('text'), text: z.string() })]) })

/** The data of a result that a model reads as one JSON text. */
export function textData(result: unknown): unknown {
  return JSON.parse(Text.parse(result).content[0].text)
}
