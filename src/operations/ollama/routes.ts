import type { z } from 'zod'
import { refuse } from '../../domain/refusals.ts'
import { ollamaRefusalContracts, type Routes } from '../../http/contracts.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { withNamedPrompt } from '../prompts/in-request.ts'
import { ollamaChatWire, ollamaPromptWire } from '../prompts/wires.ts'
import * as answers from './answer-contract.ts'
import { EmbedBody, GenerateBody, OllamaChatBody, PromptEmbedBody, PullBody, ShowBody } from './contract.ts'

/** Ollama's wire. */

const tags = ['ollama']
const asking = { right: 'infer', keyless: true } as const
const looking = { right: 'own', keyless: true } as const

const withBody = ollamaRefusalContracts(
  'malformed_json',
  'model_not_found',
  'body_too_large',
  'unsupported_media_type',
)
const generation = {
  ...withBody,
  ...ollamaRefusalContracts('entity_forbidden', 'upstream_failed', 'upstream_timeout'),
}

const described = (answer: z.ZodType) => answer.describe('In the form of Ollama.')

const asks = <Body extends z.ZodType>(
  summary: string,
  body: Body,
  answer: unknown,
  refused: typeof withBody = generation,
) => ({
  ...{ summary, tags, body },
  description: 'docs/ollama.md describes each field.',
  response: { 200: answer, ...refused },
})

const looks = (summary: string, answer: z.ZodType) => ({
  config: looking,
  schema: { summary, tags, response: { 200: described(answer), ...ollamaRefusalContracts() } },
})

/** One object, or objects in lines. */
function wholeOrLines(answer: z.ZodType) {
  const schema = described(answer)
  return {
    description: 'In the form of Ollama: with `"stream": false` one object, otherwise one per line.',
    content: { 'application/json': { schema }, 'application/x-ndjson': { schema } },
  }
}

/** What only the operator can do here. */
const refusedRoutes: readonly [method: 'POST' | 'DELETE', url: string, what: string][] = [
  ['POST', '/api/create', 'no model can be created'],
  ['POST', '/api/copy', 'no model can be copied'],
  ['POST', '/api/push', 'no model can be pushed'],
  ['DELETE', '/api/delete', 'no model can be deleted'],
  ['POST', '/api/blobs/:digest', 'no file of a model can be sent'],
]

export const ollamaRoutes: Routes<GenerationParts> = async (app, services) => {
  const { models, settings } = services
  const answering = { config: { ...asking, spendsTokens: true, keepsBody: { without: [] } } }
  const prompted = { config: { ...answering.config, namesPrompt: true } } as const

  const chat = asks(
    'Answer a conversation, compatible with Ollama',
    OllamaChatBody,
    wholeOrLines(answers.OllamaChatAnswer),
  )
  app.post(
    '/api/chat',
    { ...prompted, preValidation: withNamedPrompt(services, ollamaChatWire), schema: chat },
    async (request, reply) => (await import('./answers.ts')).answerChat(services, request, reply),
  )
  const generate = asks(
    'Answer a prompt, compatible with Ollama',
    GenerateBody,
    wholeOrLines(answers.GenerateAnswer),
  )
  app.post(
    '/api/generate',
    { ...prompted, preValidation: withNamedPrompt(services, ollamaPromptWire), schema: generate },
    async (request, reply) => (await import('./answers.ts')).answerPrompt(services, request, reply),
  )
  const embed = asks('Make embeddings, compatible with Ollama', EmbedBody, described(answers.EmbedAnswer))
  app.post('/api/embed', { ...answering, schema: embed }, async (request, reply) =>
    (await import('./embed.ts')).answerEmbed(services, request, reply),
  )
  const embedPrompt = asks(
    'Make one embedding, in the older form of Ollama',
    PromptEmbedBody,
    described(answers.PromptEmbedAnswer),
  )
  app.post('/api/embeddings', { ...answering, schema: embedPrompt }, async (request, reply) =>
    (await import('./embed.ts')).answerPromptEmbed(services, request, reply),
  )

  const shown = () => import('./shown.ts')
  const show = asks(
    'Describe a model, compatible with Ollama',
    ShowBody,
    described(answers.ShowAnswer),
    withBody,
  )
  app.post('/api/show', { config: asking, schema: show }, async ({ body, caller }) =>
    (await shown()).showModel(models, settings, body, caller),
  )
  const pull = asks(
    'Succeed for a model that is served, compatible with Ollama',
    PullBody,
    wholeOrLines(answers.PullAnswer),
    { ...withBody, ...ollamaRefusalContracts('models_chosen') },
  )
  app.post('/api/pull', { config: asking, schema: pull }, async ({ body, caller }, reply) => {
    const pulled = (await shown()).pullModel(models, body, caller)
    return body.stream === false
      ? pulled
      : reply.type('application/x-ndjson').send(`${JSON.stringify(pulled)}\n`)
  })
  const served = looks('List the served models, compatible with Ollama', answers.TagsAnswer)
  app.get('/api/tags', served, async ({ caller }) => (await shown()).listTags(models, caller))
  const loaded = looks('List the loaded models, compatible with Ollama', answers.ProcessesAnswer)
  app.get('/api/ps', loaded, async ({ caller }) => (await shown()).listLoaded(models, caller))
  const version = looks('The version of Ollama that this wire is like', answers.VersionAnswer)
  app.get('/api/version', version, async () => ({ version: (await shown()).ollamaVersion }))

  for (const [method, url, what] of refusedRoutes) {
    app.route({
      method,
      url,
      config: looking,
      schema: { summary: `Refused: ${what}`, tags, response: ollamaRefusalContracts('models_chosen') },
      // Before anything of the body is read.
      onRequest: async () => {
        throw refuse('models_chosen', { what })
      },
      handler: async () => undefined,
    })
  }
}
