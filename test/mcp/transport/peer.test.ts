import { describe, expect, it } from 'vitest'
import {
  capabilitiesOfLetters,
  lettersOf,
  PeerError,
  PeerState,
  peerCapabilities,
  readResponse,
} from '../../../src/mcp/transport/peer.ts'

describe('declared capabilities', () => {
  it.each([
    [{}, []],
    [undefined, []],
    [{ elicitation: {} }, ['elicitation.form']],
    [{ elicitation: { url: {} } }, ['elicitation.url']],
    [{ elicitation: { form: {}, url: {} } }, ['elicitation.form', 'elicitation.url']],
    [{ sampling: {}, roots: { listChanged: true } }, ['sampling', 'roots']],
    [{ sampling: { tools: {} } }, ['sampling', 'sampling.tools']],
    [{ elicitation: 1, sampling: [], roots: 'yes' }, []],
  ])('%j is read, written as letters and read again', (declared, names) => {
    const capabilities = peerCapabilities(declared)
    expect([...capabilities]).toEqual(names)
    expect(capabilitiesOfLetters(lettersOf(capabilities))).toBe(capabilities)
  })

  it('unknown letters are ignored', () => {
    expect([...capabilitiesOfLetters('r?xf')]).toEqual(['elicitation.form', 'roots'])
  })
})

describe('requests to a client', () => {
  const connect = () => {
    const sent: object[] = []
    const state = new PeerState()
    return {
      sent,
      requests: state.requests,
      peer: state.peer(peerCapabilities({}), (message) => sent.push(message)),
    }
  }

  it('a request resolves with the result of the response with its id', async () => {
    const { sent, requests, peer } = connect()
    const asked = peer.request('roots/list', {}, { id: 'mine' })
    expect(sent).toEqual([{ jsonrpc: '2.0', id: 'mine', method: 'roots/list', params: {} }])
    expect(requests.settle({ id: 'other', result: {} })).toBe(false)
    expect(requests.settle({ id: 'mine', result: { roots: [] } })).toBe(true)
    expect(await asked).toEqual({ roots: [] })
    expect(requests.settle({ id: 'mine', result: {} })).toBe(false)
  })

  it('ids are unguessable by default', async () => {
    const { sent, peer } = connect()
    void peer.request('ping', {})
    void peer.request('ping', {})
    const ids = new Set(sent.map((message) => 'id' in message && message.id))
    expect(ids.size).toBe(2)
    for (const id of ids) expect(id).toMatch(/^[0-9a-f-]{36}$/)
  })

  it('an error of the client rejects the request', async () => {
    const { requests, peer } = connect()
    const asked = peer.request('elicitation/create', {}, { id: 'q' })
    const response = readResponse({ jsonrpc: '2.0', id: 'q', error: { code: -32601, message: 'no forms' } })
    if (response === undefined) throw new Error('not a response')
    requests.settle(response)
    await expect(asked).rejects.toThrow(PeerError)
    await expect(asked).rejects.toMatchObject({ code: -32601, message: 'no forms' })
  })

  it('an aborted request rejects and is canceled at the client once', async () => {
    const { sent, requests, peer } = connect()
    const controller = new AbortController()
    const asked = peer.request('sampling/createMessage', {}, { id: 'q', signal: controller.signal })
    controller.abort(new Error('timeout'))
    await expect(asked).rejects.toThrow('timeout')
    expect(sent.slice(1)).toEqual([
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'q' } },
    ])
    expect(requests.size).toBe(0)
    await expect(peer.request('ping', {}, { signal: controller.signal })).rejects.toThrow('timeout')
    expect(sent).toHaveLength(2)
  })

  it('two requests with the same id get the same response', async () => {
    const { requests, peer } = connect()
    const both = [peer.request('ping', {}, { id: 'q' }), peer.request('ping', {}, { id: 'q' })]
    requests.settle({ id: 'q', result: { ok: true } })
    expect(await Promise.all(both)).toEqual([{ ok: true }, { ok: true }])
  })

  it('waiting requests reject when the client leaves', async () => {
    const { requests, peer } = connect()
    const asked = peer.request('ping', {})
    requests.close()
    await expect(asked).rejects.toMatchObject({ code: 'MCP_SESSION_NOT_FOUND' })
  })

  it('log messages below the level of the client are dropped', () => {
    const { sent, peer } = connect()
    const log = (level: string) => peer.notify('notifications/message', { level, data: level })
    log('debug')
    peer.setLogLevel('warning')
    for (const level of ['info', 'warning', 'emergency', 'nonsense']) log(level)
    peer.notify('notifications/progress', { progress: 1 })
    expect(sent).toMatchObject([
      { params: { level: 'debug' } },
      { params: { level: 'warning' } },
      { params: { level: 'emergency' } },
      { params: { progress: 1 } },
    ])
  })

  it('a client that never responds has a limit of open requests', async () => {
    const { requests, peer } = connect()
    for (let i = 0; i < 64; i++) void peer.request('ping', {}).catch(() => {})
    await expect(peer.request('ping', {})).rejects.toMatchObject({ code: 'OVERLOADED' })
    requests.close()
  })
})

it('messages that are no response to a request of the server are not read as one', () => {
  expect(readResponse({ jsonrpc: '2.0', id: 7, result: {} })).toBeUndefined()
  expect(readResponse({ jsonrpc: '2.0', id: 'x', method: 'ping' })).toBeUndefined()
  expect(readResponse({ jsonrpc: '2.0', id: 'x' })).toBeUndefined()
  expect(readResponse([{ jsonrpc: '2.0', id: 'x', result: {} }])).toBeUndefined()
  expect(readResponse({ jsonrpc: '2.0', id: 'x', result: 'text' })).toBeUndefined()
})
