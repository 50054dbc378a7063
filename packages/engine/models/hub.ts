import { z } from 'zod'
import { ModelError, reasonOf } from './model-error.ts'
import type { EngineSettings } from './settings.ts'

/** A server with the protocol of huggingface.co, and our token for it. */
export type Hub = Pick<EngineSettings, 'hf_endpoint' | 'hf_token'>

export interface HubFile {
  path: string
  bytes: number
  /** Absent for small files, which the hub stores differently. */
  sha256: string | undefined
}

const listingMs = 30_000
const largestListing = 8 * 1024 * 1024
const maxPages = 20
const maxRedirects = 5

const Listing = z.array(
  z.object({
    type: z.string(),
    path: z.string().max(1024),
    size: z.number(),
    lfs: z.object({ oid: z.string(), size: z.number() }).optional(),
  }),
)

/** Every GGUF file of a repository. */
export async function listHubFiles(hub: Hub, repository: string, signal: AbortSignal): Promise<HubFile[]> {
  const files: HubFile[] = []
  let url: string | undefined = `${hub.hf_endpoint}/api/models/${repository}/tree/main?recursive=true`
  for (let page = 0; url !== undefined && page < maxPages; page++) {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(listingMs)])
    const { response } = await ask(hub, url, { signal: limited }, repository)
    for (const { type, path, size, lfs } of await listingIn(response, repository)) {
      if (type !== 'file' || !/\.gguf$/i.test(path) || !isPlainPath(path)) continue
      files.push({ path, bytes: lfs?.size ?? size, sha256: sha256In(lfs?.oid) })
    }
    url = nextPage(response)
  }
  return files
}

/** A path that cannot leave its target folder. */
function isPlainPath(path: string): boolean {
  return path.split('/').every((name) => /^[^\\:*?"<>|\p{Cc}]{1,255}$/u.test(name) && !/^\.+$/.test(name))
}

async function listingIn(response: Response, repository: string): Promise<z.output<typeof Listing>> {
  try {
    return Listing.parse(JSON.parse(await boundedText(response, largestListing)))
  } catch (error) {
    throw new ModelError(
      `The hub's list of the files of ${repository} cannot be read: ${shortReason(error)}.`,
      { isTemporary: true, cause: error },
    )
  }
}

async function boundedText(response: Response, most: number): Promise<string> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of response.body ?? []) {
    pieces.push(piece)
    length += piece.length
    if (length > most) throw new Error(`it is longer than ${most} bytes`)
  }
  return Buffer.concat(pieces).toString('utf8')
}

/** RFC 8288. A page on another host is not followed: it would get the token. */
function nextPage(response: Response): string | undefined {
  const next = /<([^>]+)>\s*;\s*rel="?next"?/.exec(response.headers.get('link') ?? '')?.[1]
  if (next === undefined) return undefined
  const url = new URL(next, response.url)
  return url.origin === new URL(response.url).origin ? url.href : undefined
}

/** The bytes of a file, starting at `from`, and the checksum in the hub's own answer, before any redirect to another host. */
export function openHubFile(hub: Hub, repository: string, path: string, from: number, signal: AbortSignal) {
  const address = path.split('/').map(encodeURIComponent).join('/')
  const headers = from > 0 ? { range: `bytes=${from}-` } : {}
  return ask(hub, `${hub.hf_endpoint}/${repository}/resolve/main/${address}`, { signal, headers }, repository)
}

/** Follows redirects itself: the token is for the hub alone, and only the hub's own answer has the checksum. */
async function ask(
  hub: Hub,
  address: string,
  init: { signal: AbortSignal; headers?: Record<string, string> },
  repository: string,
) {
  let url = new URL(address)
  const home = url.origin
  let sha256: string | undefined
  for (let hops = 0; hops <= maxRedirects; hops++) {
    const response = await send(url, {
      ...init,
      redirect: 'manual',
      headers: {
        'accept-encoding': 'identity',
        ...init.headers,
        ...(hub.hf_token !== '' && url.origin === home && { authorization: `Bearer ${hub.hf_token}` }),
      },
    })
    // Other hosts use entity tags of another kind.
    if (url.origin === home) {
      sha256 ??= sha256In(response.headers.get('x-linked-etag')) ?? sha256In(response.headers.get('etag'))
    }
    const location = response.headers.get('location')
    if (response.status >= 300 && response.status < 400 && response.status !== 304 && location !== null) {
      await response.body?.cancel()
      url = new URL(location, url)
      if (!/^https?:$/.test(url.protocol)) break
      continue
    }
    if (response.ok || response.status === 416) return { response, sha256 }
    await response.body?.cancel()
    throw refusalOf(response.status, repository, hub.hf_token !== '')
  }
  throw new ModelError(`The hub redirects requests for ${repository} in a circle.`, { isTemporary: true })
}

async function send(url: URL, init: RequestInit): Promise<Response> {
  try {
    readProxySettings()
    return await fetch(url, init)
  } catch (error) {
    if (init.signal?.aborted && init.signal.reason?.name !== 'TimeoutError') throw init.signal.reason
    throw new ModelError(`${url.origin} does not answer: ${shortReason(error)}.`, {
      isTemporary: true,
      cause: error,
    })
  }
}

let areProxySettingsRead = false

/** fetch looks at HTTPS_PROXY and NO_PROXY only when told to; nothing else uses Node's own connections. */
function readProxySettings(): void {
  if (areProxySettingsRead) return
  areProxySettingsRead = true
  const http: object & { setGlobalProxyFromEnv?(): unknown } = process.getBuiltinModule('node:http')
  http.setGlobalProxyFromEnv?.()
}

export function shortReason(error: unknown): string {
  const inner = error instanceof Error && error.cause instanceof Error ? error.cause : error
  return (reasonOf(inner).split('\n', 1)[0] ?? '').slice(0, 200)
}

function refusalOf(status: number, repository: string, hasToken: boolean): ModelError {
  const token = hasToken ? 'the token in HF_TOKEN does not open it' : 'it needs a token in HF_TOKEN'
  if (status === 401) {
    return new ModelError(
      `The hub answers 401 for ${repository}: there is no such repository, or it is private or gated and ${token}.`,
    )
  }
  if (status === 403) {
    return new ModelError(
      `The hub answers 403 for ${repository}: its terms must be accepted on its page first, or ${token}.`,
    )
  }
  if (status === 404)
    return new ModelError(`The hub answers 404: there is no ${repository}, or not that file.`)
  return new ModelError(`The hub answers ${status} for ${repository}.`, { isTemporary: status >= 429 })
}

/** The entity tag of a large file is the SHA-256 of its content; other tags are not. */
function sha256In(tag: string | null | undefined): string | undefined {
  return /^(?:W\/)?"?([0-9a-f]{64})"?$/i.exec(tag ?? '')?.[1]?.toLowerCase()
}
