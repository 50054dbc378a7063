import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { Refusal } from '../../../src/domain/refusals.ts'
import { createConstraintCompiler } from '../../../src/inference/grammar/compile.ts'
import { startEngineGrammars } from '../../support/engine-grammars.ts'
import { createGbnfMatcher } from '../../support/gbnf-matcher.ts'
import { schemas } from '../../support/schemas/generated-schemas.ts'
import { seededRandom } from '../../support/seeded-random.ts'

it('the engine takes the grammar of every schema, and the texts that our matcher takes', async (t) => {
  const engine = await startEngineGrammars()
  t.after(() => engine.close())
  const compiler = createConstraintCompiler()
  const random = seededRandom(2)
  let compiled = 0
  for (const schema of fc.sample(schemas, { numRuns: 300, seed: 4 })) {
    const gbnf = compile(schema)
    if (gbnf === undefined) continue
    compiled++
    const matcher = createGbnfMatcher(gbnf)
    const sampled = Array.from({ length: 6 }, () => matcher.sample(random, 40))
    const texts = [...sampled, ...sampled.map((text) => text.slice(1)), ...sampled.map((text) => `${text}]`)]
    assert.deepEqual(
      await engine.ask(gbnf, texts),
      texts.map((text) => matcher.accepts(text)),
      `${JSON.stringify(schema)}\n${gbnf}\n${JSON.stringify(texts)}`,
    )
  }
  assert.ok(compiled > 150, `${compiled} schemas compiled`)

  function compile(schema: unknown): string | undefined {
    try {
      return compiler.compile({ kind: 'json', schema }, { whitespace: 'bounded' }, 'schema').gbnf
    } catch (error) {
      if (error instanceof Refusal) return undefined
      throw error
    }
  }
})
