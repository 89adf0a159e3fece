import type { AuthSettings } from '../../src/auth/credential.ts'
import { findOperation } from '../../src/operations/catalogue.ts'
import { restRequest } from '../equivalence/http.ts'
import type { JsonFields } from '../equivalence/step.ts'
import { type Answer, members, type Served } from '../http/support.ts'
import { bareCall } from '../mcp/endpoint.ts'

const API_KEY = 'a-shared-key-for-tests'
const ADMIN_KEY = 'the-key-of-anna-for-tests'

type Headers = Readonly<Record<string, string>>

/** A way to set up who may call, and how callers prove themselves in it. */
export interface Mode {
  readonly name: string
  readonly auth: AuthSettings
  /** Of programs, which name themselves in their requests. */
  readonly headers: Headers
  /** Of the person anna, who approves. */
  readonly person: { readonly headers: Headers; readonly fields: JsonFields }
}

const ANNA = { principal_kind: 'human', principal_id: 'anna' }
const bearer = (key: string): Headers => ({ authorization: `Bearer ${key}` })

export const MODES: readonly Mode[] = [
  {
    name: 'insecure development',
    auth: { api_key: null, allow_insecure_dev: true },
    headers: {},
    person: { headers: {}, fields: ANNA },
  },
  {
    name: 'a shared key',
    auth: { api_key: API_KEY, allow_insecure_dev: false },
    headers: bearer(API_KEY),
    person: { headers: bearer(API_KEY), fields: ANNA },
  },
  {
    name: 'a shared key and keys of admins',
    auth: { api_key: API_KEY, allow_insecure_dev: false, admin_keys: { anna: ADMIN_KEY } },
    headers: bearer(API_KEY),
    person: { headers: bearer(ADMIN_KEY), fields: {} },
  },
]

/** What tests need of a server, or of several. */
export type Reachable = Pick<Served, 'send'>

/** Sends each request to the other of two servers than the one before. */
export function alternating(first: Reachable, second: Reachable): Reachable {
  let turn = 0
  return { send: (...request) => (turn++ % 2 === 0 ? first : second).send(...request) }
}

/** An operation of the catalogue as it is called over one of the protocols. */
export interface Protocol {
  readonly name: 'REST' | 'MCP'
  call(to: Reachable, operation: string, fields: JsonFields, headers: Headers): Promise<Outcome>
}

export interface Outcome {
  /** The code of the error; undefined if there is none. */
  readonly code: string | undefined
  readonly body: Readonly<Record<string, unknown>>
}

export const PROTOCOLS: readonly Protocol[] = [
  {
    name: 'REST',
    async call(to, name, fields, headers) {
      const operation = findOperation(name)
      if (operation === undefined) throw new Error(`there is no operation ${name}`)
      const { method, path, body } = restRequest(operation, fields)
      return outcome((await to.send(method, path, body, headers)).body)
    },
  },
  {
    name: 'MCP',
    async call(to, name, fields, headers) {
      const { body } = bareCall(`asyncgate.${name}`, fields)
      const answer = await to.send('POST', '/mcp', body, headers)
      const result = members(answer.body.result)
      return result.structuredContent === undefined
        ? protocolError(answer)
        : outcome(result.structuredContent)
    },
  },
]

function outcome(body: unknown): Outcome {
  const all = members(body)
  const isError = typeof all.code === 'string' && typeof all.hint === 'string'
  return { body: all, code: isError ? String(all.code) : undefined }
}

function protocolError({ body, text }: Answer): Outcome {
  const { data } = members(body.error)
  if (data === undefined) throw new Error(`no answer of a tool: ${text}`)
  return outcome(data)
}
