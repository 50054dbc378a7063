import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import Anthropic from '@anthropic-ai/sdk'
import type { AIMessageChunk, UsageMetadata } from '@langchain/core/messages'
import { ChatOpenAI } from '@langchain/openai'
import { generateText, type LanguageModel, streamText } from 'ai'
import OpenAI6 from 'openai'
import OpenAI7 from 'openai-7'

/** Unmodified published SDKs: each asks one question, for the most likely answer, and returns what it received. */

export interface Asked {
  /** The URL of the server, without a path. */
  address: string
  apiKey: string
  /** Headers of every request of the client. */
  headers: Record<string, string>
  question: string
  maxTokens: number
  stream: boolean
}

export interface Answered {
  /** The id of the answer as the SDK returns it. */
  id: string
  text: string
  promptTokens: number | undefined
  completionTokens: number | undefined
}

export interface Sdk {
  op: string
  /** The path of the text of the answer in the call. */
  text: string
  ask(asked: Asked): Promise<Answered>
}

const model = 'heddle-tiny'
const temperature = 0

type OpenAI = typeof OpenAI6

const openai = (Client: OpenAI, { address, apiKey, headers }: Asked) =>
  new Client({ baseURL: `${address}/v1`, apiKey, defaultHeaders: headers, maxRetries: 0 })

function chat(Client: OpenAI): Sdk['ask'] {
  return async (asked) => {
    const { completions } = openai(Client, asked).chat
    const body = {
      model,
      messages: [{ role: 'user' as const, content: asked.question }],
      max_tokens: asked.maxTokens,
      temperature,
    }
    const { id, choices, usage } = asked.stream
      ? await completions.stream({ ...body, stream_options: { include_usage: true } }).finalChatCompletion()
      : await completions.create(body)
    return {
      id,
      text: choices[0]?.message.content ?? '',
      promptTokens: usage?.prompt_tokens,
      completionTokens: usage?.completion_tokens,
    }
  }
}

function responses(Client: OpenAI): Sdk['ask'] {
  return async (asked) => {
    const client = openai(Client, asked)
    const body = { model, input: asked.question, max_output_tokens: asked.maxTokens, temperature }
    const { id, output_text, usage } = asked.stream
      ? await client.responses.stream(body).finalResponse()
      : await client.responses.create(body)
    return {
      id,
      text: output_text,
      promptTokens: usage?.input_tokens,
      completionTokens: usage?.output_tokens,
    }
  }
}

const messages: Sdk['ask'] = async ({ address, apiKey, headers, question, maxTokens, stream }) => {
  const client = new Anthropic({ baseURL: address, apiKey, defaultHeaders: headers, maxRetries: 0 })
  const body = {
    model,
    max_tokens: maxTokens,
    messages: [{ role: 'user' as const, content: question }],
    // Anthropic's newer models do not support it, so it is missing from the types of the SDK.
    ...({ temperature } as object),
  }
  const { id, content, usage } = stream
    ? await client.messages.stream(body).finalMessage()
    : await client.messages.create(body)
  return {
    id,
    text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
    promptTokens: usage.input_tokens + (usage.cache_read_input_tokens ?? 0),
    completionTokens: usage.output_tokens,
  }
}

function ai(modelOf: (settings: ProviderSettings) => LanguageModel): Sdk['ask'] {
  return async ({ address, apiKey, headers, question, maxTokens, stream }) => {
    const body = {
      model: modelOf({ baseURL: `${address}/v1`, apiKey, headers }),
      prompt: question,
      maxOutputTokens: maxTokens,
      temperature,
      maxRetries: 0,
    }
    const result = stream ? streamText(body) : await generateText(body)
    const [{ id }, text, usage] = [await result.response, await result.text, await result.usage]
    return { id, text, promptTokens: usage.inputTokens, completionTokens: usage.outputTokens }
  }
}

interface ProviderSettings {
  baseURL: string
  apiKey: string
  headers: Record<string, string>
}

const langchain: Sdk['ask'] = async ({ address, apiKey, headers, question, maxTokens, stream }) => {
  const client = new ChatOpenAI({
    model,
    apiKey,
    maxTokens,
    temperature,
    maxRetries: 0,
    configuration: { baseURL: `${address}/v1`, defaultHeaders: headers },
  })
  const chunks: AIMessageChunk[] = []
  if (stream) for await (const chunk of await client.stream(question)) chunks.push(chunk)
  else chunks.push(await client.invoke(question))
  const answer = chunks.reduce((whole, chunk) => whole.concat(chunk))
  const usage = answer.usage_metadata as UsageMetadata | undefined
  return {
    id: answer.id ?? '',
    text: answer.text,
    promptTokens: usage?.input_tokens,
    completionTokens: usage?.output_tokens,
  }
}

const openai7 = OpenAI7 as unknown as OpenAI

const asChat = { op: 'heddle.chat.completions', text: 'output.choices.0.message.content' }
const asResponse = { op: 'heddle.responses', text: 'output.output.0.content.0.text' }
const asMessage = { op: 'heddle.messages', text: 'output.content.0.text' }

export const sdks: Record<string, Sdk> = {
  'openai 6': { ...asChat, ask: chat(OpenAI6) },
  'openai 7': { ...asChat, ask: chat(openai7) },
  'openai 6, responses': { ...asResponse, ask: responses(OpenAI6) },
  'openai 7, responses': { ...asResponse, ask: responses(openai7) },
  '@anthropic-ai/sdk': { ...asMessage, ask: messages },
  'ai, openai': { ...asResponse, ask: ai((settings) => createOpenAI(settings)(model)) },
  'ai, openai chat': { ...asChat, ask: ai((settings) => createOpenAI(settings).chat(model)) },
  'ai, openai-compatible': {
    ...asChat,
    ask: ai((settings) => createOpenAICompatible({ name: 'heddle', includeUsage: true, ...settings })(model)),
  },
  'ai, anthropic': { ...asMessage, ask: ai((settings) => createAnthropic(settings)(model)) },
  '@langchain/openai': { ...asChat, ask: langchain },
}
