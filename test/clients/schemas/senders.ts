import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import createInstructor from '@instructor-ai/instructor'
import { tool as langchainTool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { tool as llamaTool } from '@llamaindex/core/tools'
import { openai as llamaOpenai } from '@llamaindex/openai'
import { Agent, tool as agentTool, OpenAIProvider, Runner } from '@openai/agents'
import { tool as aiTool, asSchema, generateObject, generateText, Output } from 'ai'
import OpenAI from 'openai'
import { zodFunction, zodResponseFormat, zodResponsesFunction, zodTextFormat } from 'openai/helpers/zod'
import type { z as z4 } from 'zod'
import type { z as z3 } from 'zod/v3'

/** Unmodified published libraries: each asks for a zod object, and the request that it would send is captured. */

export type Given = z4.ZodObject | z3.AnyZodObject
/** The types of the libraries differ; only their behaviour with either version matters here. */
// biome-ignore lint/suspicious/noExplicitAny: libraries disagree about the types of zod
type Loose = any

export type Sender = (given: Given) => Promise<unknown[]>

type Fetch = typeof globalThis.fetch

/** The schemas in the requests of the library; none if it refuses the type itself. */
const sending =
  (ask: (given: Loose, fetch: Fetch) => Promise<unknown>): Sender =>
  async (given) => {
    const bodies: unknown[] = []
    const taking: Fetch = async (_url, init) => {
      bodies.push(JSON.parse(String(init?.body)))
      return Response.json({ error: { message: 'enough' } }, { status: 400 })
    }
    try {
      await ask(given, taking)
    } catch {
      // Rejected because of the answer, or before a request was sent.
    }
    return bodies.flatMap(schemasIn)
  }

/** The AI SDK reports a type without a schema too late to be caught, so the schema is written here first. */
const sendingByAi = (ask: (given: Loose, fetch: Fetch) => Promise<unknown>): Sender =>
  sending(async (given, fetch) => {
    await asSchema(given).jsonSchema
    return ask(given, fetch)
  })

const writing =
  (write: (given: Loose) => unknown): Sender =>
  async (given) => {
    try {
      return schemasIn(JSON.parse(JSON.stringify(write(given))))
    } catch {
      return []
    }
  }

/** Finds schemas by the names of their members, in the requests of any API. */
function schemasIn(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => {
    const isSchema = (name === 'schema' || name === 'parameters') && typeof member === 'object'
    return isSchema ? [member] : schemasIn(member)
  })
}

const place = { baseURL: 'http://heddle.invalid/v1', apiKey: 'none' }
const model = 'heddle'
const messages = [{ role: 'user' as const, content: 'Who?' }]
const name = 'answer'
const description = 'Takes it'

const compatible = (fetch: Fetch) =>
  createOpenAICompatible({ name: 'heddle', ...place, fetch, supportsStructuredOutputs: true })(model)
const once = { prompt: 'Who?', maxRetries: 0 }

const langchain = (fetch: Fetch) =>
  new ChatOpenAI({ model, apiKey: 'none', maxRetries: 0, configuration: { baseURL: place.baseURL, fetch } })

const instructor =
  (mode: 'TOOLS' | 'FUNCTIONS' | 'JSON_SCHEMA') =>
  async (schema: Loose, fetch: Fetch): Promise<unknown> => {
    const client = createInstructor({ client: new OpenAI({ ...place, fetch, maxRetries: 0 }) as Loose, mode })
    return client.chat.completions.create({
      model,
      messages,
      response_model: { schema, name },
      max_retries: 0,
    })
  }

const llama = (fetch: Fetch) =>
  llamaOpenai({ model, ...place, maxRetries: 0, additionalSessionOptions: { fetch } })

const runner = (fetch: Fetch) =>
  new Runner({
    modelProvider: new OpenAIProvider({
      openAIClient: new OpenAI({ ...place, fetch, maxRetries: 0 }) as Loose,
      useResponses: false,
    }),
    tracingDisabled: true,
  })

export const senders: Record<string, Sender> = {
  'openai, zodResponseFormat': writing((given) => zodResponseFormat(given, name)),
  'openai, zodTextFormat': writing((given) => zodTextFormat(given, name)),
  'openai, zodFunction': writing((parameters) => zodFunction({ name, parameters })),
  'openai, zodResponsesFunction': writing((parameters) => zodResponsesFunction({ name, parameters })),
  'ai, generateObject': sendingByAi((schema, fetch) =>
    generateObject({ ...once, model: compatible(fetch), schema }),
  ),
  'ai, Output.object': sendingByAi((schema, fetch) =>
    generateText({ ...once, model: compatible(fetch), output: Output.object({ schema }) }),
  ),
  'ai, Output.array': sendingByAi((element, fetch) =>
    generateText({ ...once, model: compatible(fetch), output: Output.array({ element }) }),
  ),
  'ai, tools': sendingByAi((inputSchema, fetch) =>
    generateText({
      ...once,
      model: compatible(fetch),
      tools: { [name]: aiTool({ description, inputSchema }) },
    }),
  ),
  'ai, openai responses': sendingByAi((schema, fetch) =>
    generateText({
      ...once,
      model: createOpenAI({ ...place, fetch })(model),
      output: Output.object({ schema }),
      tools: { [name]: aiTool({ description, inputSchema: schema }) },
    }),
  ),
  'langchain, jsonSchema': sending((schema, fetch) =>
    langchain(fetch).withStructuredOutput(schema, { method: 'jsonSchema', name }).invoke('Who?'),
  ),
  'langchain, functionCalling': sending((schema, fetch) =>
    langchain(fetch).withStructuredOutput(schema, { method: 'functionCalling', name }).invoke('Who?'),
  ),
  'langchain, strict': sending((schema, fetch) =>
    langchain(fetch)
      .withStructuredOutput(schema, { method: 'functionCalling', name, strict: true })
      .invoke('Who?'),
  ),
  'langchain, bindTools': sending((schema, fetch) =>
    langchain(fetch)
      .bindTools([langchainTool(async () => '', { name, description, schema })])
      .invoke('Who?'),
  ),
  'instructor, TOOLS': sending(instructor('TOOLS')),
  'instructor, FUNCTIONS': sending(instructor('FUNCTIONS')),
  'instructor, JSON_SCHEMA': sending(instructor('JSON_SCHEMA')),
  'llamaindex, responseFormat': sending((responseFormat, fetch) =>
    llama(fetch).chat({ messages, responseFormat }),
  ),
  'llamaindex, tools': sending((parameters, fetch) =>
    llama(fetch).chat({
      messages,
      tools: [llamaTool({ name, description, parameters, execute: () => '' } as Loose)],
    }),
  ),
  '@openai/agents, outputType': sending((outputType, fetch) =>
    runner(fetch).run(new Agent({ name, instructions: 'Answer.', model, outputType }), 'Who?'),
  ),
  '@openai/agents, tools': sending((parameters, fetch) => {
    const tools = [agentTool({ name, description, parameters, execute: async () => '' })]
    return runner(fetch).run(new Agent({ name, instructions: 'Answer.', model, tools }), 'Who?')
  }),
}
