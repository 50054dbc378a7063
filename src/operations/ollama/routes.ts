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

const asks = <Body extends z.ZodType>(summary: string, body: Body) => ({
  ...{ summary, tags, body },
  description: 'docs/ollama.md describes each field.',
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

  app.post(
    '/api/chat',
    {
      ...prompted,
      preValidation: withNamedPrompt(services, ollamaChatWire),
      schema: {
        ...asks('Answer a conversation, compatible with Ollama', OllamaChatBody),
        response: { 200: wholeOrLines(answers.OllamaChatAnswer), ...generation },
      },
    },
    async (request, reply) => (await import('./answers.ts')).answerChat(services, request, reply),
  )
  app.post(
    '/api/generate',
    {
      ...prompted,
      preValidation: withNamedPrompt(services, ollamaPromptWire),
      schema: {
        ...asks('Answer a prompt, compatible with Ollama', GenerateBody),
        response: { 200: wholeOrLines(answers.GenerateAnswer), ...generation },
      },
    },
    async (request, reply) => (await import('./answers.ts')).answerPrompt(services, request, reply),
  )
  app.post(
    '/api/embed',
    {
      ...answering,
      schema: {
        ...asks('Make embeddings, compatible with Ollama', EmbedBody),
        response: { 200: described(answers.EmbedAnswer), ...generation },
      },
    },
    async (request, reply) => (await import('./embed.ts')).answerEmbed(services, request, reply),
  )
  app.post(
    '/api/embeddings',
    {
      ...answering,
      schema: {
        ...asks('Make one embedding, in the older form of Ollama', PromptEmbedBody),
        response: { 200: described(answers.PromptEmbedAnswer), ...generation },
      },
    },
    async (request, reply) => (await import('./embed.ts')).answerPromptEmbed(services, request, reply),
  )

  const shown = () => import('./shown.ts')
  app.post(
    '/api/show',
    {
      config: asking,
      schema: {
        ...asks('Describe a model, compatible with Ollama', ShowBody),
        response: { 200: described(answers.ShowAnswer), ...withBody },
      },
    },
    async ({ body, caller }) => (await shown()).showModel(models, settings, body, caller),
  )
  app.post(
    '/api/pull',
    {
      config: asking,
      schema: {
        ...asks('Succeed for a model that is served, compatible with Ollama', PullBody),
        response: {
          200: wholeOrLines(answers.PullAnswer),
          ...withBody,
          ...ollamaRefusalContracts('models_chosen'),
        },
      },
    },
    async ({ body, caller }, reply) => {
      const pulled = (await shown()).pullModel(models, body, caller)
      return body.stream === false
        ? pulled
        : reply.type('application/x-ndjson').send(`${JSON.stringify(pulled)}\n`)
    },
  )
  app.get(
    '/api/tags',
    {
      config: looking,
      schema: {
        summary: 'List the served models, compatible with Ollama',
        tags,
        response: { 200: described(answers.TagsAnswer), ...ollamaRefusalContracts() },
      },
    },
    async ({ caller }) => (await shown()).listTags(models, caller),
  )
  app.get(
    '/api/ps',
    {
      config: looking,
      schema: {
        summary: 'List the loaded models, compatible with Ollama',
        tags,
        response: { 200: described(answers.ProcessesAnswer), ...ollamaRefusalContracts() },
      },
    },
    async ({ caller }) => (await shown()).listLoaded(models, caller),
  )
  app.get(
    '/api/version',
    {
      config: looking,
      schema: {
        summary: 'The version of Ollama that this wire is like',
        tags,
        response: { 200: described(answers.VersionAnswer), ...ollamaRefusalContracts() },
      },
    },
    async () => ({ version: (await shown()).ollamaVersion }),
  )

  for (const [method, url, what] of refusedRoutes) {
    app.route({
      method,
      url,
      config: looking,
      schema: {
        summary: `Refused: ${what}`,
        tags,
        response: ollamaRefusalContracts('models_chosen'),
      },
      // Before anything of the body is read.
      onRequest: async () => {
        throw refuse('models_chosen', { what })
      },
      handler: async () => undefined,
    })
  }
}
