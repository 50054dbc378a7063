import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { keptJson, membersOf, objectText } from '../../../packages/json/index.ts'
import { requireAccess } from '../../domain/callers.ts'
import { JsonText } from '../../domain/json/text.ts'
import { addIgnored } from '../../http/answer-headers/ignored-fields.ts'
import { reread } from '../../http/bodies.ts'
import { shapeOf } from '../../http/body-shapes.ts'
import { deploymentOf } from '../../http/clients/targets.ts'
import { CheckedBody, parseOrRefuse } from '../../http/validation.ts'
import type { Models } from '../../inference/registry.ts'
import { databaseOf } from '../../storage/database.ts'
import type { ShadowOfLabel } from '../../storage/objects/label-shares.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { Value } from '../objects/values.ts'
import type { NamedPrompt, RecordingTarget, ShadowToAsk } from '../recording/answer.ts'
import { projectHeader, recordingTarget } from '../recording/target-headers.ts'
import { NamingBody } from './contract.ts'
import { filledPrompt } from './filling.ts'
import { itemsIn } from './messages.ts'
import { type PromptName, promptNotFound, usualLabel } from './named-prompts.ts'
import { stickinessOf } from './shares.ts'
import { type PromptWire, type ShadowedApi, shadowedApiOf } from './wires.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The prompt that the request names, as the record keeps it. */
    namedPrompt?: NamedPrompt
    /** What its headers say, once they were read. */
    target?: RecordingTarget
    shadow?: ShadowToAsk
  }
}

/** What a request says of its prompt. */
interface Reference extends PromptName {
  variables: ReadonlyMap<string, string>
  /** It is the name of a model: one that is no prompt is left to the models. */
  isModel: boolean
}

/** The header of an answer that says which version of a prompt it has. */
const promptHeader = 'x-heddle-prompt'

/** Puts the prompt that a request names into it, before it is validated. Others are not touched. */
export function withNamedPrompt(services: GenerationParts, wire: PromptWire) {
  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    let reference: Reference | undefined
    try {
      reference = referenceIn(request, services.models)
    } catch (error) {
      done(error as Error)
      return
    }
    if (reference === undefined) {
      // Not needed any more, and large.
      delete request.keptBody?.sent
      done()
    } else fill(services, request, reply, wire, reference).then(() => done(), done)
  }
}

interface NamingFields {
  prompt?: unknown
  model?: unknown
}

/**
 * Of a large body that does not fit its contract, perhaps because the prompt has what it lacks, only the text is there. What
 * is refused otherwise may be no JSON, or beyond all bounds.
 */
function fieldsOf({ body, keptBody }: FastifyRequest): NamingFields {
  if (!(body instanceof CheckedBody)) return (body ?? {}) as NamingFields
  if ('value' in body.result) return (body.result.value ?? {}) as NamingFields
  if (body.result.error.code !== 'invalid_request') return {}
  const text = keptBody?.sent?.() ?? ''
  if (!text.trimStart().startsWith('{')) return {}
  const members = membersOf(text)
  const model = members.get('model')
  return {
    prompt: new JsonText(members.get('prompt') ?? 'null'),
    model: model?.startsWith('"') ? JSON.parse(model) : undefined,
  }
}

function referenceIn(request: FastifyRequest, models: Models): Reference | undefined {
  const { prompt, model } = fieldsOf(request)
  if (prompt instanceof JsonText && prompt.text.startsWith('{')) {
    const body = parseOrRefuse(NamingBody, { prompt: prompt.value }, 'body') as z.output<typeof NamingBody>
    const { prompt: read } = body
    const variables = membersOf(prompt.text).get('variables') ?? 'null'
    return {
      id: read.id,
      version: read.version ?? usualLabel,
      variables: variables === 'null' ? new Map() : membersOf(variables),
      isModel: false,
    }
  }
  const [, id, version] =
    (typeof model === 'string' && /^([\w.-]{1,128})@([\w.-]{1,128})(?::latest)?$/.exec(model)) || []
  if (id === undefined || version === undefined) return undefined
  const isServed = models.all.some((served) => served.served()?.names.includes(model as string))
  return isServed ? undefined : { id, version, variables: new Map(), isModel: true }
}

