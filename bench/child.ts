import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

/** A process that answers each message with a number. */
export async function startChild(path: string, args: readonly string[], cwd: string) {
  const child = fork(path, args, { cwd, execArgv: ['--import', 'tsx'] })
  const exited = once(child, 'exit')
  await reply(child)
  return {
    pid: child.pid ?? Number.NaN,
    async ask(message: object): Promise<number> {
      child.send(message)
      return Number(await reply(child))
    },
    async stop() {
      child.disconnect()
      await exited
    },
  }
}

/** The next message of a child process; an error if it ends first. */
function reply(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) => reject(new Error(`a measured process ended with ${code}`))
    child.once('exit', onExit)
    child.once('message', (message) => {
      child.off('exit', onExit)
      resolve(message)
    })
  })
}
