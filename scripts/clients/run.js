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
    const { isError, content } = await session.call(`asyncgate_${name}`, args)
    if (isError) throw new Error(`${name} answered ${JSON.stringify(content)}`)
    return dataOf(content)
  }

  const tools = await session.listTools()
  const { task_id } = await call('create_task', { type: 'echo', payload: { from: program } })
  const task = await call('wait_for_task', { task_id, wait_seconds: 20 })
  const followed = await session.follow?.('echo', { from: program })
  await session.close()
  return {
    revision: session.revision,
    tools,
    task,
    followed: followed && dataOf(followed.content),
    ms: performance.now() - start,
  }
}

const report = await use().catch((error) => ({ problem: explain(error) }))
process.send(report, () => process.exit())

/** The data of a result, which has one text. */
function dataOf([{ text }]) {
  return JSON.parse(text)
}

/** The message of an error and of its causes. */
function explain(error) {
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : `${error.message}: ${explain(error.cause)}`
}
