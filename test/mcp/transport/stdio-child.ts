import { openGate } from '../../../src/features/gate.ts'
import { serveStdioMcp } from '../../../src/mcp/transport/stdio.ts'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import { PROGRAM_LISTING } from '../../support/program.ts'

const gate = openGate({ store: await openSqliteStore({ path: process.argv[2] ?? ':memory:' }) })
serveStdioMcp(gate, { listing: PROGRAM_LISTING, onError: console.error })
process.stdin.once('close', () => void gate.close())
