import type { ServerCapabilities, ServerEvent } from '@modelcontextprotocol/server'
import type { Fields } from '../../auth/caller.ts'

/** Changes besides those of tasks that a subscription can be for. */
export interface ListFilter {
  readonly toolsListChanged?: true
  readonly promptsListChanged?: true
  readonly resourcesListChanged?: true
  readonly resourceSubscriptions?: readonly string[]
}

/** What of a filter a server with these capabilities can serve. */
export function honouredLists(asked: Fields, { tools, prompts, resources }: ServerCapabilities): ListFilter {
  const uris = Array.isArray(asked.resourceSubscriptions) ? asked.resourceSubscriptions : []
  return {
    ...(asked.toolsListChanged === true && tools?.listChanged && { toolsListChanged: true }),
    ...(asked.promptsListChanged === true && prompts?.listChanged && { promptsListChanged: true }),
    ...(asked.resourcesListChanged === true && resources?.listChanged && { resourcesListChanged: true }),
    ...(uris.length > 0 && resources?.subscribe && { resourceSubscriptions: uris }),
  }
}

interface Notification {
  readonly method: string
  readonly params: Fields
}

/** How subscribers hear of a change; undefined if the filter does not want it. */
export function listNotification(event: ServerEvent, wanted: ListFilter): Notification | undefined {
  const changed = (what: string, isWanted: true | undefined) =>
    isWanted && { method: `notifications/${what}/list_changed`, params: {} }
  switch (event.kind) {
    case 'tools_list_changed':
      return changed('tools', wanted.toolsListChanged)
    case 'prompts_list_changed':
      return changed('prompts', wanted.promptsListChanged)
    case 'resources_list_changed':
      return changed('resources', wanted.resourcesListChanged)
    case 'resource_updated': {
      const isWanted = wanted.resourceSubscriptions?.includes(event.uri) ?? false
      return isWanted ? { method: 'notifications/resources/updated', params: { uri: event.uri } } : undefined
    }
  }
}
