import { Fault } from '../core/errors.ts'
import { EgressError } from '../egress/error.ts'
import type { GuardedResponse } from '../egress/fetch.ts'
import type { Memory, MemoryNote } from '../features/results/result-store.ts'
import { type ServiceOptions, serviceRequest } from './service-request.ts'

export interface HttpMemoryOptions extends ServiceOptions {
  /** Receives the reason of a failed request, which callers do not see. */
  readonly onError: (error: unknown) => void
}

/** A memory service behind a URL: one POST for each result. */
export function httpMemory({ onError, ...service }: HttpMemoryOptions): Memory {
  const post = serviceRequest(service)
  return {
    async store(note, signal) {
      try {
        return await idIn(await post(bodyOf(note), signal))
      } catch (error) {
        if (!(error instanceof EgressError)) throw error
        onError(new Error(`the memory at ${new URL(service.url).host}: ${error.reason}`, { cause: error }))
        throw new Fault(error.retryable ? 'MEMORY_UNAVAILABLE' : 'MEMORY_REFUSED')
      }
    },
  }
}

function bodyOf(note: MemoryNote): object {
  return {
    source_system: 'asyncgate',
    dedupe_key: note.dedupe_key,
    recipient_ai: note.principal_ai,
    as_observation: note.kind === 'observation',
    domain: note.domain,
    [note.kind]: note.content,
    metadata: {
      task_id: note.task_id,
      task_type: note.type,
      completed_at: note.completed_at,
      encoding: note.encoding,
      media_type: note.media_type,
      result_pointer: note.result_pointer,
    },
  }
}

/** A response with status 409 means that the memory already has the note. */
async function idIn(response: GuardedResponse): Promise<string | null> {
  const { status } = response
  const bytes = await response.bytes()
  if (status === 409 || (status >= 200 && status < 300)) return idOf(bytes)
  throw new Fault(status === 429 || status >= 500 ? 'MEMORY_UNAVAILABLE' : 'MEMORY_REFUSED', { status })
}

/** The id in the response, which is optional. */
function idOf(bytes: Buffer): string | null {
  let body: unknown
  try {
    body = JSON.parse(bytes.toString('utf8'))
  } catch {
    return null
  }
  if (typeof body !== 'object' || body === null) return null
  const id = 'memory_id' in body ? body.memory_id : 'id' in body ? body.id : null
  return typeof id === 'string' || typeof id === 'number' ? String(id) : null
}
