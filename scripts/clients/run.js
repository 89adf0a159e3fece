/**
 * Lists the tools of a server, runs one echo task to its end with one client, follows a task tool if the client supports
 * it, and sends the observations to the parent process. It runs from a copy in the folder of the installed clients.
 *
 *   run.js PROGRAM ERA URL
 */
const [program, era, url] = process.argv.slice(2)

async function use() {
  const { connect } = await import(`./${program}.js`)
  const start = performance.now()
  const session = await connect(url, era)
  const call = async (name, args) => {
    const { isError, content, structuredContent } = await session.call(`asyncgate.${name}`, args)
    if (isError || !structuredContent) throw new Error(`${name} answered ${JSON.stringify(content)}`)
    return structuredContent
  }

  const tools = await session.listTools()
  const who = { agent_id: 'client-check' }
  const { task_id } = await call('create_task', { type: 'echo', payload: { from: program }, ...who })
  const task = await call('wait_for_task', { task_id, wait_seconds: 20, ...who })
  const followed = await session.follow?.('echo', { from: program, ...who })
  await session.close()
  return {
    revision: session.revision,
    tools,
    task,
    followed: followed?.structuredContent,
    ms: performance.now() - start,
  }
}

const report = await use().catch((error) => ({ problem: explain(error) }))
process.send(report, () => process.exit())

/** The message of an error and of its causes. */
function explain(error) {
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : `${error.message}: ${explain(error.cause)}`
}
