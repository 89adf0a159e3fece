import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { CliError, EXIT } from '../../exit.ts'
import type { Output } from '../../output.ts'
import { acceptedShape, detailShape, pathOf, type ToolInfo, tellDefinition } from './upstreams.ts'

export const upstreamsAccept = command({
  name: 'upstreams accept',
  summary: 'Show what waits to be accepted of the tools of an upstream; with --hash or --all, accept it.',
  takes: ['NAME', '[TOOL]'],
  options: {
    hash: { type: 'string', value: 'HASH', doc: 'accept the definition of TOOL with this hash' },
    all: { type: 'boolean', doc: 'accept all definitions that are offered now' },
    ...CLIENT_OPTIONS,
  },
  async run(input, output) {
    const client = clientOf(input)
    const [name, tool] = [input.word(0), input.words[1]]
    const hash = input.text('hash')
    const isAll = input.flag('all')
    if (hash !== undefined && tool === undefined) throw input.wrong('--hash needs TOOL.')
    if (isAll && (hash !== undefined || tool !== undefined))
      throw input.wrong('--all takes neither TOOL nor --hash.')
    const accept = (of: string, which: string) =>
      client.post(`${pathOf(name)}/accept`, { tool: of, hash: which }, acceptedShape)
    if (hash !== undefined && tool !== undefined) {
      const accepted = await accept(tool, hash)
      output.answer(accepted, () => output.say(`${tool} is accepted: ${accepted.status}`))
      return undefined
    }
    const { catalogue } = await client.get(pathOf(name), {}, detailShape)
    const waiting = catalogue.filter(
      ({ status, tool: each }) => status === 'quarantined' && each === (tool ?? each),
    )
    if (tool !== undefined && waiting.length === 0) {
      throw new CliError(EXIT.notFound, `No definition of ${tool} waits to be accepted.`)
    }
    if (isAll) for (const { tool: each, hash: offered } of waiting) await accept(each, offered ?? '')
    output.answer({ [isAll ? 'accepted' : 'waiting']: waiting }, () => {
      if (waiting.length === 0) output.say('Nothing waits to be accepted.')
      for (const each of waiting)
        if (isAll) output.say(`${each.tool} is accepted`)
        else tellOffer(output, name, each)
    })
    return undefined
  },
})

function tellOffer(output: Output, name: string, { tool, reason, hash, offered, accepted }: ToolInfo): void {
  output.say(`${tool}: ${reason}`)
  tellDefinition(output, 'accepted before', accepted)
  tellDefinition(output, 'offered now', offered)
  output.say(`To accept it: asyncgate upstreams accept ${name} ${quoted(tool)} --hash ${hash}`)
  output.say()
}

/** For a shell, in which somebody else's name must not become a command. */
function quoted(word: string): string {
  return /^\w[\w.-]*$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
