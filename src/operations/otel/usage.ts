import { membersOf } from '../../../packages/json/index.ts'
import { JsonText } from '../../domain/json/text.ts'
import { firstOf, opened, textOf } from './attribute-values.ts'
import type { Attributes, Scope, Span, Value } from './span.ts'

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
  'mlflow.llm.model',
  'model',
  'genkit:name',
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
      // Only embeddings have this one.
      'ai.usage.tokens',
      'langsmith.usage.input_tokens',
      'genkit.usage.inputTokens',
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
      'langsmith.usage.output_tokens',
      'genkit.usage.outputTokens',
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
      'langsmith.usage.total_tokens',
      'genkit.usage.totalTokens',
    ],
  ],
  [
    'cache_read_input_tokens',
    [
      'gen_ai.usage.cache_read.input_tokens',
      'gen_ai.usage.cache_read_input_tokens',
      'gen_ai.usage.details.cache_read_tokens',
      'langfuse.usage.cache_read_input_tokens',
      'langfuse.usage.input_cached_tokens',
      'langfuse.usage.input_cache_read',
      'langsmith.details.cache_read',
      'llm.token_count.prompt_details.cache_read',
      'ai.usage.cachedInputTokens',
      'ai.usage.inputTokenDetails.cacheReadTokens',
      'mlflow.usage.cache_read_input_tokens',
      'genkit.usage.cachedContentTokens',
      'adk.usage.cachedContentTokenCount',
      'adk.usage.cached_content_token_count',
    ],
  ],
  [
    'cache_creation_input_tokens',
    [
      'gen_ai.usage.cache_creation.input_tokens',
      'gen_ai.usage.cache_creation_input_tokens',
      'gen_ai.usage.cache_write.input_tokens',
      'gen_ai.usage.details.cache_write_tokens',
      'gen_ai.usage.cache_write_input_tokens',
      'langfuse.usage.cache_creation_input_tokens',
      'llm.token_count.prompt_details.cache_write',
      'ai.usage.inputTokenDetails.cacheWriteTokens',
      'langfuse.usage.input_cache_creation',
      'langsmith.details.cache_creation',
      'mlflow.usage.cache_creation_input_tokens',
    ],
  ],
]

/** What the client says that it cost, in dollars. */
const costNames = [
  'gen_ai.usage.cost',
  'langfuse.cost.total',
  'llm.cost.total',
  'mlflow.cost.total_cost',
  'gen_ai.usage.total_cost',
]

/** `summary.usage`, if the span counts tokens. */
export function usageOf({ attributes: own }: Span, scope: Scope): { [model: string]: Value } | undefined {
  const attributes = withUsageInTexts(own)
  const usage: { [name: string]: JsonText } = {}
  for (const [name, candidates] of usageNames) {
    const tokens = firstOf(candidates, (candidate) => tokensOf(attributes.get(candidate)))
    if (tokens) usage[name] = tokens
  }
  if (Object.keys(usage).length === 0) return undefined
  countCached(usage, scope.name === '@traceloop/instrumentation-anthropic')
  const cost = firstOf(costNames, (candidate) => numberOf(attributes.get(candidate)))
  if (cost) usage.total_cost = cost
  const byModel: { [model: string]: Value } = Object.create(null)
  byModel[modelOf(attributes)] = usage
  return byModel
}

/**
 * Some hand on Anthropic's counts, whose `input_tokens` leaves out what a cache had or got; prices need all of them. More
 * cached tokens than tokens show it, whoever sends them.
 */
function countCached(usage: { [name: string]: JsonText }, isDisjoint: boolean): void {
  const count = (name: string) => Number(usage[name]?.text ?? 0)
  const cached = count('cache_read_input_tokens') + count('cache_creation_input_tokens')
  const input = count('input_tokens')
  if (!usage.input_tokens || !(isDisjoint || cached > input)) return
  usage.input_tokens = new JsonText(String(input + cached))
  const total = input + count('output_tokens')
  if (count('total_tokens') === total) usage.total_tokens = new JsonText(String(total + cached))
}

