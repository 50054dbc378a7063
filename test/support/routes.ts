import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { FastifyInstance } from 'fastify'
import type { Right } from '../../src/domain/roles.ts'
import { openApp, type TestApp } from './app.ts'

export interface Route {
  method: string
  /** As it is declared, with `:name` for what varies. */
  url: string
  isPublic: boolean
  right?: Right | undefined
  takesBody: boolean
  /** The contract of the body. */
  body?: unknown
  /** Where threads find it. */
  contract?: string | undefined
  /** Its answer ends when its client disconnects: an injected request would wait for ever. */
  staysOpen: boolean
  /** Not in the OpenAPI document. */
  isHidden: boolean
}

/** The app with every route that it registers, including those of plugins, the API reference and HEAD. */
export async function openAppWithRoutes(
  t: { after(close: () => Promise<void>): void },
  { settings, ...parts }: Parameters<typeof openApp>[1] = {},
): Promise<TestApp & { routes: Route[] }> {
  // Other apps may be opened meanwhile.
  const routesOf = new Map<unknown, Route[]>()
  const collect = (message: unknown) => {
    const { fastify } = message as { fastify: FastifyInstance }
    const routes: Route[] = []
    routesOf.set(fastify, routes)
    fastify.addHook('onRoute', ({ method, url, config, schema }) => {
      for (const one of [method].flat()) {
        routes.push({
          method: one,
          url,
          isPublic: config?.public === true,
          right: config?.right,
          contract: config?.contract,
          takesBody: schema?.body !== undefined,
          // Read when the code of the route is loaded.
          get body() {
            return schema?.body
          },
          staysOpen: config?.staysOpen === true,
          isHidden: schema?.hide === true,
        })
      }
    })
  }
  subscribe('fastify.initialization', collect)
  try {
    const opened = await openApp(t, { ...parts, settings: { HEDDLE_DOCS: 'on', ...settings } })
    await opened.app.loadRoutes()
    return { ...opened, routes: routesOf.get(opened.app) ?? [] }
  } finally {
    unsubscribe('fastify.initialization', collect)
  }
}

/** An address of the route that could exist. */
export function addressOf({ url }: Pick<Route, 'url'>, [entity, project] = ['acme', 'qa']): string {
  return url
    .replace(':entity', entity as string)
    .replace(':project', project as string)
    .replace(':alias', 'production')
    .replace('*', 'swagger-ui.css')
}
