import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Constraint } from '../../packages/chat-format/index.ts'
import type { ConstraintOptions } from '../../packages/constraints/index.ts'
import { createConstraintCompiler } from '../../src/inference/constraints/compile.ts'
import { type ChatServer, startChatServer } from '../support/chat-server.ts'
import { gbnfOf } from '../support/gbnf.ts'
import { createGbnfMatcher } from '../support/gbnf-matcher.ts'
import { createAjvValidator } from '../support/schemas/ajv-validator.ts'
import { keywordCases } from '../support/schemas/keyword-cases.ts'
import { pairCases } from '../support/schemas/pair-cases.ts'
import { realCases } from '../support/schemas/real-cases.ts'

const compiler = createConstraintCompiler()
const bounded: ConstraintOptions = { whitespace: 'bounded' }

/** Sampling settings, used in turn. */
const samplings = [
  {},
  { n: 4 },
  { top_p: 0.9 },
  { top_k: 20, n: 2 },
  { min_p: 0.05 },
  { temperature: 0 },
  { temperature: 1.5, n: 3 },
  { logprobs: true, top_logprobs: 3 },
  { repetition_penalty: 1.2, frequency_penalty: 0.5 },
  { min_tokens: 30 },
  { ignore_eos: true },
]

function grammarOf(constraint: Constraint, options = bounded): string {
  return gbnfOf(compiler.compile(constraint, options, 'x').grammar)
}

function formatOf(schema: unknown) {
  return { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } }
}

function isCompiled(schema: unknown): boolean {
  try {
    grammarOf({ kind: 'json', schema })
    return true
  } catch {
    return false
  }
}

const corpus = [...keywordCases, ...pairCases, ...realCases].filter(
  ({ schema }) => typeof schema === 'object' && isCompiled(schema),
)
const sample = corpus.filter((_, at) => at % 6 === 0)
/** The number of answers over the corpus, with each model. */
const generations = 500

/** Checks that a finished answer is a text of the grammar, and that an answer cut off is the beginning of one. */
async function holds(
  server: ChatServer,
  fields: Record<string, unknown>,
  grammar: string,
  fits: (text: string) => boolean,
): Promise<{ whole: number; cut: number }> {
  const matcher = createGbnfMatcher(grammar)
  const count = { whole: 0, cut: 0 }
  const { choices } = await server.said({ max_tokens: 120, ...fields })
  for (const { content, finish_reason } of choices) {
    const said = `${JSON.stringify(fields).slice(0, 1500)}: ${finish_reason} ${JSON.stringify(content)}`
    if (finish_reason === 'stop') {
      assert.ok(matcher.accepts(content), said)
      assert.ok(fits(content), said)
      count.whole++
    } else {
      assert.equal(finish_reason, 'length', said)
      // An incomplete character at the end is shown as U+FFFD.
      assert.ok(matcher.begins(content) || matcher.begins(content.replace(/\uFFFD$/, '')), said)
      count.cut++
    }
  }
  return count
}

const models = { 'a random model': { vocabulary: 1000 }, 'the built-in model': 'builtin' } as const

