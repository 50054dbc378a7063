import { membersOf } from '../../../packages/json/index.ts'
import { DepthError, readJson } from '../../domain/json/read.ts'
import { JsonText } from '../../domain/json/text.ts'
import { nested, withLists } from './attributes.ts'
import type { Attributes, Span, Value } from './span.ts'

/**
 * The attributes in which instrumentations put the input and output of a model, a tool or a step; the first one present
 * counts. They are those of OpenTelemetry's GenAI conventions, OpenInference, the Vercel AI SDK, OpenLLMetry, MLflow,
 * Langfuse and Pydantic AI. The second name is the one in `inputs`.
 */
const inputNames: readonly [attribute: string, name: string][] = [
  ['gen_ai.input.messages', 'messages'],
  ['gen_ai.prompt', 'prompt'],
  ['gen_ai.tool.call.arguments', 'arguments'],
  ['input.value', 'value'],
  ['llm.input_messages', 'messages'],
  ['ai.prompt.messages', 'messages'],
  ['ai.prompt', 'prompt'],
  ['ai.toolCall.args', 'arguments'],
  ['traceloop.entity.input', 'value'],
  ['llm.prompts', 'messages'],
  ['langfuse.observation.input', 'value'],
  ['langfuse.trace.input', 'value'],
  ['mlflow.spanInputs', 'value'],
  ['ai.value', 'value'],
  ['ai.values', 'values'],
  ['pydantic_ai.all_messages', 'messages'],
  ['all_messages_events', 'messages'],
  ['tool_arguments', 'arguments'],
]

const outputNames: readonly [attribute: string, name: string][] = [
  ['gen_ai.output.messages', 'messages'],
  ['gen_ai.completion', 'completion'],
  ['gen_ai.tool.call.result', 'result'],
  ['output.value', 'value'],
  ['llm.output_messages', 'messages'],
  ['ai.response.text', 'text'],
  ['ai.response.object', 'object'],
  ['ai.response.toolCalls', 'tool_calls'],
  ['ai.toolCall.result', 'result'],
  ['traceloop.entity.output', 'value'],
  ['llm.completions', 'messages'],
  ['langfuse.observation.output', 'value'],
  ['langfuse.trace.output', 'value'],
  ['mlflow.spanOutputs', 'value'],
  ['retrieval.documents', 'documents'],
  ['reranker.output_documents', 'documents'],
  ['final_result', 'result'],
  ['tool_response', 'result'],
]

/** These are always JSON, so that a text in quotes is a JSON string. In others it may be a text that has quotes. */
const alwaysJson = new Set([
  'ai.value',
  'ai.values',
  'ai.toolCall.args',
  'ai.toolCall.result',
  'traceloop.entity.input',
  'traceloop.entity.output',
  'mlflow.spanInputs',
  'mlflow.spanOutputs',
])

const modelNames = [
  'gen_ai.response.model',
  'gen_ai.request.model',
  'llm.model_name',
  'ai.response.model',
  'ai.model.id',
  'langfuse.observation.model.name',
  'langfuse.observation.model',
  'llm.response.model',
  'llm.request.model',
  'embedding.model_name',
  'model_name',
]

/** Under the names that prices need; see operations/calls/costs.ts. */
const usageNames: readonly [name: string, attributes: readonly string[]][] = [
  [
    'input_tokens',
    [
      'gen_ai.usage.input_tokens',
      'gen_ai.usage.prompt_tokens',
      'langfuse.usage.input',
      'langfuse.usage.input_tokens',
      'langfuse.usage.prompt_tokens',
      'llm.usage.prompt_tokens',
      'llm.token_count.prompt',
      'mlflow.usage.input_tokens',
      'ai.usage.inputTokens',
      'ai.usage.promptTokens',
    ],
  ],
  [
    'output_tokens',
    [
      'gen_ai.usage.output_tokens',
      'gen_ai.usage.completion_tokens',
      'langfuse.usage.output',
      'langfuse.usage.output_tokens',
      'langfuse.usage.completion_tokens',
      'llm.usage.completion_tokens',
      'llm.token_count.completion',
      'mlflow.usage.output_tokens',
      'ai.usage.outputTokens',
      'ai.usage.completionTokens',
    ],
  ],
  [
    'total_tokens',
    [
      'gen_ai.usage.total_tokens',
      'llm.usage.total_tokens',
      'llm.token_count.total',
      'ai.usage.totalTokens',
      'ai.usage.tokens',
      'mlflow.usage.total_tokens',
      'langfuse.usage.total',
      'langfuse.usage.total_tokens',
    ],
  ],
  [
    'cache_read_input_tokens',
    [
      'gen_ai.usage.cache_read.input_tokens',
      'gen_ai.usage.cache_read_input_tokens',
      'langfuse.usage.cache_read_input_tokens',
      'langfuse.usage.input_cached_tokens',
      'llm.token_count.prompt_details.cache_read',
      'ai.usage.cachedInputTokens',
    ],
  ],
  [
    'cache_creation_input_tokens',
    [
      'gen_ai.usage.cache_creation.input_tokens',
      'gen_ai.usage.cache_creation_input_tokens',
      'langfuse.usage.cache_creation_input_tokens',
      'llm.token_count.prompt_details.cache_write',
    ],
  ],
]

