import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Servers that tests start store the key of their person in a folder of the run, never in that of the developer. */
export default function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-config-'))
  process.env.XDG_CONFIG_HOME = folder
  return () => rmSync(folder, { recursive: true, force: true })
}
