import type { Config } from '../config/index.ts'
import type { Memory } from '../features/results/memory.ts'
import { egressOf } from './egress.ts'

/** The memory of the settings, if they name one. */
export async function openMemory(
  { server }: Config,
  onError: (error: unknown) => void,
): Promise<Memory | undefined> {
  const { memory_url, memory_token } = server
  if (memory_url === null) return undefined
  const { httpMemory } = await import('../memory/http-memory.ts')
  return httpMemory({ url: memory_url, token: memory_token ?? undefined, egress: egressOf(server), onError })
}
