import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { CheckedBody } from '../validation.ts'

/** The models that addresses of Azure name, by the request. */
const deployments = new WeakMap<IncomingMessage, string>()

/**
 * The address here of one of Azure's OpenAI: `/openai/v1/…`, or `/openai/deployments/{model}/…`, whose `api-version` says
 * nothing here.
 */
export function withoutAzure(request: IncomingMessage, url: string): string {
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
  return /^\/models(?:[/?]|$)/.test(below) ? `/v1${below}` : url
}

/** A body at such an address need not name the model. If it does, the address counts, as at Azure. */
export function nameDeployments(app: FastifyInstance): void {
  app.addHook('preValidation', (request, _reply, done) => {
    const model = deployments.get(request.raw)
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
