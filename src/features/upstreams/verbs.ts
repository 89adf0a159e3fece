import { checkRole } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import { parse } from '../input.ts'
import type { Services } from '../services.ts'
import { noteChange, settingsOf } from './change.ts'
import {
  acceptUpstreamToolInput,
  addUpstreamInput,
  listUpstreamsInput,
  type RuledUpstream,
  type UpstreamToolView,
  type UpstreamView,
  upstreamInput,
} from './shape.ts'
import { ruledUpstream } from './tool-forecasts.ts'
import type { UpstreamRegistry } from './upstreams.ts'

export async function listUpstreams(
  engine: Services,
  caller: Caller,
  input: unknown,
): Promise<{ readonly upstreams: readonly UpstreamView[] }> {
  checkRole(caller, 'manage')
  parse(listUpstreamsInput, input)
  const upstreams = await registryOf(engine, caller)
  return { upstreams: upstreams.list() }
}

export async function getUpstream(engine: Services, caller: Caller, input: unknown): Promise<RuledUpstream> {
  checkRole(caller, 'manage')
  const { name } = parse(upstreamInput, input)
  const found = (await registryOf(engine, caller)).get(name)
  if (found === undefined) throw new Fault('UPSTREAM_NOT_FOUND', { name })
  return ruledUpstream(engine, await engine.tenant(caller.tenant), found)
}

export async function addUpstream(engine: Services, caller: Caller, input: unknown): Promise<UpstreamView> {
  checkRole(caller, 'manage')
  const draft = parse(addUpstreamInput, input)
  const upstreams = await registryOf(engine, caller)
  const before = upstreams.get(draft.name)
  const added = await engine.writing(() => upstreams.add(draft, principalKey(caller.principal)))
  await noteChange(engine, caller, {
    name: draft.name,
    change: 'set',
    tool: null,
    before: settingsOf(before),
    after: settingsOf(added),
  })
  return added
}

export async function removeUpstream(engine: Services, caller: Caller, input: unknown) {
  checkRole(caller, 'manage')
  const { name } = parse(upstreamInput, input)
  const upstreams = await registryOf(engine, caller)
  const before = upstreams.get(name)
  const removed = await engine.writing(() => upstreams.remove(name))
  if (removed) {
    await noteChange(engine, caller, {
      name,
      change: 'removed',
      tool: null,
      before: settingsOf(before),
      after: null,
    })
  }
  return { name, removed }
}

export async function acceptUpstreamTool(
  engine: Services,
  caller: Caller,
  input: unknown,
): Promise<UpstreamToolView> {
  checkRole(caller, 'manage')
  const { name, tool, hash: offered } = parse(acceptUpstreamToolInput, input)
  const upstreams = await registryOf(engine, caller)
  const before = upstreams.get(name)?.catalogue.find((each) => each.tool === tool)?.accepted_hash ?? null
  const accepted = await engine.writing(() =>
    upstreams.accept(name, tool, offered, principalKey(caller.principal)),
  )
  await noteChange(engine, caller, { name, change: 'accepted', tool, before, after: offered })
  return accepted
}

async function registryOf(engine: Services, caller: Caller): Promise<UpstreamRegistry> {
  const { upstreams } = engine
  const { tenant } = await engine.tenant(caller.tenant)
  if (upstreams === undefined || upstreams.tenant !== tenant) {
    throw new Fault('NOT_CONFIGURED', { feature: 'upstreams', settings: ['ASYNCGATE_UPSTREAMS_FILE'] })
  }
  return upstreams
}
