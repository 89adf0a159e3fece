import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../../../util/error-message.ts'
import { CliError, EXIT } from '../../exit.ts'

/** Opens a value in the editor of the user. If the result is not JSON, the file is kept. */
export async function editJson(value: unknown, name: string): Promise<unknown> {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-edit-'))
  const file = join(folder, `${name}.json`)
  const before = `${JSON.stringify(value, null, 2)}\n`
  writeFileSync(file, before, { mode: 0o600 })
  await runEditor(file)
  const after = readFileSync(file, 'utf8')
  if (after.trim() === before.trim() || after.trim() === '') {
    rmSync(folder, { recursive: true, force: true })
    throw new CliError(
      EXIT.usage,
      'Nothing was changed, so nothing was decided.',
      'To approve the payload without changes, leave out --edit.',
    )
  }
  try {
    const edited: unknown = JSON.parse(after)
    rmSync(folder, { recursive: true, force: true })
    return edited
  } catch (error) {
    throw new CliError(
      EXIT.usage,
      `The edited payload is not JSON: ${messageOf(error)}.`,
      `Correct it in ${file} and use --payload @${file}.`,
    )
  }
}

async function runEditor(file: string): Promise<void> {
  const editor = process.env.VISUAL || process.env.EDITOR || 'vi'
  // The shell splits an editor with arguments, such as "code --wait".
  const child = spawn('sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit' })
  const [code] = await once(child, 'close')
  if (code === 0) return
  throw new CliError(
    EXIT.failure,
    `The editor "${editor}" ended with ${code}, so nothing was decided.`,
    `Set EDITOR to a working editor. The payload is in ${file}.`,
  )
}
