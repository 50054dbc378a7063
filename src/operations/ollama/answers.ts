import type { FastifyReply, FastifyRequest } from 'fastify'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { disconnectSignal } from '../../http/disconnect.ts'
import { createAnswer as createTextAnswer } from '../completions/answer.ts'
import { createChatAnswer } from '../generation/chat-answer.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { respond, type Writers } from '../generation/respond.ts'
import type { GenerateBody, OllamaChatBody } from './contract.ts'
import { messagesOf } from './conversation.ts'
import { type LineForm, lineForms, lineOf, linesOf, ollamaLines, wholeLine } from './lines.ts'
import { findModel, nameOf } from './models.ts'
import { maxTokensOf, samplingOf } from './options.ts'
import {
  beginChat,
  beginPrompt,
  beginText,
  messagesOfPrompt,
  type OllamaText,
  type OllamaTurn,
} from './turns.ts'

type AnyBody = OllamaChatBody | GenerateBody

const writing = (form: LineForm) => ({
  wire: 'ollama',
  form: ollamaLines,
  chunksOf: (begun: OllamaTurn | OllamaText) => linesOf(begun, form),
  wholeOf: (begun: OllamaTurn | OllamaText) => wholeLine(begun, form),
})

/** Pictures are recorded as they came, whatever the model reads. */
const anyReader = (url: string) => url

const chat: Writers<OllamaChatBody, OllamaTurn> = {
  ...writing(lineForms.message),
  kind: 'chat',
  begin: beginChat,
  createAnswer: createChatAnswer,
  inputsOf: ({ messages, tools, tool_choice: choice, ...body }) => ({
    ...recordedFields(body),
    messages: messagesOf(messages ?? [], anyReader),
    tools: tools ?? undefined,
    tool_choice:
      typeof choice === 'string' ? choice : choice && { type: 'function', function: { name: choice.name } },
  }),
}

const prompt: Writers<GenerateBody, OllamaTurn> = {
  ...writing(lineForms.response),
  kind: 'chat',
  begin: beginPrompt,
  createAnswer: createChatAnswer,
  inputsOf: (body) => ({ ...recordedFields(body), messages: messagesOfPrompt(body, anyReader) }),
}

const text: Writers<GenerateBody, OllamaText> = {
  ...writing(lineForms.response),
  kind: 'text',
  begin: beginText,
  createAnswer: createTextAnswer,
  inputsOf: (body) => ({
    ...recordedFields(body),
    prompt: body.prompt ?? '',
    suffix: body.suffix || undefined,
  }),
}

/** The request in the form of completions, in which the record keeps it: what reads calls knows no other. */
function recordedFields({ model, stream, options, format, think, logprobs, top_logprobs }: AnyBody): object {
  const { seed, ...sampling } = samplingOf(options)
  const fields = {
    model,
    ...sampling,
    seed: seed == null ? undefined : new JsonText(String(seed)),
    max_tokens: maxTokensOf(options),
    response_format: formatOf(format),
    reasoning_effort: typeof think === 'string' ? think : undefined,
    chat_template_kwargs: typeof think === 'boolean' ? { enable_thinking: think } : undefined,
    logprobs: logprobs || undefined,
    top_logprobs: top_logprobs || undefined,
    stream,
  }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null))
}

function formatOf(format: AnyBody['format']): object | undefined {
  if (!format?.value) return undefined
  if (format.value === 'json') return { type: 'json_object' }
  return { type: 'json_schema', json_schema: { name: 'format', schema: format } }
}

type Asked<Body> = FastifyRequest & { body: Body }

export function answerChat(services: GenerationParts, request: Asked<OllamaChatBody>, reply: FastifyReply) {
  if (!request.body.messages?.length) return loaded(services, request, reply, lineForms.message)
  return respond(services, withDefaults(request), reply, chat)
}

export function answerPrompt(services: GenerationParts, request: Asked<GenerateBody>, reply: FastifyReply) {
  const { raw, suffix, prompt: asked } = request.body
  if (raw || suffix) return respond(services, withDefaults(request), reply, text)
  if (!asked) return loaded(services, request, reply, lineForms.response)
  return respond(services, withDefaults(request), reply, prompt)
}

/** Open WebUI names the chat of a request in a header. */
const chatHeader = 'x-openwebui-chat-id'

/** Streams unless told otherwise. */
function withDefaults<Body extends AnyBody>(request: Asked<Body>): Asked<Body> {
  const { [chatHeader]: thread } = request.headers
  const named = typeof thread === 'string' && /^[\x21-\x7e]{1,512}$/.test(thread)
  request.body = {
    ...request.body,
    stream: request.body.stream ?? true,
    ...(named && { session_id: thread }),
  }
  return request
}

/** Without a prompt the model is only loaded. When it is unloaded is up to the server, whatever the client asks for. */
async function loaded(
  { models }: GenerationParts,
  { body, caller }: Asked<AnyBody>,
  reply: FastifyReply,
  form: LineForm,
): Promise<object> {
  const found = findModel(models, body.model, caller)
  const isUnloading = body.keep_alive === 0 || body.keep_alive === '0'
  if (!isUnloading) await found.model.load?.(caller.name, disconnectSignal(reply))
  const ended = { done_reason: isUnloading ? 'unload' : 'load' }
  const output = { content: '', thinking: '', calls: [], logprobs: [] }
  const line = lineOf(nameOf(body.model, found), form, { ...output, ended })
  if (body.stream === false) return line
  return reply.type('application/x-ndjson').send(`${writeJson(line)}\n`)
}
