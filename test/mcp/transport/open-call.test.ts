import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { hasLeft, OpenRequest } from '../../../src/mcp/transport/open-call.ts'

const response = () => new ServerResponse(new IncomingMessage(new Socket()))

describe('a request that is served', () => {
  it('adds no listener until its signal is read', () => {
    const answer = response()
    const request = new OpenRequest(answer, false)
    expect(answer.listenerCount('close')).toBe(0)
    expect(request.signal.aborted).toBe(false)
    expect(answer.listenerCount('close')).toBe(1)
    expect(request.signal).toBe(request.signal)
  })

  it('is over when its client leaves', () => {
    const answer = response()
    const { signal } = new OpenRequest(answer, false)
    answer.emit('close')
    expect([signal.aborted, hasLeft(signal)]).toEqual([true, true])
  })

  it('has not been left by its client if the server stops', () => {
    const answer = response()
    const request = new OpenRequest(answer, false)
    const { signal } = request
    request.end()
    answer.emit('close')
    expect([signal.aborted, hasLeft(signal)]).toEqual([true, false])
    expect(hasLeft(new OpenRequest(response(), true).signal)).toBe(false)
  })

  it('was over before anybody asked, if the client had left or the server stops', () => {
    const gone = response()
    gone.destroy()
    expect(new OpenRequest(gone, false).signal.aborted).toBe(true)
    expect(new OpenRequest(response(), true).signal.aborted).toBe(true)
    const stopped = new OpenRequest(response(), false)
    stopped.end()
    expect(stopped.signal.aborted).toBe(true)
  })
})
