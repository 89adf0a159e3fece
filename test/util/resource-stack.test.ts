import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { ResourceStack } from '../../src/util/resource-stack.ts'

function recorder() {
  const events: string[] = []
  const reported: unknown[] = []
  return {
    events,
    reported,
    report: (error: unknown) => reported.push(error),
    closing: (name: string) => async () => {
      events.push(`${name} begins`)
      await turn()
      events.push(`${name} ends`)
    },
  }
}

describe('ResourceStack', () => {
  it('resources are closed one after the other, in reverse order', async () => {
    const { events, report, closing } = recorder()
    const stack = new ResourceStack(report)
    stack.defer(closing('first'))
    stack.defer(closing('second'))
    await stack.close()
    expect(events).toEqual(['second begins', 'second ends', 'first begins', 'first ends'])
  })

  it('the members of a group are closed at the same time, in the position of the group', async () => {
    const { events, report, closing } = recorder()
    const stack = new ResourceStack(report)
    const group = stack.group()
    stack.defer(closing('later'))
    group.defer(closing('a'))
    group.defer(closing('b'))
    await stack.close()
    expect(events).toEqual(['later begins', 'later ends', 'b begins', 'a begins', 'b ends', 'a ends'])
  })

  it('all closers run when some fail, the first failure is thrown and the others are reported', async () => {
    const { events, reported, report, closing } = recorder()
    const stack = new ResourceStack(report)
    stack.defer(closing('first'))
    stack.defer(() => Promise.reject(new Error('later failure')))
    stack.defer(() => {
      throw new Error('first failure')
    })
    await expect(stack.close()).rejects.toThrow('first failure')
    expect(events).toEqual(['first begins', 'first ends'])
    expect(reported).toEqual([new Error('later failure')])
  })

  it('close closes everything only once', async () => {
    const { events, report, closing } = recorder()
    const stack = new ResourceStack(report)
    stack.defer(closing('only'))
    await Promise.all([stack.close(), stack.close()])
    await stack.close()
    expect(events).toEqual(['only begins', 'only ends'])
  })

  it('open closes the opened resources when a later step fails, and throws the error of that step', async () => {
    const { events, reported, report, closing } = recorder()
    const opening = ResourceStack.open(report, async (stack) => {
      stack.defer(closing('opened'))
      stack.defer(() => Promise.reject(new Error('close failed')))
      throw new Error('step failed')
    })
    await expect(opening).rejects.toThrow('step failed')
    expect(events).toEqual(['opened begins', 'opened ends'])
    expect(reported).toEqual([new Error('close failed')])
  })

  it('open leaves everything open when all steps succeed', async () => {
    const { events, report, closing } = recorder()
    const stack = await ResourceStack.open(report, async (opened) => {
      opened.defer(closing('opened'))
      return opened
    })
    expect(events).toEqual([])
    await stack.close()
    expect(events).toHaveLength(2)
  })
})
