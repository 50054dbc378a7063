import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { CheckedBody } from '../validation.ts'

/**
 * The path of a request target. A client of a proxy sends a whole URL where others send a path, and a server must
 * accept both (RFC 9112, section 3.2.2).
 */
function pathOfTarget(target: string): string {
  if (target.startsWith('/') || !/^https?:\/\//i.test(target)) return target
  const rest = target.slice(target.indexOf('//') + 2)
  const at = rest.search(/[/?#]/)
  if (at === -1) return '/'
  return rest[at] === '/' ? rest.slice(at) : `/${rest.slice(at)}`
}

/** What Azure has beside its deployments, and without `v1`. */
const withoutDeployment = /^\/(?:models|responses)(?:[/?]|$)/

/** The models that addresses of Azure name, by the request. */
const deployments = new WeakMap<IncomingMessage, string>()

/**
 * The path of a request. An address of Azure's OpenAI is that of the route here: `/openai/v1/…`, or `/openai/deployments/{model}/…`, whose `api-version` says
 * nothing here.
 */
export function pathOf(request: IncomingMessage): string {
  const url = pathOfTarget(request.url ?? '/')
  if (!url.startsWith('/openai/')) return url
  const below = url
    .slice('/openai'.length)
    .replace(/([?&])api-version=[^&]*(?:&|$)/, '$1')
    .replace(/[?&]$/, '')
  if (below.startsWith('/v1/')) return below
  const [, model = '', rest = ''] = /^\/deployments\/([^/?]+)(\/.*)$/.exec(below) ?? []
  if (model !== '') {
    try {
      deployments.set(request, decodeURIComponent(model))
      return `/v1${rest}`
    } catch {
      return url
    }
  }
  return withoutDeployment.test(below) ? `/v1${below}` : url
}

/** The model that the address of a request names. */
export const deploymentOf = ({ raw }: Pick<FastifyRequest, 'raw'>) => deployments.get(raw)

/** A body at such an address need not name the model. If it does, the address counts, as at Azure. */
export function nameDeployments(app: FastifyInstance): void {
  app.addHook('preValidation', (request, _reply, done) => {
    const model = deploymentOf(request)
    if (model !== undefined) {
      const { body } = request
      const value =
        body instanceof CheckedBody ? ('value' in body.result ? body.result.value : undefined) : body
      if (typeof value === 'object' && value !== null && !Array.isArray(value))
        Object.assign(value, { model })
    }
    done()
  })
}
