import { openGate } from '../../src/gate/gate.ts'
import { serveStdioMcp } from '../../src/mcp/stdio.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'

const gate = openGate({ store: await openSqliteStore({ path: process.argv[2] ?? ':memory:' }) })
serveStdioMcp(gate, { onError: console.error })
process.stdin.once('close', () => void gate.close())
