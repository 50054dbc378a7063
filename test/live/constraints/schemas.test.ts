import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import { hasMarks } from '../../../packages/constraints/index.ts'
import { Refusal } from '../../../src/domain/refusals.ts'
import { createConstraintCompiler } from '../../../src/inference/constraints/compile.ts'
import { type EngineGrammars, startEngineGrammars } from '../../support/engine-grammars.ts'
import { gbnfOf } from '../../support/gbnf.ts'
import { createGbnfMatcher } from '../../support/gbnf-matcher.ts'
import { formatCases } from '../../support/schemas/format-cases.ts'
import { schemas } from '../../support/schemas/generated-schemas.ts'
import { keywordCases } from '../../support/schemas/keyword-cases.ts'
import { pairCases } from '../../support/schemas/pair-cases.ts'
import { realCases } from '../../support/schemas/real-cases.ts'
import { seededRandom } from '../../support/seeded-random.ts'

describe('grammars of schemas in the engine', () => {
  const compiler = createConstraintCompiler()
  const random = seededRandom(2)
  let engine: EngineGrammars
  before(async () => {
    engine = await startEngineGrammars()
  })
  after(() => engine.close())

  it('accept the same texts as our matcher, for the corpus', async () => {
    for (const { name, schema, valid, invalid } of [
      ...keywordCases,
      ...pairCases,
      ...formatCases,
      ...realCases,
    ]) {
      const gbnf = compile(schema)
      if (gbnf === undefined) continue
      await agree(
        name,
        gbnf,
        [...valid, ...invalid].map((value) => JSON.stringify(value)),
      )
    }
  })

  it('accept the same texts as our matcher, for random schemas', async () => {
    let compiled = 0
    for (const schema of fc.sample(schemas, { numRuns: 300, seed: 4 })) {
      const gbnf = compile(schema)
      if (gbnf === undefined) continue
      compiled++
      await agree(JSON.stringify(schema), gbnf, [])
    }
    assert.ok(compiled > 150, `${compiled} schemas compiled`)
  })

  async function agree(name: string, gbnf: string, given: readonly string[]): Promise<void> {
    const matcher = createGbnfMatcher(gbnf)
    const sampled = Array.from({ length: 6 }, () => matcher.sample(random, 40))
    const spoiled = sampled.flatMap((text) => [text.slice(1), `${text}]`])
    const texts = [...given, ...sampled, ...spoiled]
    assert.deepEqual(
      await engine.ask(gbnf, texts),
      texts.map((text) => matcher.accepts(text)),
      `${name}\n${gbnf}\n${JSON.stringify(texts)}`,
    )
  }

  function compile(schema: unknown): string | undefined {
    try {
      const { grammar } = compiler.compile({ kind: 'json', schema }, { whitespace: 'bounded' }, 'schema')
      // The engine's grammars remember nothing; what ours remember is tested in unit/constraints/remembered.
      return hasMarks(grammar) ? undefined : gbnfOf(grammar)
    } catch (error) {
      if (error instanceof Refusal) return undefined
      throw error
    }
  }
})
