import { chmodSync, closeSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

const OWNER_ONLY = 0o600
const FOLDER_OF_OWNER = 0o700
const OTHERS = 0o077

/** The files beside a database that SQLite makes; it gives them the mode of the database. */
const COMPANIONS = ['', '-wal', '-shm', '-journal']

/** Makes the folder of a file if there is none, for its owner alone. */
export function makeFolder(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: FOLDER_OF_OWNER })
}

/**
 * Makes a database file readable by its owner alone: one that is new, and one that others could read. What fails here is
 * left to SQLite, which says it better.
 */
export function makePrivate(path: string): void {
  create(path)
  for (const companion of COMPANIONS) tighten(`${path}${companion}`)
}

/** Never opens a file that is there: closing it would release the locks that SQLite has on it in this process. */
function create(path: string): void {
  try {
    closeSync(openSync(path, 'wx', OWNER_ONLY))
  } catch {
    return
  }
}

function tighten(path: string): void {
  try {
    const { mode } = statSync(path)
    if ((mode & OTHERS) !== 0) chmodSync(path, OWNER_ONLY)
  } catch {
    return
  }
}
