import { readLogKeys } from '../core/merkle/log-key.ts'
import { integer, Kind } from './kinds.ts'

const DAY_SECONDS = 24 * 3600

const logName = new Kind<string>(
  'a name like asyncgate.example.com, without spaces and plus signs',
  (value) =>
    typeof value === 'string' && /^[\w.:/~-]{1,200}$/.test(value.trim()) ? value.trim() : undefined,
)

const signingKeys = new Kind<string>('Ed25519 private keys in PEM format', (value) =>
  typeof value === 'string' && readLogKeys(value) !== undefined ? value : undefined,
)

/** The settings of the verifiable log of receipts. */
export const ledgerLogFields = {
  ledger_name: logName.default(
    'asyncgate',
    'Name of this installation in signed checkpoints, unique among those that a verifier knows; see docs/ledger.md.',
  ),
  ledger_checkpoint_seconds: integer(0, DAY_SECONDS).default(
    10,
    'How often a checkpoint of new receipts is signed. 0 signs one only when a client asks for a proof.',
  ),
  ledger_signing_key: signingKeys.secret(
    'The keys that sign checkpoints, newest first. Default: a key that the server creates and stores in the database.',
  ),
} as const
