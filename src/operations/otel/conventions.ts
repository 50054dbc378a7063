import { itemsOf as jsonItems, membersOf } from '../../../packages/json/index.ts'
import { JsonText } from '../../domain/json/text.ts'
import { anyJson, opened } from './attribute-values.ts'
import { nested, withLists } from './attributes.ts'
import { eventMessages, type Payload } from './event-messages.ts'
import type { Attributes, Span, Value } from './span.ts'

/** Makers with one attribute for what goes in and one for what comes out. */
const pairs = [
  ['genkit:input', 'genkit:output', 'value'],
  ['haystack.component.input', 'haystack.component.output', 'value'],
  ['braintrust.input_json', 'braintrust.output_json', 'value'],
  ['gen_ai.tool.input', 'gen_ai.tool.output', 'arguments'],
  ['spring.ai.tool.call.arguments', 'spring.ai.tool.call.result', 'arguments'],
  ['gen_ai.agent.invocation_input', 'gen_ai.agent.invocation_output', 'value'],
  ...[
    ...['agent_run', 'workflow_run', 'workflow_step', 'model_generation', 'model_step', 'processor_run'],
    'generic',
  ].map((type) => [`mastra.${type}.input`, `mastra.${type}.output`, 'value'] as const),
] as const

const embeddings = 'embedding.embeddings'

/**
 * The attributes in which instrumentations put the input and output of a model, a tool or a step; the first one present
 * counts. They are those of OpenTelemetry's GenAI conventions, OpenInference, the Vercel AI SDK, OpenLLMetry, MLflow,
 * Langfuse, Pydantic AI, Genkit, Haystack, Braintrust, Sentry, Spring AI, Semantic Kernel and Mastra. The second name is the one in `inputs`.
 */
const inputNames: readonly (readonly [attribute: string, name: string])[] = [
  ['gen_ai.input.messages', 'messages'],
  ['llm.input_messages', 'messages'],
  ['ai.prompt.messages', 'messages'],
  ['gen_ai.prompt', 'prompt'],
  ['gen_ai.tool.call.arguments', 'arguments'],
  ['gen_ai.retrieval.query.text', 'input'],
  ['gen_ai.memory.query.text', 'input'],
  ['ai.prompt', 'prompt'],
  ['ai.toolCall.args', 'arguments'],
  ['pydantic_ai.all_messages', 'messages'],
  ['all_messages_events', 'messages'],
  ['gcp.vertex.agent.tool_call_args', 'arguments'],
  ['gcp.vertex.agent.llm_request', 'value'],
  ['langfuse.observation.input', 'value'],
  ['mlflow.spanInputs', 'value'],
  ['traceloop.entity.input', 'value'],
  ['llm.prompts', 'messages'],
  ['reranker.query', 'input'],
  ['input.value', 'value'],
  [embeddings, 'input'],
  ['tool.parameters', 'arguments'],
  ['langfuse.trace.input', 'value'],
  ['ai.value', 'value'],
  ['ai.values', 'input'],
  ['tool_arguments', 'arguments'],
  ['gen_ai.request.messages', 'messages'],
  ...pairs.map(([input, , name]) => [input, name] as const),
]

/** Claude Code uses these short names; its spans have a type. */
const claudeNames: typeof inputNames = [
  ['user_prompt', 'input'],
  ['full_command', 'command'],
  ['file_path', 'file_path'],
]

const outputNames: typeof inputNames = [
  ['gen_ai.output.messages', 'messages'],
  ['llm.output_messages', 'messages'],
  ['gen_ai.completion', 'completion'],
  ['gen_ai.tool.call.result', 'result'],
  ['gen_ai.retrieval.documents', 'documents'],
  ['gen_ai.memory.records', 'documents'],
  ...['response', 'result'].flatMap((stem) =>
    ['text', 'object', 'toolCalls', 'reasoning', 'files'].map(
      (name) => [`ai.${stem}.${name}`, name] as const,
    ),
  ),
  ['ai.toolCall.result', 'result'],
  ['gcp.vertex.agent.tool_response', 'result'],
  ['gcp.vertex.agent.llm_response', 'value'],
  ['retrieval.documents', 'documents'],
  ['reranker.output_documents', 'documents'],
  ['langfuse.observation.output', 'value'],
  ['mlflow.spanOutputs', 'value'],
  ['traceloop.entity.output', 'value'],
  ['llm.completions', 'messages'],
  ['llm.choices', 'messages'],
  ['final_result', 'result'],
  ['output.value', 'value'],
  ['langfuse.trace.output', 'value'],
  ['tool_response', 'result'],
  ['gen_ai.response.text', 'text'],
  ['gen_ai.response.tool_calls', 'toolCalls'],
  ...pairs.map(([, output]) => [output, 'value'] as const),
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
  'genkit:input',
  'genkit:output',
  'braintrust.input_json',
  'braintrust.output_json',
])

