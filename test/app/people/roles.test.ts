import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { hashKey } from '../../../src/domain/keys.ts'
import { type Grant, type Right, type Role, rights, roles } from '../../../src/domain/roles.ts'
import { basic, keys } from '../../support/app.ts'
import { fileForm, sendForm } from '../../support/forms.ts'
import { addressOf, openAppWithRoutes, type Route } from '../../support/routes.ts'
import { sampleBodies } from '../../support/sample-bodies.ts'
import { scriptedBackend } from '../../support/scripted-backend.ts'

const opened = await openAppWithRoutes({ after }, { backend: scriptedBackend() })
const { app, database, routes } = opened
const known = routes.filter(({ isPublic, method }) => !isPublic && method !== 'HEAD')

let made = 0
/** The key of a new user with these grants. */
async function granted(...grants: Grant[]): Promise<string> {
  const key = `a-key-that-is-long-enough-${++made}`
  const user = { name: `user-${made}`, role: 'member' as const, entities: [], grants, created_at: 1 }
  assert.ok(await database.write('addUser', { user, key: { id: `key-${made}`, hash: hashKey(key) } }))
  return key
}

const lacks = (role: Role, right: Right) => !(rights[right] as readonly Role[]).includes(role)

/** What the route needs besides its path and its body. */
function queryOf({ method, url }: Route, project: string): string {
  const ids = /\/(evaluation_run|prediction|score)s$/.exec(url)?.[1]
  if (method === 'DELETE' && ids !== undefined) return `?${ids}_ids=x`
  return method === 'GET' && !url.includes(':entity') ? `?project_id=${encodeURIComponent(project)}` : ''
}

async function ask(route: Route, project: string, key: string) {
  if (/^\/files?\/create$/.test(route.url)) {
    const { status, json } = await sendForm(opened, fileForm(project, 'text'), { authorization: basic(key) })
    return { status, code: json?.code, reason: json?.reason as string | undefined }
  }
  const { user: _, ...body } = sampleBodies[route.url]?.(project) ?? {}
  const query = queryOf(route, project)
  const answer = await app.inject({
    method: route.method as 'GET',
    url: addressOf(route, project.split('/') as [string, string]) + query,
    headers: {
      authorization: basic(key),
      'x-heddle-project': project,
      ...(route.takesBody && { 'content-type': 'application/json' }),
    },
    ...(route.takesBody && { payload: JSON.stringify(body) }),
  })
  const json = answer.statusCode >= 400 && answer.body !== '' ? answer.json() : {}
  // In the forms of the record, OpenAI, Anthropic and Ollama.
  const { error = {} } = json
  const code: string | undefined = json.code ?? error.code ?? error.details?.error_code
  const reason: string | undefined = json.reason ?? error.message ?? error
  return { status: answer.statusCode, code, reason }
}

const namesProject = ({ url, takesBody }: Route) =>
  url.includes(':entity') ||
  (takesBody && JSON.stringify(sampleBodies[url]?.('acme/qa') ?? {}).includes('"project_id":"acme/qa"'))

test('every route declares what it does', () => {
  assert.ok(known.length > 150)
  assert.deepEqual(
    known.filter(({ right }) => right === undefined).map(({ url }) => url),
    [],
  )
})

/** A route with the answers of users with one role each, and what they should be. */
async function walk(check: (route: Route, right: Right, role: Role) => Promise<string | undefined>) {
  const wrong: string[] = []
  for (const route of known) {
    for (const role of roles) {
      const found = await check(route, route.right as Right, role)
      if (found !== undefined) wrong.push(`${route.method} ${route.url} as ${role}: ${found}`)
    }
  }
  assert.deepEqual(wrong, [])
}

/** Some routes of Ollama are refused to everybody, with another code. */
const isForbidden = ({ status, code = '' }: { status: number; code?: string | undefined }) =>
  status === 401 || ['role_forbidden', 'scope_forbidden', 'entity_forbidden'].includes(code)

const isOfServer = (right: Right) => right === 'scrape' || right === 'operate'
const isServerWide = (right: Right) => ['own', 'keys', 'scrape', 'operate'].includes(right)

for (const scope of ['acme', 'acme/qa']) {
  test(`a role for ${scope} opens the routes of its operations there, and refuses the others by name`, async () => {
    const of = Object.fromEntries(
      await Promise.all(roles.map(async (role) => [role, await granted({ scope, role })])),
    )
    await walk(async (route, right, role) => {
      const isRefused = lacks(role, right) || isOfServer(right)
      if (route.staysOpen && !isRefused) return undefined
      const { status, code, reason } = await ask(route, 'acme/qa', of[role])
      if (!isRefused) return isForbidden({ status, code }) ? `${status} ${code} ${reason}` : undefined
      const names = reason?.includes(`the role ${rights[right][0]}`) && reason.includes(right)
      return status === 403 && code === 'role_forbidden' && names ? undefined : `${status} ${code} ${reason}`
    })
  })
}

test('where a role is too low, a higher one elsewhere does not help', async () => {
  const of = Object.fromEntries(
    await Promise.all(
      roles.map(async (role) => [
        role,
        await granted({ scope: 'acme/qa', role }, { scope: 'globex', role: 'admin' }),
      ]),
    ),
  )
  await walk(async (route, right, role) => {
    if (!lacks(role, right) || isServerWide(right) || !namesProject(route)) return undefined
    const { status, code, reason } = await ask(route, 'acme/qa', of[role])
    const isNamed = reason?.includes(`${right} in acme/qa`) && reason.includes(`your role is ${role}`)
    return status === 403 && code === 'role_forbidden' && isNamed ? undefined : `${status} ${code} ${reason}`
  })
})

test('projects without a grant answer as they answer a member of another entity', async () => {
  const editor = await granted({ scope: 'acme/qa', role: 'editor' })
  const wrong: string[] = []
  let foreign = 0
  for (const route of known) {
    const right = route.right as Right
    if (lacks('editor', right) || isServerWide(right) || (route.staysOpen && !namesProject(route))) continue
    for (const project of ['globex/qa', 'acme/other']) {
      const member = await ask(route, 'globex/qa', keys.alice)
      const { status, code } = await ask(route, project, editor)
      if (code === 'entity_forbidden') foreign++
      if (namesProject(route) && code !== 'entity_forbidden') wrong.push(`${route.url} ${project}: ${code}`)
      if (status !== member.status || code !== member.code)
        wrong.push(`${route.url} ${project}: ${status} ${code}, to a member ${member.status} ${member.code}`)
    }
  }
  assert.deepEqual(wrong, [])
  assert.ok(foreign > 200)
})

test('members and admins from before may do what an editor and an admin of their entities may', async () => {
  await walk(async (route, right, role) => {
    if (role !== 'editor' && role !== 'admin') return undefined
    const key = role === 'editor' ? keys.alice : keys.root
    const isRefused = lacks(role, right) || (isOfServer(right) && role === 'editor')
    if (route.staysOpen) return undefined
    const { status, code } = await ask(route, 'acme/qa', key)
    return isForbidden({ status, code }) === isRefused ? undefined : `${status} ${code}`
  })
})
