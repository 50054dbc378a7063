import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { RouteOptions } from 'fastify'
import { laterFamilies } from '../src/families.ts'
import { collectRoutes, type LaterRoute } from '../src/operations/later-routes.ts'
import type { OperationParts } from '../src/operations/parts.ts'

const root = fileURLToPath(new URL('../src/', import.meta.url))

/** What is known of the routes before their families are loaded. */
export async function routeTable(): Promise<string> {
  const names = await contractNames()
  const families = await Promise.all(
    Object.entries(laterFamilies).map(async ([family, load]) => {
      const declare = await load()
      const routes = await collectRoutes((app) => declare(app, partsOfNone))
      const lines = [...routes.values()].map((route) => `    ${JSON.stringify(laterRoute(route, names))},\n`)
      return `  ${family}: [\n${lines.join('')}  ],\n`
    }),
  )
  return `// Made by \`npm run docs:generate\`; do not edit.
import type { LaterRoute } from '../later-routes.ts'

export const routeTable = {
${families.join('')}} satisfies Record<string, LaterRoute[]>
`
}

/** To declare a route, its rule need not run. */
const partsOfNone = { settings: {} } as unknown as OperationParts

function laterRoute(route: RouteOptions, names: ReadonlyMap<unknown, string>): LaterRoute {
  const { method, url, config, bodyLimit, schema = {}, preValidation, exposeHeadRoute, ...rest } = route
  const { handler: _handler, onRequest: _onRequest, ...unknown } = rest
  for (const name of Object.keys(unknown))
    throw new Error(`${method} ${url}: a route that is loaded late cannot have \`${name}\` (later-routes.ts)`)
  const checks = (['params', 'querystring', 'body'] as const).filter((name) => schema[name] !== undefined)
  const contract = schema.body === undefined ? undefined : names.get(schema.body)
  if (schema.body !== undefined && contract === undefined)
    throw new Error(
      `${method} ${url}: export the contract of its body from a file whose name ends in contract`,
    )
  return {
    method: method as LaterRoute['method'],
    url,
    config: { ...config, ...(contract && { contract }) },
    ...(bodyLimit !== undefined && { bodyLimit }),
    schema: { ...(schema.hide && { hide: true }), ...(schema.consumes && { consumes: schema.consumes }) },
    checks,
    ...(preValidation && { prepares: true }),
    ...(exposeHeadRoute === false && { exposeHeadRoute }),
  }
}

async function contractNames(): Promise<Map<unknown, string>> {
  const names = new Map<unknown, string>()
  for (const file of globSync('**/*contract.ts', { cwd: root }).sort()) {
    for (const [name, contract] of Object.entries(await import(`${root}${file}`)))
      names.set(contract, `${file.replace(/\.ts$/, '')}#${name}`)
  }
  return names
}