/** Logfire writes these besides messages, which may be in events. */
const wholeRequest: typeof inputNames = [['request_data', 'value']]
const wholeAnswer: typeof inputNames = [['response_data', 'value']]

export function inputOf(span: Span): Payload | undefined {
  return firstFilled(
    () => payloadOf(span, inputNames),
    () => eventMessages(span).input,
    () => payloadIn(span.attributes, wholeRequest),
    () => payloadIn(span.attributes, onlyInstructions),
    () => (span.attributes.has('span.type') ? payloadIn(span.attributes, claudeNames) : undefined),
  )
}

export function outputOf(span: Span): Payload | undefined {
  return firstFilled(
    () => payloadOf(span, outputNames),
    () => eventMessages(span).output,
    () => payloadIn(span.attributes, wholeAnswer),
  )
}

/** Some instrumentations put messages into events, so that they can be filtered out on the way. */
function payloadOf(span: Span, names: typeof inputNames): Payload | undefined {
  const own = payloadIn(span.attributes, names)
  if (own !== undefined && !isEmpty(own)) return own
  for (const { attributes } of span.events) {
    const found = payloadIn(attributes, names)
    if (found) return { ...found, taken: [] }
  }
  return own
}

/** Some attributes are always there. An empty one counts only where no other says anything. */
function firstFilled(...readings: readonly (() => Payload | undefined)[]): Payload | undefined {
  let empty: Payload | undefined
  for (const read of readings) {
    const found = read()
    if (found !== undefined && !isEmpty(found)) return found
    empty ??= found
  }
  return empty
}

const emptyTexts = new Set(['', '""', '{}', '[]', 'null'])

function isEmpty({ value }: Payload): boolean {
  if (Array.isArray(value)) return value.length === 0
  return emptyTexts.has(value instanceof JsonText ? value.text.trim() : (value as string))
}

function payloadIn(attributes: Attributes, names: typeof inputNames): Payload | undefined {
  const there = namesIn(attributes)
  return firstFilled(
    ...names
      .filter(([attribute]) => there.has(attribute))
      .map(
        ([attribute, name]) =>
          () =>
            payloadAt(attributes, attribute, name),
      ),
  )
}

function payloadAt(attributes: Attributes, attribute: string, name: string): Payload | undefined {
  const value = attributes.get(attribute)
  if (value !== undefined) {
    return completed({ name, value: payloadValue(attribute, value), taken: [attribute] }, attributes)
  }
  const items = attribute === embeddings ? embeddedTexts(attributes) : itemsOf(attributes, attribute)
  return items && (rawBody(attributes, attribute) ?? { name, ...items })
}

/** Where OpenInference has the body of a request or an answer beside its messages, and the lists that a whole body has. */
const bodies: { [attribute: string]: readonly [body: string, ...lists: string[]] } = {
  'llm.input_messages': ['input.value', 'messages'],
  'llm.output_messages': ['output.value', 'choices', 'generations', 'output', 'content'],
}

/**
 * The body that flattened messages were made of, where it is all there: its flattened form may lack the system, thoughts,
 * pictures and the ids of calls.
 */
