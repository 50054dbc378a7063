import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { buildApp } from '../src/app.ts'
import { readConfig } from '../src/config.ts'
import { type Right, rights, roles } from '../src/domain/roles.ts'
import { openRecord } from '../src/storage/open.ts'
import { generated } from './pages.ts'

const meanings: Record<Right, string> = {
  own: 'oneself, the models',
  keys: "one's own keys",
  read_queues: 'queues, their items, calls, feedback, questions',
  read: 'everything else that is stored',
  review: 'take items; feedback',
  export: 'whole projects',
  infer: 'ask models',
  write_calls: 'record calls and their values',
  write: 'change and delete',
  administer: 'delete a project, invite, grant',
  scrape: 'the metrics; an admin of `*`',
  operate: 'the rest of the server; an admin of `*`',
}

/** Which role may do what, and which route does what, from the declarations of the routes. */
export async function rolesPage(): Promise<string> {
  const names = Object.keys(rights) as Right[]
  const allowed = names.map((right) => {
    const marks = roles.map((role) => ((rights[right] as readonly string[]).includes(role) ? 'yes' : ''))
    return `| \`${right}\` | ${meanings[right]} | ${marks.join(' | ')} |`
  })
  const routes = await declaredRoutes()
  const done = names.map((right) => {
    const own = routes.filter((route) => route.right === right)
    const byMethod = Map.groupBy(own, ({ method }) => method)
    const lists = [...byMethod].map(
      ([method, those]) =>
        `${method}<br>${those
          .map(({ url }) => `\`${url}\``)
          .sort()
          .join('<br>')}`,
    )
    return `| \`${right}\` | ${lists.join('<br>')} |`
  })
  return `${generated}

# Roles

A grant is a role for an entity, a project or \`*\`. Grants add up: what any of them allows in a project is allowed. A \`member\` is an
editor of its entities; users of HEDDLE_USERS with \`*\` are admins of \`*\`.

| | What | ${roles.join(' | ')} |
|---|---|${roles.map(() => '---').join('|')}|
${allowed.join('\n')}

Other projects answer as if there were none (\`entity_forbidden\`); a role that is too low gets \`role_forbidden\`, which names the
operation. An annotator sees the queues of the project, the calls that these name (others are 404), all feedback on them, and replaces
only its own. A role that falls ends nothing that runs: the next request is refused, and a lease expires.

A key may have scopes, which are these operations, and an expiry. It never does more than its user. \`read\` and \`review\` include
\`read_queues\`; \`write\` includes \`write_calls\`, \`operate\` \`scrape\`. Judges and shadows also need \`infer\`, runs of evaluations \`write_calls\`. A monitor
runs as who last changed what it asks, resumed it or ran it. An answer that has begun outlives its key.

| | Routes |
|---|---|
${done.join('\n')}
`
}

interface DeclaredRoute {
  method: string
  url: string
  right: Right | undefined
}

async function declaredRoutes(): Promise<DeclaredRoute[]> {
  const routes: DeclaredRoute[] = []
  const collect = (message: unknown) => {
    const { fastify } = message as { fastify: FastifyInstance }
    fastify.addHook('onRoute', ({ method, url, config }) => {
      if (method !== 'HEAD') routes.push({ method: String(method), url, right: config?.right })
    })
  }
  const folder = mkdtempSync(join(tmpdir(), 'heddle-docs-'))
  const database = await openRecord({ databaseUrl: '', folder, queryTimeoutMs: 1_000 })
  subscribe('fastify.initialization', collect)
  try {
    const config = readConfig({ HEDDLE_MODEL: 'none', HEDDLE_DOCS: 'off' })
    await (await buildApp(config, { database, sweep: false })).close()
  } finally {
    unsubscribe('fastify.initialization', collect)
    await database.close()
    rmSync(folder, { recursive: true })
  }
  return routes.sort((a, b) => (a.method < b.method ? -1 : a.method > b.method ? 1 : 0))
}
