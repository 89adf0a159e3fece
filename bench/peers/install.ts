import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The newest versions that run on Node 20. */
export const VERSIONS = {
  'graphile-worker': '0.17.3',
  'pg-boss': '10.4.2',
  bullmq: '6.7.0',
  ioredis: '6.0.0',
  '@dbos-inc/dbos-sdk': '5.3.0',
  plainjob: '0.0.14',
}

export const VERSION_NOTE =
  'Versions are the newest for Node 20: graphile-worker 0.18 needs Node 22.18, pg-boss 11 and 12 need Node 22.'

const FOLDER = fileURLToPath(new URL('../../.cache/peers', import.meta.url))

/** Installs the peers into a folder outside of the project's dependencies, once for each table of versions. Returns the folder. */
export async function installPeers(signal: AbortSignal): Promise<string> {
  const wanted = `${JSON.stringify({ private: true, dependencies: VERSIONS }, null, 2)}\n`
  const complete = join(FOLDER, 'installed.json')
  if (existsSync(complete) && readFileSync(complete, 'utf8') === wanted) return FOLDER
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(join(FOLDER, 'package.json'), wanted)
  console.log(`Installing the peers into ${FOLDER}`)
  const args = [
    'install',
    '--prefix',
    FOLDER,
    '--no-audit',
    '--no-fund',
    '--ignore-scripts',
    '--loglevel=error',
  ]
  const npm = spawn('npm', args, { cwd: FOLDER, stdio: 'inherit', signal })
  const [code] = await once(npm, 'close')
  if (code !== 0) throw new Error(`npm could not install the peers into ${FOLDER} (exit code ${code})`)
  writeFileSync(complete, wanted)
  return FOLDER
}