function rawBody(attributes: Attributes, attribute: string): Payload | undefined {
  const [body = '', ...lists] = bodies[attribute] ?? []
  const value = attributes.get(body)
  const json = value === undefined ? undefined : opened(value)
  if (!(json instanceof JsonText) || !json.text.startsWith('{')) return undefined
  const members = membersOf(json.text)
  const isWhole = lists.some((name) => {
    const list = members.get(name)
    return list?.startsWith('[') && /^[[{]/.test(jsonItems(list)[0] ?? '')
  })
  return isWhole ? { name: 'value', value: json, taken: [body] } : undefined
}

/** OpenInference has each text beside its vector, which stays where it is. */
function embeddedTexts(attributes: Attributes): Pick<Payload, 'value' | 'taken'> | undefined {
  const taken = [...attributes.keys()].filter((key) =>
    /^embedding\.embeddings\.\d+\.embedding\.text$/.test(key),
  )
  const value = taken.map((key) => attributes.get(key) as Value)
  return taken.length > 0 ? { value, taken } : undefined
}

const instructions = 'gen_ai.system_instructions'
const besideInstructions = ['gen_ai.input.messages', 'pydantic_ai.all_messages', 'mastra.agent_run.input']

/** What belongs to the same request or answer, but has an attribute of its own. */
function completed(payload: Payload, attributes: Attributes): Payload {
  const [attribute = ''] = payload.taken
  const system = attributes.get(instructions)
  if (system !== undefined && besideInstructions.includes(attribute)) {
    const value = { system_instructions: opened(system), [payload.name]: payload.value }
    return { ...payload, value, taken: [attribute, instructions] }
  }
  const [stem] = /^(?:ai\.(?:response|result)|gen_ai\.response)\./.exec(attribute) ?? []
  if (stem === undefined) return payload
  const siblings = outputNames.filter(
    ([name]) => name.startsWith(stem) && attributes.has(name) && attributes.get(name) !== '',
  )
  // A stream of tool calls or thoughts alone has a text, which is empty.
  if (siblings.length === 0 || (siblings.length === 1 && payload.value !== '')) return payload
  const value = Object.fromEntries(
    siblings.map(([name, member]) => [member, payloadValue(name, attributes.get(name) as Value)]),
  )
  return { ...payload, value, taken: [attribute, ...siblings.map(([name]) => name)] }
}

const onlyInstructions: typeof inputNames = [[instructions, 'system_instructions']]

const known = new Set(
  [
    ...[...inputNames, ...claudeNames, ...outputNames],
    ...[...wholeRequest, ...wholeAnswer, ...onlyInstructions],
  ].map(([attribute]) => attribute),
)

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

/** OpenLLMetry writes the parts of a message as JSON. */
const isContent = /\.content$/
const isParts = /^\s*\[\s*\{\s*"type"/

/** A list of messages that was flattened into `gen_ai.prompt.0.role` and so on. */
function itemsOf(attributes: Attributes, attribute: string): Pick<Payload, 'value' | 'taken'> | undefined {
  const below = new Map<string, Value>()
  const taken: string[] = []
  for (const [key, value] of attributes) {
    if (!key.startsWith(attribute)) continue
    const rest = key.slice(attribute.length)
    if (!/^\.\d+(?:\.|$)/.test(rest)) continue
    below.set(rest.slice(1), isContent.test(key) && isParts.test(String(value)) ? opened(value) : value)
    taken.push(key)
  }
  return taken.length > 0 ? { value: withLists(nested(below)), taken } : undefined
}

function payloadValue(attribute: string, value: Value): Value {
  const open = (item: Value) => (alwaysJson.has(attribute) ? opened(item, anyJson) : opened(item))
  if (Array.isArray(value)) return value.map(open)
  return attribute === 'traceloop.entity.input' ? onlyArguments(open(value)) : open(value)
}

/** What Python shows of an object without a text, such as the one that a method belongs to, begins with this. */
const objectMark = '<'

/** OpenLLMetry has the arguments of a function in a list, and those with names beside it. */
function onlyArguments(json: Value): Value {
  if (!(json instanceof JsonText && /^\{\s*"args"/.test(json.text))) return json
  const members = membersOf(json.text)
  const named = members.get('kwargs') ?? '{}'
  const args = members.get('args') ?? ''
  if (!args.startsWith('[')) return json
  const [only, ...others] = jsonItems(args)
  if (others.length > 0 || members.size > (members.has('kwargs') ? 2 : 1)) return json
  if (only === undefined) return named === '{}' ? json : new JsonText(named)
  if (named !== '{}') return json
  const text: unknown = only.startsWith('"') ? JSON.parse(only) : undefined
  if (typeof text !== 'string') return new JsonText(only)
  return text.startsWith(objectMark) ? json : opened(text)
}
