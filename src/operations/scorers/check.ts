import { membersOf } from '../../../packages/json/index.ts'
import { isJson } from '../../domain/json/text.ts'
import type { SchemaChecks } from '../../schemas/checks.ts'
import { sumOfCosts } from '../calls/costs.ts'
import type { CallValues } from './call-values.ts'
import type { Check } from './contract.ts'

/** A score as JSON, or why there is none. `reason` is a code to count by. */
type Outcome = { score: Record<string, unknown> } | Unscored
export interface Unscored {
  state: 'skipped' | 'failed'
  reason: string
  detail: string
}

interface Checking {
  schemas: SchemaChecks
  tenant: string
  values: CallValues
  /** What the models of the call cost, as JSON; undefined if no price is known. */
  costs(): Promise<string | undefined>
  latencyMs: number
}

type Of<Kind extends Check['kind']> = Extract<Check, { kind: Kind }>

/** Runs a check on a call. It ends in bounded time, whatever the call contains. */
export async function runCheck(check: Check, input: Checking): Promise<Outcome> {
  switch (check.kind) {
    case 'json_schema':
      return checkSchema(check, input)
    case 'regex':
      return checkPattern(check, input)
    case 'contains':
      return checkTexts(check, input)
    case 'length':
      return checkLength(check, input)
    case 'latency':
      return { score: { passed: input.latencyMs <= check.max_ms, latency_ms: input.latencyMs } }
    case 'tokens': {
      const tokens = tokensOf(input.values)
      if (tokens === undefined) return missing('summary.usage')
      return { score: { passed: tokens <= check.max, tokens } }
    }
    case 'cost': {
      const costs = await input.costs()
      if (costs === undefined) {
        return {
          state: 'skipped',
          reason: 'no_price',
          detail: 'no model of the call has a price in this project',
        }
      }
      const cost = sumOfCosts(costs)
      return { score: { passed: cost <= check.max, cost } }
    }
  }
}

function missing(field: string): Unscored {
  return { state: 'skipped', reason: 'field_missing', detail: `the call has no value at ${field}` }
}

async function checkSchema({ schema, field, parse }: Of<'json_schema'>, input: Checking): Promise<Outcome> {
  const name = field ?? 'output'
  const value = parse ? input.values.text(name) : input.values.json(name)
  if (value === undefined) return missing(name)
  if (parse && !isJson(value)) return { score: { passed: false, why: 'the text is not JSON' } }
  const result = await input.schemas.check(input.tenant, JSON.stringify(schema), value)
  switch (result.kind) {
    case 'valid':
      return { score: { passed: true } }
    case 'invalid':
      return { score: { passed: false, why: [...result.path, result.why].join(' ') } }
    case 'schema_error':
      return { state: 'failed', reason: 'schema_invalid', detail: result.why }
    case 'over_budget':
      return { state: 'failed', reason: 'check_too_costly', detail: `it takes more than ${result.limit}` }
  }
}

/** Runs in the thread of schemas, because a pattern can backtrack endlessly. */
async function checkPattern({ pattern, negate, field }: Of<'regex'>, input: Checking): Promise<Outcome> {
  const name = field ?? 'output'
  const text = input.values.text(name)
  if (text === undefined) return missing(name)
  const result = await input.schemas.check(input.tenant, JSON.stringify({ pattern }), JSON.stringify(text))
  switch (result.kind) {
    case 'valid':
    case 'invalid':
      return { score: { passed: (result.kind === 'valid') !== (negate ?? false) } }
    case 'schema_error':
      return { state: 'failed', reason: 'pattern_invalid', detail: result.why }
    case 'over_budget':
      return {
        state: 'failed',
        reason: 'check_too_costly',
        detail: `the pattern takes more than ${result.limit}`,
      }
  }
}

function checkTexts(check: Of<'contains'>, { values }: Checking): Outcome {
  const name = check.field ?? 'output'
  const text = values.text(name)
  if (text === undefined) return missing(name)
  const folded = (value: string) => (check.ignore_case ? value.toLowerCase() : value)
  const content = folded(text)
  const isThere = (wanted: string) => content.includes(folded(wanted))
  const { any_of: any, all_of: all, none_of: none } = check
  const passed = (any?.some(isThere) ?? true) && (all?.every(isThere) ?? true) && !none?.some(isThere)
  return { score: { passed } }
}

/** Counts the characters of a text, the entries of a list, or the characters of the JSON of anything else. */
function checkLength({ min, max, field }: Of<'length'>, { values }: Checking): Outcome {
  const name = field ?? 'output'
  const json = values.json(name)
  if (json === undefined) return missing(name)
  const length = json.startsWith('[')
    ? (JSON.parse(json) as unknown[]).length
    : charactersOf(values.text(name) as string)
  return { score: { passed: (min == null || length >= min) && (max == null || length <= max), length } }
}

function charactersOf(text: string): number {
  let count = 0
  for (let at = 0; at < text.length; count++) at += (text.codePointAt(at) as number) > 0xffff ? 2 : 1
  return count
}

function tokensOf(values: CallValues): number | undefined {
  const usage = values.json('summary.usage')
  if (!usage?.startsWith('{')) return undefined
  let tokens = 0
  for (const used of membersOf(usage).values()) {
    if (!used.startsWith('{')) continue
    const count = (name: string) => Number(membersOf(used).get(name) ?? 0) || 0
    tokens +=
      count('total_tokens') ||
      count('prompt_tokens') + count('input_tokens') + count('completion_tokens') + count('output_tokens')
  }
  return tokens
}
