import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { packageRoot } from '../../domain/package-root.ts'
import type { App } from '../contracts.ts'
import { routeNotFound } from '../errors.ts'

/**
 * The page runs only its own scripts and styles, calls only its own server, and loads no images from other hosts. Texts
 * of models are untrusted, so no string may become HTML: `require-trusted-types-for` without a policy forbids it in the
 * browser.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const pageHeaders = {
  'content-security-policy': policy,
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** Where `scripts/build-ui.mjs` puts the page. */
const builtAt = fileURLToPath(new URL('dist/ui/', packageRoot))

const types: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
}

interface Asset {
  type: string
  /** By content coding; the plain form is always present. */
  forms: Map<string, Buffer>
  etag: string
}

const codings = { br: '.br', gzip: '.gz' } as const

/** The whole page, by file name: it is a few hundred kilobytes. Undefined if it was not built. */
async function readAssets(root: string): Promise<Map<string, Asset> | undefined> {
  if (!existsSync(`${builtAt}index.html`)) return undefined
  const files = await readdir(builtAt)
  const assets = new Map<string, Asset>()
  for (const name of files) {
    const type = types[name.slice(name.lastIndexOf('.') + 1)]
    if (type === undefined) continue
    const isIndex = name === 'index.html' && root !== ''
    const built = await readFile(builtAt + name)
    // The page finds its root in the address of its icon.
    const plain = isIndex ? Buffer.from(String(built).replaceAll('"/ui/', `"${root}/ui/`)) : built
    const forms = new Map([['identity', plain]])
    for (const [coding, ending] of Object.entries(codings)) {
      if (!isIndex && files.includes(name + ending))
        forms.set(coding, await readFile(builtAt + name + ending))
    }
    const etag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`
    assets.set(name, { type, forms, etag })
  }
  return assets
}

/** The links that the published Weave client prints; the page itself resolves them. */
const links = ['/:entity/:project/r/*', '/:entity/:project/weave', '/:entity/:project/weave/*']

/**
 * The page and its files, without data and so public: a link gives the same answer for every id. A path below /ui that is
 * no file is a location within the page. Beside JSON browsers ask for /favicon.ico. `root` is what a proxy removes.
 */
export function servePage(app: App, root: string): void {
  // Read with the first request for it: a start is sooner, and a page that nobody opens takes no memory.
  let reading: ReturnType<typeof readAssets> | undefined
  const readPage = () => {
    reading ??= readAssets(root).catch((error: unknown) => {
      // A build may be replacing the files: the next request reads them.
      reading = undefined
      throw error
    })
    return reading
  }
  const route = { config: { public: true }, schema: { hide: true } }

  const home = async (request: FastifyRequest, reply: FastifyReply) => {
    const index = (await readPage())?.get('index.html')
    if (index !== undefined) return send(request, reply, index, 'no-cache')
    return reply
      .code(200)
      .headers(pageHeaders)
      .type('text/plain; charset=utf-8')
      .send('Heddle is running. Its page was not built: `npm run build:ui` builds it.\n')
  }
  for (const url of ['/', '/ui', '/ui/', ...links]) app.get(url, route, home)
  app.get('/favicon.ico', route, async (_, reply) => reply.redirect(`${root}/ui/icon.svg`))
  app.get('/ui/*', route, async (request, reply) => {
    const name = (request.params as Record<'*', string>)['*']
    const asset = (await readPage())?.get(name)
    // The name of a file changes with its contents.
    if (asset !== undefined && name !== 'index.html')
      return send(request, reply, asset, 'public, max-age=31536000, immutable')
    if (/\.[\w-]+$/.test(name)) throw routeNotFound(request)
    return home(request, reply)
  })
}

function send(request: FastifyRequest, reply: FastifyReply, { type, forms, etag }: Asset, caching: string) {
  reply.headers({ ...pageHeaders, 'cache-control': caching, etag, vary: 'accept-encoding' }).type(type)
  if (request.headers['if-none-match']?.includes(etag)) return reply.code(304).send()
  const accepted = request.headers['accept-encoding'] ?? ''
  const coding = Object.keys(codings).find((name) => forms.has(name) && accepts(accepted, name))
  if (coding !== undefined) reply.header('content-encoding', coding)
  return reply.send(forms.get(coding ?? 'identity'))
}

/** Browsers send plain names; a coding with a quality of zero is not wanted. */
function accepts(header: string, coding: string): boolean {
  return header.split(',').some((entry) => {
    const [name, quality] = entry.trim().split(/\s*;\s*q=/)
    return name === coding && (quality === undefined || Number(quality) > 0)
  })
}
