import { setTimeout } from 'node:timers/promises'
import { AwsClient } from 'aws4fetch'
import { type ColdSettings, type ColdStore, ownerFile } from './store.ts'

/** A request that is answered no sooner counts as failed. */
const patienceMs = 20_000

/** An upload may take longer. */
const uploadMs = 30_000

/** Between a read that failed and the only other attempt. */
const pauseMs = 200

/** Answers after which the same question fails again. */
class FinalAnswer extends Error {}

/** Once more after what may pass: a broken connection, a busy server. */
async function twice<T>(read: () => Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (signal.aborted || error instanceof FinalAnswer) throw error
    await setTimeout(pauseMs, undefined, { signal })
    return read()
  }
}

/** A bucket of an S3-compatible server, addressed by path. */
export function s3Store(settings: ColdSettings): ColdStore {
  const { cold_store, cold_endpoint, cold_region: region } = settings
  const [bucket = '', ...prefix] = cold_store.slice('s3://'.length).replace(/\/+$/, '').split('/')
  const endpoint = (cold_endpoint || `https://s3.${region}.amazonaws.com`).replace(/\/+$/, '')
  const client = new AwsClient({
    ...{ accessKeyId: settings.cold_key, secretAccessKey: settings.cold_secret },
    ...{ service: 's3', region },
    // What is not confirmed is tried again by the work that asked, and reads below.
    retries: 0,
  })
  const urlOf = (file: string) =>
    [endpoint, bucket, ...prefix, ...(file === ownerFile ? [file] : [file.slice(0, 2), `${file}.cold`])].join(
      '/',
    )

  /** Undefined for a file that is not there. */
  async function ask(
    method: 'GET' | 'HEAD' | 'PUT' | 'DELETE',
    file: string,
    { signal, ...init }: RequestInit & { signal: AbortSignal },
  ): Promise<Response | undefined> {
    // A redirect may turn a PUT into a GET, whose answer would look like success.
    const response = await client.fetch(urlOf(file), { ...init, method, signal, redirect: 'error' })
    if (response.ok) return response
    // A missing bucket is no missing file: its files are not lost. An answer to HEAD does not tell the two apart.
    const text = await response.text()
    // Nothing of the range is in the file: it was cut.
    if (response.status === 416) return new Response()
    if (response.status === 404 && (method === 'HEAD' || /<Code>NoSuchKey</.test(text))) return undefined
    const Failure = response.status < 500 && response.status !== 429 ? FinalAnswer : Error
    throw new Failure(`${method} ${urlOf(file)} was answered ${response.status}: ${text.slice(0, 300)}`)
  }

  const soon = () => AbortSignal.timeout(patienceMs)

  async function write(file: string, bytes: Uint8Array): Promise<void> {
    const headers = { 'content-type': 'application/octet-stream' }
    const body = new Uint8Array(bytes)
    const answer = await ask('PUT', file, { body, headers, signal: AbortSignal.timeout(uploadMs) })
    await answer?.body?.cancel()
  }

  return {
    address: cold_store,
    write,
    readOwner() {
      const signal = soon()
      const read = async () => (await ask('GET', ownerFile, { signal }))?.text()
      return twice(read, signal).then((text) => text?.trim())
    },
    writeOwner: (record) => write(ownerFile, Buffer.from(record)),
    read(file, from, length, signal) {
      const headers = { range: `bytes=${from}-${from + length - 1}` }
      const limit = AbortSignal.any([signal, soon()])
      return twice(async () => {
        const answer = await ask('GET', file, { headers, signal: limit })
        if (answer === undefined) return undefined
        const bytes = new Uint8Array(await answer.arrayBuffer())
        // A server without ranges sends the whole file.
        return answer.status === 206 ? bytes : bytes.subarray(from, from + length)
      }, limit)
    },
    async remove(file) {
      await (await ask('DELETE', file, { signal: soon() }))?.body?.cancel()
    },
    async size(file, signal) {
      const limit = AbortSignal.any([signal, soon()])
      const answer = await twice(() => ask('HEAD', file, { signal: limit }), limit)
      return answer && Number(answer.headers.get('content-length'))
    },
  }
}
