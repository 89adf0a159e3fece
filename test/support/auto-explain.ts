import pg from 'pg'

/** The cost of one execution of a statement. */
export interface Cost {
  readonly text: string
  /** The number of parameter rows or result rows, whichever is more. */
  readonly touched: number
  /** Pages read, cached or not. */
  readonly buffers: number
  /** Table rows that were read. */
  readonly visited: number
}

interface Node {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly Plans?: readonly Node[]
}

/** Makes every new session of the database receive the plans of its statements as notices. */
export async function explainEverything(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const database = pg.escapeIdentifier(decodeURIComponent(new URL(databaseUrl).pathname.slice(1)))
  const settings = {
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': '0',
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_buffers': 'on',
    'auto_explain.log_timing': 'off',
    'auto_explain.log_format': 'json',
    'auto_explain.log_level': 'notice',
  }
  for (const [name, value] of Object.entries(settings)) {
    await client.query(`ALTER DATABASE ${database} SET ${name} = '${value}'`)
  }
  await client.end()
}

/** Parses a notice; undefined if it is not a plan. */
export function readCost(message: string): Cost | undefined {
  if (!message.startsWith('duration:')) return undefined
  const report: { 'Query Text': string; Plan: Node } = JSON.parse(message.slice(message.indexOf('{')))
  const nodes = [...nodesOf(report.Plan)]
  const given = nodes.filter((node) => node['Node Type'] === 'Function Scan').map(rowsOf)
  return {
    text: report['Query Text'],
    touched: Math.max(1, rowsOf(report.Plan), ...given),
    buffers: report.Plan['Shared Hit Blocks'] + report.Plan['Shared Read Blocks'],
    visited: nodes.filter(scansTable).reduce((total, node) => total + rowsOf(node) + removedBy(node), 0),
  }
}

function* nodesOf(node: Node): Generator<Node> {
  yield node
  for (const child of node.Plans ?? []) yield* nodesOf(child)
}

function scansTable(node: Node): boolean {
  return node['Relation Name'] !== undefined && node['Node Type'].includes('Scan')
}

function rowsOf(node: Node): number {
  return node['Actual Rows'] * node['Actual Loops']
}

function removedBy(node: Node): number {
  return (node['Rows Removed by Filter'] ?? 0) * node['Actual Loops']
}
