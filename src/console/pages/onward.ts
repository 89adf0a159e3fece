import { html } from '../html.ts'
import type { Page } from '../reply.ts'

/**
 * Browsers keep the cookie back when somebody follows a link from elsewhere, as from a mail. From a page of ours they
 * send it.
 */
export function onwardPage(path: string): Page {
  return {
    kind: 'page',
    title: 'One moment',
    onward: path,
    body: html`<div class="problem"><h1>One moment</h1><p><a href="${path}">Go on</a></p></div>`,
  }
}
