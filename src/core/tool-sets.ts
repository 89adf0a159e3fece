/** The groups in which the operations are offered to models as tools. An operation can be in several, or in none. */
export const OPERATION_SETS = ['agent', 'worker', 'ledger', 'operator'] as const
export type OperationSet = (typeof OPERATION_SETS)[number]

/**
 * The groups of tools that a client can ask for. `gateway`: the tools of upstreams, and what a client needs to follow
 * their calls. `discover`: a tool that searches and a tool that calls, instead of the tools of types and upstreams.
 */
export const TOOL_SETS = [...OPERATION_SETS, 'gateway', 'discover', 'all'] as const
export type ToolSet = (typeof TOOL_SETS)[number]

export const DEFAULT_TOOL_SETS: readonly ToolSet[] = ['agent']

export function toolSetNamed(name: string): ToolSet | undefined {
  return TOOL_SETS.find((set) => set === name)
}
