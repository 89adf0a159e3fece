import { type Html, html } from '../../util/html.ts'
import { visibleJson } from '../../util/untrusted-text.ts'
import { block } from '../components.ts'
import { alignLines } from '../line-diff.ts'

const MAX_LINE = 4000

/** Two payloads side by side, line by line. */
export function payloadDiff(before: unknown, after: unknown): Html {
  const cell = (text: string | undefined, isChanged: boolean, kind: 'gone' | 'new') =>
    html`<td${isChanged && text !== undefined && html` class="${kind}"`}>${text !== undefined && html`<pre>${isChanged && html`<span class="quiet">${kind === 'gone' ? 'removed: ' : 'added: '}</span>`}${block(text, MAX_LINE)}</pre>`}</td>`
  const rows = alignLines(visibleJson(before), visibleJson(after)).map((pair) => {
    const isChanged = pair.before !== pair.after
    return html`<tr>${cell(pair.before, isChanged, 'gone')}${cell(pair.after, isChanged, 'new')}</tr>`
  })
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Requested and edited payload"><table class="side-by-side"><thead><tr><th scope="col">Requested</th><th scope="col">Edited</th></tr></thead><tbody>${rows}</tbody></table></div>`
}
