/** Programs that run other programs: the first argument that is not an option names the other program. */
const RUNNERS = /^(npx|bunx|uvx|pnpx|npm|pnpm|yarn|bun|deno|node|tsx|python\d?|uv|docker|env)$/
const RUN_WORDS = /^(exec|run|dlx|x|tool|start)$/
/** Names of files and folders that do not identify a program. */
const EMPTY = /^(index|main|server|mcp|cli|app|dist|build|src|lib|bin|out|stdio|)$/

/** The default name of an upstream that is started by this command. It is the prefix of its tools: `filesystem__read_file`. */
export function upstreamName(words: readonly string[]): string {
  const [program = '', ...rest] = words
  const isRunner = RUNNERS.test(baseOf(program))
  const what = isRunner ? rest.find((word) => !word.startsWith('-') && !RUN_WORDS.test(word)) : program
  return shortened(what ?? program)
}

function shortened(what: string): string {
  const parts = what.split(/[/\\]/).reverse()
  const name = parts.map(plain).find((part) => !EMPTY.test(part) && !part.startsWith('asyncgate'))
  return name ?? 'upstream'
}

/** `server-filesystem@1.2` becomes `filesystem`. */
function plain(part: string): string {
  return part
    .replace(/(.)@.*$/, '$1')
    .replace(/\.(m?js|c?js|ts|py|exe|sh)$/, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^(mcp-)?server-|^mcp-|-?(mcp)?-server(-mcp)?$|-mcp$/g, '')
    .replace(/^[^a-z]+|-+$/g, '')
    .slice(0, 32)
}

function baseOf(program: string): string {
  return (program.split(/[/\\]/).at(-1) ?? '').replace(/\.(exe|cmd)$/, '')
}
