import { shortened } from '../../domain/described.ts'
import type { JsonText } from '../../domain/json/text.ts'
import { wrong } from '../../domain/refusals.ts'
import type { Compiling } from '../../inference/constraints/compiling.ts'
import type { SchemaChecks } from '../../schemas/checks.ts'
import type { Reader } from '../../storage/transaction.ts'
import { calibrationsOf } from '../calibrations/stored.ts'
import type { Scope } from '../scope.ts'
import { invalidFieldReason } from './call-values.ts'
import {
  type Check,
  type Fields,
  type GivenCheck,
  type GivenJudge,
  type Judge,
  StoredScorer,
} from './contract.ts'
import { checkJudgeQuestions, questionsPath } from './judge-questions.ts'
import { fieldsOfTemplate, parseTemplate } from './template.ts'

/**
 * Enough for a pattern that doubles with each character to take minutes, and for one with cubic growth to take no time.
 */
const repeated = 40
const most = 64

/**
 * Texts on which a regular expression that can backtrack endlessly is likely to do so: something that it names,
 * repeated, and then something that it does not name. A sample, not a proof: each later run of the pattern is bounded
 * as well.
 */
function hostileTexts(pattern: string): string[] {
  const named = new Set([
    'a',
    '0',
    ' ',
    ...(pattern.replace(/\\./g, '').match(/[\p{L}\p{N}\s@.,_-]/gu) ?? []),
  ])
  const words = pattern.match(/[\p{L}\p{N}]{2,}/gu) ?? []
  const units = [...named, ...words].slice(0, most)
  return units.map((unit) => `${unit.repeat(repeated)}\u0001`)
}

/** A scorer that this server runs by itself. */
export type RunnableScorer = { fields: Fields } & ({ judge: Judge } | { check: Check })

/** In characters. */
const maxSchemaLength = 64 * 1024

/** The scorer in a stored object, or why it cannot be run. */
export function runnableOf(val: string): RunnableScorer | { why: string } {
  const result = StoredScorer.safeParse(JSON.parse(val))
  if (!result.success) {
    const [issue] = result.error.issues
    return { why: `${issue?.path.join('.')}: ${issue?.message}` }
  }
  const { judge, check, fields } = result.data
  if (judge != null) {
    if (judge.schema == null && judge.questions == null)
      return { why: 'its judge has neither a schema nor questions' }
    return { judge, fields: fields ?? {} }
  }
  if (check != null) return { check, fields: fields ?? {} }
  return { why: 'it has neither a judge nor a check, so it runs only where its code does' }
}

interface ScorerChecks {
  db: Reader
  schemas: SchemaChecks
  constraints: Compiling
}

interface GivenScorer {
  judge?: GivenJudge | null | undefined
  check?: GivenCheck | null | undefined
  fields?: Fields | null | undefined
}

/** Refuses a judge or a check that could never run, and names the field. */
export async function checkScorer(
  pools: ScorerChecks,
  { caller, project }: Scope,
  { judge, check, fields }: GivenScorer,
  signal: AbortSignal,
): Promise<void> {
  const tenant = caller.name
  const own = fields ?? {}
  checkFields(own, 'fields')
  if (judge) {
    checkPrompt(judge.prompt, own)
    checkJudgeQuestions(judge)
    await calibrationsOf(pools.db, project, judge.questions ?? [], questionsPath)
    if (judge.schema != null) await checkAnswerSchema(pools, tenant, judge.schema, signal)
  }
  if (check) await checkCheck(pools, tenant, check, own)
}

/** Refuses names that lead to nothing. `field` is where the map was given. */
export function checkFields(fields: Fields, field: string): void {
  for (const [name, path] of Object.entries(fields)) requireField(path, `${field}.${name}`)
}

function requireField(path: string, field: string, fields: Fields = {}): void {
  if (Object.hasOwn(fields, path)) return
  const flaw = invalidFieldReason(path)
  if (flaw === undefined) return
  const names = Object.keys(fields).map((name) => `${name}, `)
  const received = `${JSON.stringify(shortened(path, 60))} ${flaw.why}`
  throw wrong(field, received, `${names.join('')}${flaw.accepted}`)
}

function checkPrompt(prompt: string, fields: Fields): void {
  const template = parseTemplate(prompt)
  if ('why' in template) {
    throw wrong(
      'judge.prompt',
      template.why,
      'a field in braces, such as {inputs.question}; write {{ and }} for literal braces',
    )
  }
  const used = fieldsOfTemplate(template.segments)
  if (used.length === 0) throw wrong('judge.prompt', 'no field of the call', 'at least one, such as {output}')
  for (const field of used) requireField(field, 'judge.prompt', fields)
}

async function checkAnswerSchema(
  { constraints }: ScorerChecks,
  tenant: string,
  schema: JsonText,
  signal: AbortSignal,
): Promise<void> {
  checkLength(schema, 'judge.schema')
  await constraints.compile(tenant, { ...answerConstraint(schema.value), field: 'judge.schema' }, signal)
}

/** The constraint on the answer of a judge. */
export function answerConstraint(schema: unknown) {
  return {
    constraint: { kind: 'json' as const, schema },
    options: { whitespace: 'bounded' as const },
    field: 'judge.schema',
  }
}

async function checkCheck(
  pools: ScorerChecks,
  tenant: string,
  check: GivenCheck,
  fields: Fields,
): Promise<void> {
  if ('field' in check && check.field != null) requireField(check.field, 'check.field', fields)
  switch (check.kind) {
    case 'json_schema': {
      const { schema } = check
      checkLength(schema, 'check.schema')
      return validateOnce(pools, tenant, schema.text, undefined, 'check.schema', 'a JSON Schema')
    }
    case 'regex': {
      const { pattern } = check
      const schema = JSON.stringify({ items: { anyOf: [{ pattern }, true] } })
      const texts = JSON.stringify(hostileTexts(pattern))
      return validateOnce(pools, tenant, schema, texts, 'check.pattern', 'a regular expression of JavaScript')
    }
    case 'contains':
      if (check.any_of == null && check.all_of == null && check.none_of == null) {
        throw wrong('check', 'no text', 'at least one of any_of, all_of and none_of')
      }
      return
    case 'length':
      if (check.min == null && check.max == null) throw wrong('check', 'no bound', 'min, max or both')
      if (check.min != null && check.max != null && check.min > check.max) {
        throw wrong('check.min', String(check.min), `at most check.max, ${check.max}`)
      }
  }
}

async function validateOnce(
  { schemas }: ScorerChecks,
  tenant: string,
  schema: string,
  value: string | undefined,
  field: string,
  accepted: string,
): Promise<void> {
  const result = await schemas.check(tenant, schema, value)
  if (result.kind === 'schema_error')
    throw wrong(field, `a value that cannot be read: ${result.why}`, accepted)
  if (result.kind === 'over_budget') {
    throw wrong(
      field,
      `a value that takes more than ${result.limit} on a short text`,
      `${accepted} that is fast on every text`,
    )
  }
}

function checkLength(schema: JsonText, field: string): void {
  const { length } = schema.text
  if (length > maxSchemaLength) throw wrong(field, `${length} characters`, `at most ${maxSchemaLength}`)
}
