import { Fault } from '../core/errors.ts'
import type { ResultContent, ResultStore } from '../features/results/result-store.ts'
import { type BlobOptions, blobChannel } from './blob.ts'
import type { Channel } from './channel.ts'
import { type FileOptions, fileChannel } from './file.ts'
import { type GistOptions, gistChannel } from './gist.ts'
import { type HttpOptions, httpChannel } from './http.ts'
import { inlineChannel } from './inline.ts'
import { once, verified } from './payload.ts'
import { channelOf } from './pointer.ts'
import { type S3Options, s3Channel } from './s3.ts'

/** The channels to open: those whose options are given. */
export interface ChannelSettings {
  readonly blob?: BlobOptions | undefined
  readonly file?: FileOptions | undefined
  readonly s3?: S3Options | undefined
  readonly http?: HttpOptions | undefined
  readonly gist?: GistOptions | undefined
  /** Channels that are created elsewhere. */
  readonly others?: readonly Channel[] | undefined
  /** The channels of one tenant, whose storage other tenants cannot use. */
  readonly ofTenant?: ((tenant: number) => readonly Channel[]) | undefined
}

/** A new channel is one module and one line here. Channels open their storage on first use. */
export function openChannels(settings: ChannelSettings): Channels {
  const { blob, file, s3, http, gist, others = [], ofTenant } = settings
  const shared = [
    inlineChannel(),
    ...(blob ? [blobChannel(blob)] : []),
    ...(file ? [fileChannel(file)] : []),
    ...(s3 ? [s3Channel(s3)] : []),
    ...(http ? [httpChannel(http)] : []),
    ...(gist ? [gistChannel(gist)] : []),
    ...others,
  ]
  return new Channels(shared, ofTenant)
}

/** Other pointer prefixes of a channel. */
const ALIASES: Readonly<Record<string, string | undefined>> = { https: 'http' }

export class Channels {
  readonly #shared: ReadonlyMap<string, Channel>
  readonly #ofTenant: (tenant: number) => readonly Channel[]

  constructor(shared: readonly Channel[], ofTenant: (tenant: number) => readonly Channel[] = () => []) {
    this.#shared = new Map(shared.map((channel) => [channel.name, channel]))
    this.#ofTenant = ofTenant
  }

  /** The names of the channels that a tenant can use. */
  names(tenant: number): readonly string[] {
    return [...this.#shared.keys(), ...this.#ofTenant(tenant).map(({ name }) => name)]
  }

  find(tenant: number, name: string): Channel | undefined {
    const shared = this.#shared.get(name) ?? this.#shared.get(ALIASES[name] ?? '')
    return shared ?? this.#ofTenant(tenant).find((channel) => channel.name === name)
  }
}

/**
 * The channels as the result store of the server. `standard` is the channel of types without their own; null for none.
 * `fallback` replaces it for tenants that do not have it.
 */
export function resultStore(
  channels: Channels,
  standard: string | null,
  fallback: string | null = standard,
): ResultStore {
  const has = (tenant: number, name: string) => channels.find(tenant, name) !== undefined
  const named = (tenant: number, name: string, pointer?: string): Channel => {
    const channel = channels.find(tenant, name)
    if (channel !== undefined) return channel
    throw new Fault('CHANNEL_NOT_CONFIGURED', { channel: name, ...(pointer !== undefined && { pointer }) })
  }
  return {
    channelOf: (tenant) => (standard === null || has(tenant, standard) ? standard : fallback),
    has,
    async put({ tenant, task_id, ...about }, content, { channel: name, media_type, max_bytes, reference }) {
      const channel = named(tenant, name)
      const limit = Math.min(max_bytes, channel.capabilities().max_size_bytes ?? max_bytes)
      return channel.put(task_id, limited(content, limit), { media_type, reference, about })
    },
    async get({ tenant, task_id: taskId }, artifact) {
      const { pointer, channel } = artifact
      const expected = { checksum: artifact.checksum ?? undefined, size: artifact.size ?? undefined }
      const { size, read } = await named(tenant, channel, pointer).get(pointer, { taskId })
      if (size !== undefined && expected.size !== undefined && size !== expected.size) {
        throw new Fault('RESULT_CORRUPT', { expected, found: { size } })
      }
      return { size, read: (part) => (part === undefined ? verified(read(), expected) : read(part)) }
    },
    async ack({ tenant, task_id: taskId }, pointer, reference) {
      await named(tenant, channelOf(pointer) ?? '', pointer).ack(pointer, { taskId, reference })
    },
  }
}

function limited(content: ResultContent, limit: number): ResultContent {
  if (!(content instanceof Uint8Array)) return atMost(content, limit)
  return content.length <= limit ? content : atMost(once(content), limit)
}

async function* atMost(content: AsyncIterable<Uint8Array>, limit: number): AsyncGenerator<Uint8Array> {
  let left = limit
  for await (const chunk of content) {
    left -= chunk.length
    if (left < 0) throw new Fault('PAYLOAD_TOO_LARGE', { limit_bytes: limit })
    yield chunk
  }
}