for (const [name, model] of Object.entries(models)) {
  test(name, async (t) => {
    const server = await startChatServer(t, { model })

    await t.test(`${generations} answers and more over the corpus, at temperature 1`, async () => {
      const done = { whole: 0, cut: 0, streamed: 0, ofFour: 0 }
      const ask = async (at: number) => {
        const { schema } = corpus[at % corpus.length] ?? assert.fail()
        const judge = createAjvValidator(schema)
        const fields = { temperature: 1, seed: at, n: 1 + (at % 4), stream: at % 8 > 3, max_tokens: 40 }
        const { whole, cut } = await holds(
          server,
          { ...fields, response_format: formatOf(schema) },
          grammarOf({ kind: 'json', schema }),
          (text) => judge(JSON.parse(text)) !== false,
        )
        assert.equal(whole + cut, fields.n)
        done.whole += whole
        done.cut += cut
        if (fields.stream) done.streamed += fields.n
        if (fields.n === 4) done.ofFour += fields.n
      }
      for (let at = 0; at < corpus.length; at += 4) {
        await Promise.all([0, 1, 2, 3].map((next) => ask(at + next)))
      }
      const told = JSON.stringify(done)
      assert.ok(done.whole + done.cut >= generations, told)
      assert.ok(done.whole > generations / 2 && done.cut > generations / 25, told)
      assert.ok(done.streamed > generations / 3 && done.ofFour > generations / 4, told)
    })

    await t.test(`answers fit the schema for all sampling settings`, async () => {
      assert.ok(sample.length > 40)
      let whole = 0
      for (const [at, { schema }] of sample.entries()) {
        const judge = createAjvValidator(schema)
        const counted = await holds(
          server,
          {
            ...samplings[at % samplings.length],
            seed: at,
            stream: at % 2 === 1,
            response_format: formatOf(schema),
          },
          grammarOf({ kind: 'json', schema }),
          (text) => judge(JSON.parse(text)) !== false,
        )
        whole += counted.whole
      }
      assert.ok(whole > sample.length / 2, `${whole} answers finished`)
    })

    await t.test(`other constraints`, async () => {
      const tag = {
        type: 'structural_tag',
        structures: [{ begin: '<n>', schema: { type: 'integer' }, end: '</n>' }],
        triggers: ['<n'],
      }
      const others: [outputs: object, constraint: Constraint, options?: ConstraintOptions][] = [
        [{ choice: ['yes', 'no', 'é😀', ''] }, { kind: 'choice', choices: ['yes', 'no', 'é😀', ''] }],
        [{ regex: '[a-z]{2,4}-\\d{1,3}' }, { kind: 'regex', regex: '[a-z]{2,4}-\\d{1,3}' }],
        [{ regex: '[^a]{0,20}' }, { kind: 'regex', regex: '[^a]{0,20}' }],
        [
          { grammar: 'root ::= "(" root ")" | [à-ü]{1,3}' },
          { kind: 'grammar', grammar: 'root ::= "(" root ")" | [à-ü]{1,3}' },
        ],
        [{ json_object: true }, { kind: 'json_object' }],
        [
          { json_object: true, disable_any_whitespace: true },
          { kind: 'json_object' },
          { whitespace: 'none' },
        ],
        [{ structural_tag: JSON.stringify(tag) }, { kind: 'structural_tag', tag }],
      ]
      for (const [outputs, constraint, options] of others) {
        const grammar = grammarOf(constraint, options)
        for (const [at, sampling] of samplings.entries()) {
          const fields = { ...sampling, seed: at, stream: at % 2 === 1, max_tokens: 60 }
          await holds(server, { ...fields, structured_outputs: outputs }, grammar, () => true)
        }
      }
      const again = { seed: 7, structured_outputs: { regex: '[a-z]{5,9}x' } }
      const [one, other] = [await server.said(again), await server.said({ ...again, stream: true })]
      assert.deepEqual(one.choices, other.choices, 'a seed repeats the answer')
      const text = { prompt: ['A', 'B'], n: 2, max_tokens: 60, ...again, temperature: 1 }
      const completion = await server.post('/v1/completions', text)
      const continued = ((await completion.json()) as { choices: { text: string }[] }).choices
      assert.equal(continued.length, 4)
      for (const { text: said } of continued) assert.match(said, /^[a-z]{5,9}x$/)
    })

    assert.equal(await server.end('SIGTERM'), 0)
  })
}

test('disallowed tokens have no probability, and the answer ends with the grammar', async (t) => {
  const server = await startChatServer(t, { model: { vocabulary: 1000 } })
  const { choices } = await server.said({
    structured_outputs: { choice: ['ab', 'ac'] },
    logprobs: true,
    top_logprobs: 20,
    ignore_eos: true,
    min_tokens: 10,
  })
  const [choice] = choices
  assert.deepEqual([choice?.finish_reason, choice?.stop_reason], ['stop', null])
  const text = choice?.content ?? ''
  assert.ok(['ab', 'ac'].includes(text), text)
  for (const { logprob, top_logprobs } of choice?.logprobs ?? []) {
    const possible = top_logprobs.filter((one) => one.logprob > -9999)
    assert.ok(logprob > -9999 && possible.length >= 1 && possible.length <= 3)
    assert.equal(top_logprobs.length, 20)
    const total = possible.reduce((sum, one) => sum + Math.exp(one.logprob), 0)
    assert.ok(Math.abs(total - 1) < 1e-3, `${total}`)
  }
  const refused = await server.ask({
    structured_outputs: { choice: ['b'] },
    allowed_token_ids: await server.tokenize('c'),
  })
  assert.equal(refused.json.error.code, 'no_token_possible')
  assert.match(refused.json.error.message, /structured_outputs\.choice, allowed_token_ids/)
  assert.equal(await server.end('SIGTERM'), 0)
})
