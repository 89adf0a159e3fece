import type { Server, ServerCapabilities } from '@modelcontextprotocol/server'
import type { CallOf } from '../server.ts'

/** A list whose changes clients hear of. */
export type ListKind = 'tools' | 'prompts' | 'resources'

/** Where prompts and resources come from. */
export interface ReadSource {
  /** What there is at present. */
  capabilities(): ServerCapabilities
  /** Serves what the capabilities of the server announce. */
  serve(server: Server, callOf: CallOf): void
  /** Calls back when a list is another one. Returns the way to stop listening. */
  onChange(listener: (kind: ListKind) => void): () => void
}
