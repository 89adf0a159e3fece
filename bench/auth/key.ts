import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { issueKey } from '../../dist/features/keys/format.js'
import { cryptoRandom } from '../../dist/util/random.js'
import { type Database, openGateOn, urlOf } from '../engine/databases.ts'

const PROGRAM = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** An issued key that may create and lease tasks. */
export function createKey(database: Database): string {
  const args = [PROGRAM, 'keys', 'create', '--principal', 'agent:alice', '--role', 'admin', '--json']
  const printed = execFileSync(process.execPath, args, {
    encoding: 'utf8',
    env: { ...process.env, ASYNCGATE_DATABASE_URL: urlOf(database) },
  })
  return JSON.parse(printed).key
}

/** Makes keys that a server refuses. */
export type MakeKey = () => string

/** Keys with the right form and a wrong checksum, as a client without any secret of the server can make them. */
export function junkKeys(key: string): MakeKey {
  return () => key.slice(0, 18) + randomBytes(19).toString('hex')
}

/**
 * Keys with the id of an issued key and the right checksum for a wrong secret, so that the server has to compute a hash. A
 * client needs a secret of the database to make them, so this is the worst case.
 */
export async function wrongSecrets(database: Database, key: string): Promise<MakeKey> {
  const gate = await openGateOn(database)
  const pepper = await gate.secretFor('checksum of issued keys')
  const { tenant } = await gate.tenant('default')
  await gate.close()
  const id = Buffer.from([...key.slice(10, 18)].map((digit) => DIGITS.indexOf(digit))).toString('hex')
  const random = cryptoRandom()
  return () => {
    const hex = [id]
    return issueKey('aga', tenant, pepper, { hex: (count) => hex.pop() ?? random.hex(count) }).key
  }
}
