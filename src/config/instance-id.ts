import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'

type Environment = Readonly<Record<string, string | undefined>>

export interface Machine {
  hostname(): string
  /** Eight random characters. */
  random(): string
}

export const thisMachine: Machine = {
  hostname: () => hostname(),
  random: () => randomBytes(4).toString('hex'),
}

/** A name for this instance, detected from the platform, and its source. */
export function detectInstanceId(
  env: Environment,
  machine: Machine = thisMachine,
): { id: string; from: string } {
  const { FLY_ALLOC_ID, HOSTNAME, ECS_CONTAINER_METADATA_URI_V4, K_REVISION } = env
  if (FLY_ALLOC_ID) return { id: FLY_ALLOC_ID, from: 'FLY_ALLOC_ID' }
  // Names with a hyphen come from orchestrators. Other host names may not be unique.
  if (HOSTNAME?.includes('-')) return { id: HOSTNAME, from: 'HOSTNAME' }
  const container = ECS_CONTAINER_METADATA_URI_V4?.split('/').findLast((part) => part !== '')
  if (container) return { id: container, from: 'ECS_CONTAINER_METADATA_URI_V4' }
  if (K_REVISION) return { id: `${K_REVISION}-${machine.random()}`, from: 'K_REVISION' }
  return { id: `${machine.hostname()}-${machine.random()}`, from: 'the host name' }
}
