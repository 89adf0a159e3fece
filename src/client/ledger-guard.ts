import { openCheckpoint, verifyConsistency } from './ledger-proof.ts'
import { type Checkpoint, hashOf, LedgerProofError, parseNote, parseTreeHead } from './ledger-text.ts'
import type { GetCheckpointAnswer, GetCheckpointInput } from './operations.ts'
import type { CallOptions } from './route.ts'

/** Where the last verified checkpoint is stored. Whoever can change it can hide a rollback. */
export interface CheckpointStore {
  /** The stored text; undefined if there is none yet. */
  load(): Promise<string | undefined>
  save(checkpoint: string): Promise<void>
}

/** Keeps the checkpoint for as long as the process runs. */
export function memoryCheckpoints(): CheckpointStore {
  let kept: string | undefined
  return {
    load: async () => kept,
    save: async (checkpoint) => {
      kept = checkpoint
    },
  }
}

export interface LedgerGuardOptions {
  readonly checkpoints: CheckpointStore
  /** The public keys of the log, obtained once from /.well-known/asyncgate-log-key. */
  readonly keys: readonly string[]
}

interface Source {
  getCheckpoint(input?: GetCheckpointInput, options?: CallOptions): Promise<GetCheckpointAnswer>
}

/** Refuses a ledger that has become shorter or was rewritten since the checkpoint that was kept last. */
export class LedgerGuard {
  readonly #source: Source
  readonly #options: LedgerGuardOptions

  constructor(source: Source, options: LedgerGuardOptions) {
    this.#source = source
    this.#options = options
  }

  /**
   * Fetches the latest checkpoint, verifies that it continues the one that was kept, and keeps it instead. Throws
   * LedgerProofError if it does not; the kept one stays.
   */
  async check(options?: CallOptions): Promise<Checkpoint> {
    const { checkpoints, keys } = this.#options
    const kept = await checkpoints.load()
    // Its signature was verified before it was kept, perhaps with a key that has been replaced since.
    const known = kept === undefined ? undefined : parseTreeHead(parseNote(kept).text)
    const latest = await this.#source.getCheckpoint(
      known === undefined ? {} : { from_size: known.size },
      options,
    )
    const current = await openCheckpoint(latest.checkpoint, keys)
    if (known !== undefined) {
      if (known.origin !== current.origin) throw new LedgerProofError('The checkpoint is of another log.')
      if (known.size > current.size) {
        throw new LedgerProofError(
          `The ledger was rolled back: it had ${known.size} receipts and now has ${current.size}.`,
        )
      }
      await verifyConsistency(known, current, (latest.consistency ?? []).map(hashOf))
    }
    await checkpoints.save(latest.checkpoint)
    return current
  }
}
