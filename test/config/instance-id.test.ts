import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/index.ts'
import { detectInstanceId } from '../../src/config/instance-id.ts'

const machine = { hostname: () => 'laptop', random: () => '1a2b3c4d' }
const everything = {
  FLY_ALLOC_ID: 'fly-alloc',
  HOSTNAME: 'gate-7d9f',
  ECS_CONTAINER_METADATA_URI_V4: 'http://169.254.170.2/v4/abc-123/',
  K_REVISION: 'gate-00007',
}

describe('instance id', () => {
  it('the instance id comes from the first platform that provides one', () => {
    const { FLY_ALLOC_ID: _, ...noFly } = everything
    const { HOSTNAME: __, ...noHost } = noFly
    const { ECS_CONTAINER_METADATA_URI_V4: ___, ...noEcs } = noHost
    expect(detectInstanceId(everything, machine).id).toBe('fly-alloc')
    expect(detectInstanceId(noFly, machine).id).toBe('gate-7d9f')
    expect(detectInstanceId({ ...noFly, HOSTNAME: 'plain' }, machine).id).toBe('abc-123')
    expect(detectInstanceId(noHost, machine).id).toBe('abc-123')
    expect(detectInstanceId(noEcs, machine).id).toBe('gate-00007-1a2b3c4d')
    expect(detectInstanceId({ HOSTNAME: 'plain' }, machine)).toEqual({
      id: 'laptop-1a2b3c4d',
      from: 'the host name',
    })
  })

  it('a configured instance id takes precedence', () => {
    const file = '/dev/null'
    const given = loadConfig({ env: { ...everything, ASYNCGATE_INSTANCE_ID: 'gate-a' }, file, machine })
    expect(given.settings.instance_id).toBe('gate-a')
    expect(loadConfig({ env: everything, file, machine }).settings.instance_id).toBe('fly-alloc')
  })
})
