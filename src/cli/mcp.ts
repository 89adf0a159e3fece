import { openGate } from '../gate/gate.ts'
import { createLogger, logErrors } from '../http/log.ts'
import { serveStdioMcp } from '../mcp/stdio.ts'
import { command } from './command.ts'
import { openStore } from './open-store.ts'
import { configOf, SETTINGS_OPTIONS } from './settings-options.ts'
import { stopRequested } from './signals.ts'

export const mcp = command({
  name: 'mcp',
  summary: 'Serve MCP on stdin and stdout, straight from the database, for a client that starts its servers.',
  options: SETTINGS_OPTIONS,
  notes: () =>
    'A SQLite file has one server at a time. If "asyncgate dev" or "serve" has it, use the URL of that server\n' +
    'instead: "asyncgate mcp config" prints the settings.',
  async run(input) {
    const { database, settings, server, logLevel } = configOf(input)
    const logger = createLogger(logLevel)
    const onError = logErrors(logger)
    const gate = openGate({
      store: await openStore(database),
      settings,
      environment: server.env,
      onError,
    })
    const served = serveStdioMcp(gate, { toolNames: server.mcp_tool_names, onError })
    await Promise.race([new Promise((resolve) => process.stdin.once('close', resolve)), stopRequested()])
    await served.close()
    await gate.close()
    logger.flush()
    return undefined
  },
})
