import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { hasLeft, OpenRequest } from '../../../src/mcp/transport/open-call.ts'

const response = () => new ServerResponse(new IncomingMessage(new Socket()))

describe('requests in progress', () => {
  it('no listener is added until the signal is read', () => {
    const answer = response()
    const request = new OpenRequest(answer, false)
    expect(answer.listenerCount('close')).toBe(0)
    expect(request.signal.aborted).toBe(false)
    expect(answer.listenerCount('close')).toBe(1)
    expect(request.signal).toBe(request.signal)
  })

  it('the signal is aborted when the client disconnects', () => {
    const answer = response()
    const { signal } = new OpenRequest(answer, false)
    answer.emit('close')
    expect([signal.aborted, hasLeft(signal)]).toEqual([true, true])
  })

  it('a stop of the server does not count as a disconnect of the client', () => {
    const answer = response()
    const request = new OpenRequest(answer, false)
    const { signal } = request
    request.end()
    answer.emit('close')
    expect([signal.aborted, hasLeft(signal)]).toEqual([true, false])
    expect(hasLeft(new OpenRequest(response(), true).signal)).toBe(false)
  })

  it('the signal is already aborted if the client had left or the server stops', () => {
    const gone = response()
    gone.destroy()
    expect(new OpenRequest(gone, false).signal.aborted).toBe(true)
    expect(new OpenRequest(response(), true).signal.aborted).toBe(true)
    const stopped = new OpenRequest(response(), false)
    stopped.end()
    expect(stopped.signal.aborted).toBe(true)
  })
})
