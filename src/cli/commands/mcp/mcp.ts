import { createLogger } from '../../../http/log.ts'
import { openLocalGate } from '../../../server/open-server.ts'
import { command } from '../../command.ts'
import { warn } from '../../output.ts'
import { configOf, SETTINGS_OPTIONS } from '../../settings-options.ts'
import { stopRequested } from '../../signals.ts'

export const mcp = command({
  name: 'mcp',
  summary: 'Serve MCP on stdin and stdout, straight from the database, for a client that starts its servers.',
  options: SETTINGS_OPTIONS,
  notes: () =>
    'A SQLite file has one server at a time. If "asyncgate dev" or "serve" has it, use the URL of that server\n' +
    'instead: "asyncgate mcp config" prints the settings.',
  async run(input) {
    const config = configOf(input)
    const logger = createLogger(config.logLevel)
    const opened = await openLocalGate(config, logger, { warn })
    const served = opened.serveStdio()
    await Promise.race([new Promise((resolve) => process.stdin.once('close', resolve)), stopRequested()])
    await served.close()
    await opened.close()
    logger.flush()
    return undefined
  },
})
