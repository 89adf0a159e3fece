import type { IncomingMessage, ServerResponse } from 'node:http'
import { toNodeHandler } from '@modelcontextprotocol/node'

/** Answers a request, whose body has been read, with what a handler of web requests says. */
export function serveWeb(
  { method = 'GET', url = '/', headers }: IncomingMessage,
  response: ServerResponse,
  body: unknown,
  fetch: (request: Request) => Promise<Response>,
): Promise<void> {
  return toNodeHandler({ fetch })({ method, url, headers, [Symbol.asyncIterator]: noMore }, response, body)
}

async function* noMore() {}
