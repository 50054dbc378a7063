import { createHash, createHmac } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

export const s3Keys = {
  id: 'AKIDEXAMPLE',
  secret: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  region: 'eu-central-1',
}

const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()
const sha = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex')

/** The signature that this request should have, by the description of AWS Signature Version 4. */
function signatureOf({ method = '', url = '', headers }: IncomingMessage, body: Buffer): string | undefined {
  const authorization = headers.authorization ?? ''
  const found =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d+)\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=(\w+)$/.exec(
      authorization,
    )
  if (found === null) return undefined
  const [, id, day = '', region = '', signed = ''] = found
  const time = String(headers['x-amz-date'])
  const payload = String(headers['x-amz-content-sha256'])
  if (id !== s3Keys.id || region !== s3Keys.region || !time.startsWith(day)) return undefined
  if (payload !== 'UNSIGNED-PAYLOAD' && payload !== sha(body)) return undefined
  const names = signed.split(';')
  const canonical = [
    ...[method, url, ''],
    ...names.map((name) => `${name}:${String(headers[name]).trim()}`),
    ...['', signed, payload],
  ].join('\n')
  const scope = `${day}/${region}/s3/aws4_request`
  const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${s3Keys.secret}`)
  return hmac(key, ['AWS4-HMAC-SHA256', time, scope, sha(canonical)].join('\n')).toString('hex')
}

/** A bucket named `cold` in memory that checks every signature. */
export async function startFakeS3(t: { after(close: () => void): void }) {
  const objects = new Map<string, Buffer>()
  const requests: string[] = []
  /** Statuses of the next answers; 0 for a connection that breaks. */
  const failures: number[] = []
  const server = createServer(async (request, response) => {
    const body = await buffer(request)
    const { method = '', url = '', headers } = request
    requests.push(`${method} ${headers.range ?? ''}`.trim())
    const failure = failures.shift()
    if (failure === 0) return void request.socket.destroy()
    if (failure !== undefined) return void response.writeHead(failure).end('<Error/>')
    const answer = (status: number, bytes: string | Buffer = '') => {
      response.writeHead(status, { 'content-length': bytes.length }).end(method === 'HEAD' ? '' : bytes)
    }
    const expected = signatureOf(request, body)
    if (expected === undefined || !headers.authorization?.endsWith(expected)) {
      return answer(403, '<Error><Code>SignatureDoesNotMatch</Code></Error>')
    }
    if (!url.startsWith('/cold/')) return answer(404, '<Error><Code>NoSuchBucket</Code></Error>')
    if (method === 'PUT') objects.set(url, body)
    if (method === 'DELETE') return answer(objects.delete(url) ? 204 : 204)
    const stored = objects.get(url)
    if (method === 'PUT') return answer(200)
    if (stored === undefined) return answer(404, '<Error><Code>NoSuchKey</Code></Error>')
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? []
    if (from === undefined) return answer(200, stored)
    return answer(206, stored.subarray(Number(from), Number(to) + 1))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { endpoint, objects, requests, failures }
}
