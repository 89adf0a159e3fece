import { visibleText } from '../../../util/untrusted-text.ts'
import { CliError, EXIT } from '../../exit.ts'
import { type Output, paint } from '../../output.ts'
import type { Connection, McpClient } from './clients.ts'
import type { SettingsLocation } from './places.ts'
import { readSettingsFile, writeSettingsFile } from './settings-file.ts'
import { UnsafeEdit } from './settings-text.ts'

export interface ClientChange {
  readonly file: string
  /** A unified diff; empty if nothing changes. */
  readonly diff: readonly string[]
  write(): Promise<void>
}

/** The settings of a client as a file of their own. */
export function settingsText(client: McpClient, connection: Connection): Promise<string> {
  return edited(client, '', connection, false)
}

/** Prepares the change of a settings file. */
export async function addToClient(
  client: McpClient,
  location: SettingsLocation,
  connection: Connection,
  isRemoval: boolean,
): Promise<ClientChange> {
  const file = await readSettingsFile(location)
  const before = file.text ?? ''
  try {
    const after = await edited(client, before, connection, isRemoval)
    const { unifiedDiff } = await import('./diff.ts')
    const diff = unifiedDiff(before, after, file.path)
    return { file: file.path, diff, write: () => writeSettingsFile(file, after) }
  } catch (error) {
    if (!(error instanceof UnsafeEdit)) throw error
    throw new CliError(
      EXIT.failure,
      `${file.path} cannot be edited safely: ${error.message}. Nothing was changed.`,
      isRemoval
        ? 'Remove the entry asyncgate by hand.'
        : `Correct the file, or add this by hand:\n\n${await settingsText(client, connection)}`,
    )
  }
}

async function edited(
  { editor: load, settings }: McpClient,
  text: string,
  connection: Connection,
  isRemoval: boolean,
): Promise<string> {
  const editor = await load()
  if (!isRemoval) {
    return settings(connection).reduce((before, { path, value }) => editor.set(before, path, value), text)
  }
  // An earlier run may have added the settings for a key.
  return settings({ ...connection, withKey: true })
    .toReversed()
    .reduce((before, { path }) => editor.remove(before, path), text)
}

/** Prints a diff. The file may come from others, so that its hidden characters are made visible. */
export function printDiff(output: Output, diff: readonly string[]): void {
  for (const line of diff.map(visibleText)) {
    if (line.startsWith('+')) output.print(paint('green', line))
    else if (line.startsWith('-')) output.print(paint('red', line))
    else output.print(line.startsWith('@@') ? paint('cyan', line) : line)
  }
}