export interface Payload {
  name: string
  value: Value
  /** The attributes of the span that it was made of. */
  taken: readonly string[]
}

export function inputOf(span: Span): Payload | undefined {
  return payloadOf(span, inputNames)
}

export function outputOf(span: Span): Payload | undefined {
  return payloadOf(span, outputNames)
}

/** Some instrumentations put messages into events, so that they can be filtered out on the way. */
function payloadOf(span: Span, names: typeof inputNames): Payload | undefined {
  const own = payloadIn(span.attributes, names)
  if (own) return own
  for (const { attributes } of span.events) {
    const found = payloadIn(attributes, names)
    if (found) return { ...found, taken: [] }
  }
  return undefined
}

function payloadIn(attributes: Attributes, names: typeof inputNames): Payload | undefined {
  const there = namesIn(attributes)
  for (const [attribute, name] of names) {
    if (!there.has(attribute)) continue
    const value = attributes.get(attribute)
    if (value !== undefined) return { name, value: payloadValue(attribute, value), taken: [attribute] }
    const items = itemsOf(attributes, attribute)
    if (items) return { name, ...items }
  }
  return undefined
}

const known = new Set([...inputNames, ...outputNames].map(([attribute]) => attribute))

/**
 * The known names among the attributes, as they are or flattened. Few events have any, and there may be many events.
 */
function namesIn(attributes: Attributes): Set<string> {
  const there = new Set<string>()
  for (const key of attributes.keys()) {
    const name = known.has(key) ? key : key.replace(flattened, '')
    if (known.has(name)) there.add(name)
  }
  return there
}

/** From the first step that is a number. */
const flattened = /\.\d+(?:\..*)?$/s

/** A list of messages that was flattened into `gen_ai.prompt.0.role` and so on. */
function itemsOf(attributes: Attributes, attribute: string): Pick<Payload, 'value' | 'taken'> | undefined {
  const below = new Map<string, Value>()
  const taken: string[] = []
  for (const [key, value] of attributes) {
    if (!key.startsWith(attribute)) continue
    const rest = key.slice(attribute.length)
    if (!/^\.\d+(?:\.|$)/.test(rest)) continue
    below.set(rest.slice(1), value)
    taken.push(key)
  }
  return taken.length > 0 ? { value: withLists(nested(below)), taken } : undefined
}

function payloadValue(attribute: string, value: Value): Value {
  if (!alwaysJson.has(attribute)) return read(value)
  return Array.isArray(value) ? value.map((item) => read(item, anyJson)) : read(value, anyJson)
}

const listOrObject = /^\s*[[{]/
const anyJson = /^\s*[[{"]/

/** Most SDKs do not allow objects as attributes, so these contain JSON as a text. */
function read(value: Value, first = listOrObject): Value {
  if (typeof value !== 'string' || !first.test(value)) return value
  try {
    return readJson(value, { verbatim: true }, 100) as JsonText
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof DepthError) return value
    throw error
  }
}

/** `summary.usage`, if the span counts tokens. */
export function usageOf({ attributes: own }: Span): { [model: string]: Value } | undefined {
  const attributes = withUsageInTexts(own)
  const usage: { [name: string]: Value } = {}
  for (const [name, candidates] of usageNames) {
    const tokens = firstOf(candidates, (candidate) => tokensOf(attributes.get(candidate)))
    if (tokens) usage[name] = tokens
  }
  if (Object.keys(usage).length === 0) return undefined
  const byModel: { [model: string]: Value } = Object.create(null)
  byModel[textOf(attributes, ...modelNames) ?? 'unknown'] = usage
  return byModel
}

const usageTexts = [
  ['langfuse.observation.usage_details', 'langfuse.usage'],
  ['mlflow.chat.tokenUsage', 'mlflow.usage'],
] as const

/** Langfuse and MLflow put their counts into the JSON of one attribute. */
function withUsageInTexts(attributes: Attributes): Attributes {
  let all: Map<string, Value> | undefined
  for (const [attribute, prefix] of usageTexts) {
    const value = attributes.get(attribute)
    const details = value === undefined ? undefined : read(value)
    if (!(details instanceof JsonText) || !details.text.startsWith('{')) continue
    all ??= new Map(attributes)
    for (const [name, text] of membersOf(details.text)) all.set(`${prefix}.${name}`, new JsonText(text))
  }
  return all ?? attributes
}

function tokensOf(value: Value | undefined): JsonText | undefined {
  const digits = value instanceof JsonText ? value.text.replace(/\.0+$/, '') : value
  return typeof digits === 'string' && /^(?:0|[1-9]\d{0,14})$/.test(digits) ? new JsonText(digits) : undefined
}

/** The first of the attributes with a number or a text that is not empty. */
export function textOf(attributes: Attributes, ...names: readonly string[]): string | undefined {
  return firstOf(names, (name) => {
    const value = attributes.get(name)
    const text = value instanceof JsonText ? value.text : value
    return typeof text === 'string' && text !== '' ? text : undefined
  })
}

function firstOf<T>(names: readonly string[], find: (name: string) => T | undefined): T | undefined {
  for (const name of names) {
    const found = find(name)
    if (found !== undefined) return found
  }
  return undefined
}
