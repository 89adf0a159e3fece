import { type BlobOptions, blobChannel } from './blob.ts'
import type { Channel } from './channel.ts'
import { type DatabaseOptions, databaseChannel } from './database.ts'
import { type FileOptions, fileChannel } from './file.ts'
import { type GistOptions, gistChannel } from './gist.ts'
import { type HttpOptions, httpChannel } from './http.ts'
import { inlineChannel } from './inline.ts'
import { type S3Options, s3Channel } from './s3.ts'

/** Which channels there are: those whose options are given. */
export interface ChannelSettings {
  readonly database?: DatabaseOptions | undefined
  readonly blob?: BlobOptions | undefined
  readonly file?: FileOptions | undefined
  readonly s3?: S3Options | undefined
  readonly http?: HttpOptions | undefined
  readonly gist?: GistOptions | undefined
  /** Channels that are made elsewhere. */
  readonly others?: readonly Channel[] | undefined
}

/** A new channel is a module of its own and one line here. Nothing is opened before it is used. */
export function openChannels(settings: ChannelSettings): Channels {
  const { database, blob, file, s3, http, gist, others = [] } = settings
  return new Channels([
    inlineChannel(),
    ...(database ? [databaseChannel(database)] : []),
    ...(blob ? [blobChannel(blob)] : []),
    ...(file ? [fileChannel(file)] : []),
    ...(s3 ? [s3Channel(s3)] : []),
    ...(http ? [httpChannel(http)] : []),
    ...(gist ? [gistChannel(gist)] : []),
    ...others,
  ])
}

/** Prefixes of pointers that are a channel under another name. */
const ALIASES: Readonly<Record<string, string | undefined>> = { https: 'http' }

export class Channels {
  readonly #byName: ReadonlyMap<string, Channel>

  constructor(channels: readonly Channel[]) {
    this.#byName = new Map(channels.map((channel) => [channel.name, channel]))
  }

  get names(): readonly string[] {
    return [...this.#byName.keys()]
  }

  find(name: string): Channel | undefined {
    return this.#byName.get(name) ?? this.#byName.get(ALIASES[name] ?? '')
  }
}