/** MLflow quotes the name, as it quotes all its texts. */
function modelOf(attributes: Attributes): string {
  const name = textOf(attributes, ...modelNames) ?? 'unknown'
  return /^"[^"\\]+"$/.test(name) ? name.slice(1, -1) : name
}

const usageTexts: readonly (readonly [attribute: string, prefix: string, ...members: string[]])[] = [
  ['langfuse.observation.usage_details', 'langfuse.usage'],
  ['langfuse.observation.cost_details', 'langfuse.cost'],
  ['mlflow.chat.tokenUsage', 'mlflow.usage'],
  ['mlflow.llm.cost', 'mlflow.cost'],
  ['langsmith.usage_metadata', 'langsmith.usage'],
  ['langsmith.usage_metadata', 'langsmith.details', 'input_token_details'],
  ['gen_ai.usage.input_token_details', 'langsmith.details'],
  ['genkit:output', 'genkit.usage', 'usage'],
  ['gcp.vertex.agent.llm_response', 'adk.usage', 'usageMetadata', 'usage_metadata'],
]

/** What encloses the models of Genkit repeats the counts of the last one. */
const isCounted = (attribute: string, attributes: Attributes): boolean =>
  attribute !== 'genkit:output' || attributes.get('genkit:metadata:subtype') === 'model'

/** Some put their counts into the JSON of one attribute. */
function withUsageInTexts(attributes: Attributes): Attributes {
  let all: Map<string, Value> | undefined
  for (const [attribute, prefix, ...names] of usageTexts) {
    const value = isCounted(attribute, attributes) ? attributes.get(attribute) : undefined
    const details = value === undefined ? undefined : opened(value)
    if (!(details instanceof JsonText) || !details.text.startsWith('{')) continue
    const whole = membersOf(details.text)
    const inner = names.map((name) => whole.get(name)).find((json) => json?.startsWith('{'))
    if (names.length > 0 && inner === undefined) continue
    all ??= new Map(attributes)
    const counts = inner === undefined ? whole : membersOf(inner)
    if (prefix === 'langfuse.usage') addBuckets(counts)
    for (const [name, text] of counts) all.set(`${prefix}.${name}`, new JsonText(text))
  }
  return all ?? attributes
}

const inputBucket = /^input_|^cache_(read|creation)_input_tokens$/

/**
 * The counts of Langfuse are disjoint: `input` leaves out the tokens that a cache had, and `output` those of thoughts. A
 * total that is the sum of both shows that the sender counts them in.
 */
function addBuckets(counts: Map<string, string>): void {
  const sum = (fits: (name: string) => boolean) =>
    [...counts].reduce(
      (all, [name, text]) => all + (fits(name) ? Number(tokensOf(new JsonText(text))?.text ?? 0) : 0),
      0,
    )
  if (!counts.has('input') || counts.has('input_tokens')) return
  const plain = sum((name) => name === 'input' || name === 'output')
  if (counts.has('total') && sum((name) => name === 'total') === plain) return
  const input = sum((name) => name === 'input' || inputBucket.test(name))
  const output = sum((name) => name === 'output' || name.startsWith('output_'))
  counts.set('input', String(input))
  if (counts.has('output')) counts.set('output', String(output))
}

function tokensOf(value: Value | undefined): JsonText | undefined {
  const digits =
    value instanceof JsonText ? value.text.replace(/^"(\d+)"$/, '$1').replace(/\.0+$/, '') : value
  return typeof digits === 'string' && /^(?:0|[1-9]\d{0,14})$/.test(digits) ? new JsonText(digits) : undefined
}

/** As it was written. Whether it can be a cost is for the facts of the call to say. */
function numberOf(value: Value | undefined): JsonText | undefined {
  const text = value instanceof JsonText ? value.text : value
  return typeof text === 'string' && /^(?:0|[1-9]\d{0,14})(?:\.\d{1,30})?(?:[eE][+-]?\d{1,2})?$/.test(text)
    ? new JsonText(text)
    : undefined
}
