import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { S3Error } from './s3-error.ts'

export interface S3Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly region: string
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/

const SKEW_MS = 15 * 60_000

/** Refuses a request whose AWS Signature Version 4 is not valid. */
export function checkSignature(request: IncomingMessage, known: S3Credentials): void {
  const { headers } = request
  const parts = AUTHORIZATION.exec(headers.authorization ?? '')
  if (parts === null) throw new S3Error(403, 'AccessDenied')
  const [, keyId, day = '', region, signed = '', signature = ''] = parts
  if (keyId !== known.accessKeyId) throw new S3Error(403, 'InvalidAccessKeyId')
  if (region !== known.region) throw new S3Error(400, 'AuthorizationHeaderMalformed', `region ${region}`)
  const time = String(headers['x-amz-date'])
  checkTime(time, day)

  const names = signed.split(';')
  const must = ['host', ...Object.keys(headers).filter((name) => name.startsWith('x-amz-'))]
  const missing = must.filter((name) => !names.includes(name))
  if (missing.length > 0) throw new S3Error(403, 'AccessDenied', `not signed: ${missing}`)
  if (names.toSorted().join(';') !== signed) throw new S3Error(403, 'SignatureDoesNotMatch', 'header order')

  const scope = `${day}/${region}/s3/aws4_request`
  const text = ['AWS4-HMAC-SHA256', time, scope, hash('sha256', canonicalRequest(request, names))].join('\n')
  const expected = hmac(signingKey(known.secretAccessKey, day, known.region), text)
  if (!timingSafeEqual(expected, Buffer.from(signature, 'hex'))) {
    throw new S3Error(403, 'SignatureDoesNotMatch')
  }
}

function checkTime(time: string, day: string): void {
  const iso = time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z')
  if (!(Math.abs(Date.now() - Date.parse(iso)) < SKEW_MS)) throw new S3Error(403, 'RequestTimeTooSkewed')
  if (!time.startsWith(day)) throw new S3Error(403, 'SignatureDoesNotMatch', 'the date is not of the scope')
}

function canonicalRequest({ method, url = '/', headers }: IncomingMessage, names: readonly string[]): string {
  const [path = '/', query = ''] = url.split('?')
  const pairs = query === '' ? [] : query.split('&').map((pair) => pair.split('='))
  const sorted = pairs
    .map(
      ([name = '', value = '']) => `${encode(decodeURIComponent(name))}=${encode(decodeURIComponent(value))}`,
    )
    .toSorted()
  return [
    method,
    path
      .split('/')
      .map((segment) => encode(decodeURIComponent(segment)))
      .join('/'),
    sorted.join('&'),
    ...names.map((name) => `${name}:${String(headers[name]).trim().replace(/ +/g, ' ')}`),
    '',
    names.join(';'),
    String(headers['x-amz-content-sha256']),
  ].join('\n')
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

function signingKey(secret: string, day: string, region: string): Buffer {
  return ['s3', 'aws4_request'].reduce(hmac, hmac(hmac(`AWS4${secret}`, day), region))
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