async function fill(
  { db, prompts, models }: GenerationParts,
  request: FastifyRequest,
  reply: FastifyReply,
  wire: PromptWire,
  { id, version, variables, isModel }: Reference,
): Promise<void> {
  const { caller, headers, keptBody } = request
  const target = recordingTarget(caller, headers)
  const { project } = target
  request.target = target
  requireAccess(caller, project, projectHeader)
  const sent = () => membersOf((keptBody.sent as () => string)())
  const reader = databaseOf(caller.name, db)
  const sticky = stickinessOf({ db: reader, caller, headers, target }, id, sent)
  const found = await prompts.find(reader, project, { id, version }, sticky)
  if (found === undefined) {
    if (isModel) return
    throw promptNotFound(project, { id, version })
  }
  const filled = filledPrompt(found.prompt, variables, models)
  const own = sent()
  // An address may name the model, too.
  const model = deploymentOf(request) ?? fieldsOf(request).model
  if (typeof model === 'string') own.set('model', JSON.stringify(model))
  own.delete(isModel ? 'model' : 'prompt')
  // Nobody waits for the lines of a batch: they are no measure of what clients see.
  if (found.shadow !== undefined && request.batched === undefined)
    request.shadow = shadowToAsk(found.shadow, { own, variables, api: shadowedApiOf(wire) })
  const members = wire(filled, own)
  const fields = shapeOf(request.routeOptions.schema?.body as z.ZodType).fields
  const ignored = [...found.prompt.settings.keys()].filter(
    (name) => fields?.has(name) === false && !own.has(name) && members.delete(name),
  )
  addIgnored(
    reply,
    ignored.map((name) => `prompt.settings.${name}`),
  )
  const text = objectText(members)
  const { without = [] } = request.routeOptions.config.keepsBody ?? {}
  request.keptBody = { bytes: text.length, json: () => new JsonText(keptJson(text, without)) }
  request.body = await reread(request, text)
  request.namedPrompt = {
    ...{ id, version: found.digest, label: version },
    variables: new JsonText(objectText(variables)),
  }
  reply.header(promptHeader, `${id}:${found.digest}`)
}

/** Characters of a request that waits to be asked once more. */
const maxRequest = 256 * 1024

/** Fields that are about the client's answer, or about nobody else's. */
const ofClient = ['stream', 'stream_options', 'n', 'store', 'metadata', 'background', 'conversation']
const ofServer = ['request_id', 'session_id', 'priority', 'cache_salt', 'stream_interval']
const notAsked = new Set([...ofClient, ...ofServer])

interface Asked {
  /** The request before its prompt is put into it. */
  own: ReadonlyMap<string, string>
  variables: ReadonlyMap<string, string>
  api: ShadowedApi | undefined
}

/** Whether it has something that only its own client may open: a stored answer, item or conversation, or sealed thoughts. */
function refersToStored(own: ReadonlyMap<string, string>): boolean {
  if (['previous_response_id', 'conversation'].some((name) => (own.get(name) ?? 'null') !== 'null'))
    return true
  return itemsIn(own.get('input')).some((json) => {
    const item = new Value(json)
    const isReference = item.member('type') === undefined && item.member('role') === undefined
    return (
      isReference ||
      item.member('type')?.string === 'item_reference' ||
      item.member('encrypted_content')?.string !== undefined
    )
  })
}

/** What the other version is asked: the request of the client, which that version fills in its own way. */
function shadowToAsk(
  { id, portion }: Pick<ShadowOfLabel, 'id' | 'portion'>,
  { own, variables, api }: Asked,
): ShadowToAsk {
  const body = new Map([...own].filter(([name]) => !notAsked.has(name)))
  return {
    ...{ id, portion },
    asked() {
      if (api === undefined) return { request: null, reason: 'other_api' }
      if (api === 'responses' && refersToStored(own)) return { request: null, reason: 'stored_conversation' }
      const request = objectText([
        ['api', JSON.stringify(api)],
        ['variables', objectText(variables)],
        ['body', objectText(body)],
      ])
      if (request.length > maxRequest) return { request: null, reason: 'request_too_large' }
      return { request, reason: null }
    },
  }
}
