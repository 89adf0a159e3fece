import { openGate } from '../../../features/gate.ts'
import { createLogger, logErrors } from '../../../http/log.ts'
import { serveStdioMcp } from '../../../mcp/transport/stdio.ts'
import { gistOptions } from '../../../server/gist-options.ts'
import { checkKeyExposure } from '../../../server/key-exposure.ts'
import { openMemory } from '../../../server/open-memory.ts'
import { openResults } from '../../../server/open-results.ts'
import { openStore } from '../../../server/open-store.ts'
import { openPolicy } from '../../../server/policies-file.ts'
import { openSessions } from '../../../server/sessions-service.ts'
import { readTypesFile, registerTypes } from '../../../server/types-file.ts'
import { openUpstreams, readUpstreams } from '../../../server/upstreams-service.ts'
import { command } from '../../command.ts'
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
    const { database, settings, server, logLevel, mail: mailConfig } = config
    const logger = createLogger(logLevel)
    const onError = logErrors(logger)
    const types = server.task_types_file === null ? [] : await readTypesFile(server.task_types_file)
    const policy = await openPolicy(server)
    const fixed = readUpstreams(server)
    const gist = await gistOptions(config)
    checkKeyExposure(fixed)
    const store = await openStore(database)
    const mail =
      mailConfig &&
      (await (await import('../../../server/email-service.ts')).openMail(mailConfig, store, logger))
    const upstreams = await openUpstreams(server, store, logger, fixed)
    const gate = openGate({
      store,
      address: () =>
        server.public_url === null
          ? undefined
          : { url: server.public_url.replace(/\/+$/, ''), console: server.console },
      settings,
      environment: server.env,
      onError,
      results: await openResults(config, store, mail?.queue, gist),
      memory: await openMemory(config, onError),
      policy,
      upstreams,
      ...(mail && { mail: mail.queue }),
    })
    await mail?.start(gate)
    await registerTypes(gate, types)
    const { sessions, source } = openSessions(server, gate, upstreams, store, onError)
    await upstreams.start()
    await sessions.start()
    const served = serveStdioMcp(gate, {
      sources: [source],
      toolNames: server.mcp_tool_names,
      oldNames: server.legacy_tools,
      onError,
    })
    await Promise.race([new Promise((resolve) => process.stdin.once('close', resolve)), stopRequested()])
    await served.close()
    await sessions.stop()
    await upstreams.close()
    await mail?.stop()
    await gate.close()
    logger.flush()
    return undefined
  },
})
