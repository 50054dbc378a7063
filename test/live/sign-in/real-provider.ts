/// <reference path="./oidc-provider.d.ts" />
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'

type Ending = { after(end: () => unknown): void }

export interface RealProvider {
  issuer: string
  client: { id: string; secret: string }
  /** The claims of a person by its login name, besides `sub`. */
  claims: Map<string, Record<string, unknown>>
  /** The requests that it got, by path. */
  asked: string[]
  /** Where it posts logout tokens. Until it is set, nobody is told. */
  tell(heddle: string): Promise<void>
  logoutsSent: number
  stop(): Promise<void>
  start(): Promise<void>
}

/** A published provider on a port of its own, which can be stopped and started again. */
export async function startProvider(t: Ending, { port: wanted = 0 } = {}): Promise<RealProvider> {
  const reserved = createServer()
  reserved.listen(wanted, '127.0.0.1')
  await once(reserved, 'listening')
  const { port } = reserved.address() as AddressInfo
  reserved.close()
  await once(reserved, 'close')
  const issuer = `http://127.0.0.1:${port}`
  const client = { id: 'heddle', secret: 'the-secret-of-heddle-there' }
  const claims = new Map<string, Record<string, unknown>>()
  const asked: string[] = []
  let handler: ReturnType<Provider['callback']> | undefined
  let server: Server | undefined

  async function start(): Promise<void> {
    server = createServer((request, response) => {
      asked.push(`${request.method} ${(request.url ?? '').split('?', 1)[0]}`)
      if (handler === undefined) response.writeHead(503).end()
      else void handler(request, response)
    })
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  async function stop(): Promise<void> {
    server?.closeAllConnections()
    server?.close()
    if (server?.listening) await once(server, 'close')
  }
  const provider: RealProvider = {
    issuer,
    client,
    claims,
    asked,
    logoutsSent: 0,
    start,
    stop,
    async tell(heddle) {
      const real = new Provider(issuer, {
        clients: [
          {
            client_id: client.id,
            client_secret: client.secret,
            redirect_uris: [`${heddle}/sign-in/acme/callback`, `${heddle}/sign-in/other/callback`],
            post_logout_redirect_uris: [`${heddle}/`],
            grant_types: ['authorization_code', 'refresh_token'],
            response_types: ['code'],
            token_endpoint_auth_method: 'client_secret_basic',
            backchannel_logout_uri: `${heddle}/sign-in/acme/logout`,
            backchannel_logout_session_required: true,
          },
        ],
        pkce: { required: () => true },
        claims: {
          openid: ['sub'],
          email: ['email', 'email_verified'],
          profile: ['name', 'preferred_username'],
          groups: ['groups', 'realm_access', '_claim_names', '_claim_sources'],
        },
        conformIdTokenClaims: false,
        features: { backchannelLogout: { enabled: true }, rpInitiatedLogout: { enabled: true } },
        findAccount: (_context: unknown, id: string) => ({
          accountId: id,
          claims: () => ({ sub: id, ...claims.get(id) }),
        }),
        // Without the agent that refuses addresses of this machine.
        fetch: (url: string, { dispatcher: _, ...options }: RequestInit & { dispatcher?: unknown }) =>
          fetch(url, options),
        cookies: { keys: ['a key of this test'] },
      })
      real.on('backchannel.success', () => provider.logoutsSent++)
      handler = real.callback()
    },
  }
  await start()
  t.after(stop)
  return provider
}

/** A browser as far as it matters here: it keeps cookies by host, port and path, and follows no redirect by itself. */
export function createBrowser() {
  const cookies = new Map<string, { value: string; path: string; origin: string }>()

  async function open(address: string | URL, init: RequestInit = {}): Promise<Response> {
    const url = new URL(address)
    const sent = [...cookies]
      .filter(([, { path, origin }]) => origin === url.origin && url.pathname.startsWith(path))
      .map(([key, { value }]) => `${key.split(' ')[1]}=${value}`)
    const answer = await fetch(url, {
      redirect: 'manual',
      ...init,
      headers: { ...(sent.length > 0 && { cookie: sent.join('; ') }), ...init.headers },
    })
    for (const line of answer.headers.getSetCookie()) {
      const [pair = '', ...flags] = line.split('; ')
      const name = pair.slice(0, pair.indexOf('='))
      const path = flags.find((flag) => /^path=/i.test(flag))?.slice(5) ?? '/'
      const key = `${url.origin} ${name} ${path}`
      const value = pair.slice(name.length + 1)
      if (value === '' || flags.some((flag) => /^max-age=0$/i.test(flag))) cookies.delete(key)
      else cookies.set(key, { value, path, origin: url.origin })
    }
    return answer
  }

  /** Follows redirects while they lead to one of these. */
  async function follow(answer: Response, from: string | URL, until: (url: URL) => boolean): Promise<URL> {
    let at = new URL(from)
    let next = answer
    for (let step = 0; step < 20; step++) {
      const to = next.headers.get('location')
      if (to === null) throw new Error(`${at} does not lead on: ${next.status} ${await next.text()}`)
      at = new URL(to, at)
      if (until(at)) return at
      next = await open(at)
      if (next.status === 200) return at
    }
    throw new Error('too many redirects')
  }

  return { cookies, open, follow }
}

export type TestBrowser = ReturnType<typeof createBrowser>

const form = (fields: Record<string, string>): RequestInit => ({
  method: 'POST',
  body: new URLSearchParams(fields),
})

/** Signs in at the provider and returns the address of the callback, which is not opened. */
export async function signInThere(browser: TestBrowser, start: string, login: string): Promise<URL> {
  const isCallback = (url: URL) => url.pathname.endsWith('/callback')
  let at = await browser.follow(await browser.open(start), start, isCallback)
  while (!isCallback(at)) {
    const page = await (await browser.open(at)).text()
    const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1] ?? ''
    const action = new URL(/action="([^"]+)"/.exec(page)?.[1] ?? '', at)
    const fields: Record<string, string> = prompt === 'login' ? { prompt, login, password: 'x' } : { prompt }
    at = await browser.follow(await browser.open(action, form(fields)), action, isCallback)
  }
  return at
}

export interface OpenSession {
  half: string
  user: string
}

/** Opens the callback, and exchanges the ticket that it leads to, as the page does. */
export async function finishSignIn(
  browser: TestBrowser,
  callback: URL,
  heddle: string,
): Promise<OpenSession & { then: URL }> {
  const answer = await browser.open(callback)
  const location = answer.headers.get('location')
  if (location === null) throw new Error(`not signed in: ${answer.status} ${await answer.text()}`)
  const then = new URL(location, callback)
  const ticket = /^#ticket=(.+)$/.exec(then.hash)?.[1] ?? ''
  const opened = await browser.open(`${heddle}/ui/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ticket }),
  })
  if (opened.status !== 200) throw new Error(`no session: ${opened.status} ${await opened.text()}`)
  return { ...((await opened.json()) as OpenSession), then }
}
