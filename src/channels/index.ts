import { blobChannel } from './blob.ts'
import { fileChannel } from './file.ts'
import { gistChannel } from './gist.ts'
import { httpChannel } from './http.ts'
import { inlineChannel } from './inline.ts'
import { s3Channel } from './s3.ts'
import { channelResults, type WorkerResults } from './worker-results.ts'

export { type BlobOptions, blobChannel } from './blob.ts'
export type { Capabilities, Channel, Fetched, Part, Payload, PutOptions, Stored } from './channel.ts'
export { type FileOptions, fileChannel } from './file.ts'
export { type GistOptions, gistChannel } from './gist.ts'
export { type HttpOptions, httpChannel } from './http.ts'
export { inlineChannel } from './inline.ts'
export { type Expected, verified } from './payload.ts'
export { type ChannelSettings, Channels, openChannels, resultStore } from './registry.ts'
export { type S3Options, s3Channel } from './s3.ts'
export { channelResults, type GateResultsOptions, gateResults, type WorkerResults } from './worker-results.ts'

/** The `results` option of a worker with one channel. */
export const inlineResults = (): WorkerResults => channelResults(inlineChannel())
export const fileResults = (...options: Parameters<typeof fileChannel>): WorkerResults =>
  channelResults(fileChannel(...options))
export const blobResults = (...options: Parameters<typeof blobChannel>): WorkerResults =>
  channelResults(blobChannel(...options))
export const s3Results = (...options: Parameters<typeof s3Channel>): WorkerResults =>
  channelResults(s3Channel(...options))
export const httpResults = (...options: Parameters<typeof httpChannel>): WorkerResults =>
  channelResults(httpChannel(...options))
export const gistResults = (...options: Parameters<typeof gistChannel>): WorkerResults =>
  channelResults(gistChannel(...options))
