import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { hasMarks } from '../../../packages/constraints/index.ts'
import { Refusal } from '../../../src/domain/refusals.ts'
import { createConstraintCompiler } from '../../../src/inference/constraints/compile.ts'
import type { Compiled } from '../../../src/inference/constraints/constraint.ts'
import { createRememberingMatcher } from '../../support/remembering-matcher.ts'
import { seededRandom } from '../../support/seeded-random.ts'
import { walksOf } from '../../support/turn-walks.ts'

const docs = readFileSync(new URL('../../../docs/structured-output.md', import.meta.url), 'utf8')

/** A reason to refuse a schema, and the text of the docs that documents it. */
interface Known {
  refusal: RegExp
  docs: string
}

const known: readonly Known[] = [
  {
    refusal: /nothing fits it/,
    docs: 'A schema that no value fits is refused',
  },
  { refusal: /\$ref .* is wrong: there is nothing at/, docs: 'A reference to nothing is refused' },
]

const compiler = createConstraintCompiler()
const seen = new Map<string, Compiled | Refusal>()

/** Compiles as the server does, each schema once. */
function outcomeOf(schema: unknown): Compiled | Refusal {
  const text = JSON.stringify(schema)
  const before = seen.get(text)
  if (before !== undefined) return before
  let outcome: Compiled | Refusal
  try {
    outcome = compiler.compile({ kind: 'json', schema }, { whitespace: 'none' }, 'schema')
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    outcome = error
  }
  seen.set(text, outcome)
  return outcome
}

/** Checks that the schema compiles or is refused for a documented reason; returns which. */
export function checkSchema(
  name: string,
  schema: unknown,
  mayBeRefused: readonly string[],
): 'compiled' | 'refused' {
  const outcome = outcomeOf(schema)
  if (!(outcome instanceof Refusal)) return 'compiled'
  const shown = `${name}: ${outcome.message} ${JSON.stringify(schema).slice(0, 600)}`
  const reason = known.find(({ refusal }) => refusal.test(outcome.message))
  assert.ok(reason, shown)
  assert.ok(docs.includes(reason.docs), `the docs should say: ${reason.docs}`)
  assert.ok(
    mayBeRefused.some((type) => name.startsWith(type)),
    shown,
  )
  return 'refused'
}

/** Random texts that the constraint of the schema allows; none if it is refused. */
export function textsOf(schema: unknown, count: number, seed: number): string[] {
  const outcome = outcomeOf(schema)
  if (outcome instanceof Refusal) return []
  const walk = walksOf(outcome.grammar)
  const { accepts } = createRememberingMatcher(outcome.grammar)
  const random = seededRandom(seed)
  // Walks ignore what a grammar remembers, so texts with forbidden repetitions are dropped here.
  return Array.from({ length: count }, () => walk(random, 30)).filter(
    (text) => !hasMarks(outcome.grammar) || accepts(text),
  )
}
