import type { Status } from '../core/transitions.ts'

/** Where people reach this server. */
export interface Address {
  /** Without a slash at the end. */
  readonly url: string
  /** Whether it has pages for people at /console. */
  readonly console: boolean
}

/** The default of the CLI. */
const DEFAULT_URL = 'http://127.0.0.1:8080'

/** URLs where people view and decide tasks. The address is known once the server listens. */
export class Links {
  readonly #address: () => Address | undefined

  constructor(address: () => Address | undefined = () => undefined) {
    this.#address = address
  }

  /** The page of a task: the one for decisions if it waits for approval. */
  console(task_id: string, status: Status): { readonly console_url?: string } {
    const address = this.#address()
    if (!address?.console) return {}
    const page = status === 'pending_approval' ? 'approvals' : 'tasks'
    return { console_url: `${address.url}/console/${page}/${task_id}` }
  }

  /** How a person approves a task. */
  approval(task_id: string): string {
    const { console_url } = this.console(task_id, 'pending_approval')
    const url = this.#address()?.url ?? DEFAULT_URL
    const command = `asyncgate approvals approve ${task_id}${url === DEFAULT_URL ? '' : ` --url ${url}`}`
    return (
      'A person or an admin, other than the requester, can approve it: ' +
      `${console_url === undefined ? '' : `${console_url} or `}"${command}". Denying works in the same way.`
    )
  }
}
