import assert from 'node:assert/strict'
import { test } from 'node:test'
import { passOnRefusal, type RefusalCode } from '../../../src/domain/refusals.ts'
import { answerWithFallbacks } from '../../../src/inference/fallbacks.ts'
import type { AnswerEvent, AnswerRequest, Model } from '../../../src/inference/model.ts'
import type { FoundModel } from '../../../src/inference/registry.ts'
import { scriptedModel } from '../../support/scripted-backend.ts'

const request = {} as AnswerRequest
const never = new AbortController().signal
const read: AnswerEvent = { kind: 'prefilled', input: 0, cachedTokens: 0 }
const word: AnswerEvent = { kind: 'tokens', choice: 0, text: 'word', tokens: [1] }
const end: AnswerEvent = { kind: 'finished', choice: 0, reason: 'stop', stop: null }

/** A model with these groups of events. It fails at a code; if that comes first, it refuses the request. */
function found(name: string, ...said: (AnswerEvent[] | RefusalCode)[]): FoundModel & { asked: number } {
  const [first] = said
  const one = {
    asked: 0,
    served: { ...scriptedModel, names: [name] },
    model: {
      served: () => one.served,
      async answer() {
        one.asked++
        if (typeof first === 'string')
          throw passOnRefusal({ code: first, values: { why: name, seconds: 1, limit: 1, own: 1 } })
        return { prompts: [[1]], events: events() }
      },
    } as unknown as Model,
  }
  async function* events() {
    for (const group of said) {
      if (typeof group === 'string') throw passOnRefusal({ code: group, values: { why: name } })
      yield group
    }
  }
  return one
}

async function textOf(
  asked: FoundModel,
): Promise<{ name: string | undefined; insteadOf: string | undefined; kinds: string[] }> {
  const { answering, served, insteadOf } = await answerWithFallbacks(asked, request, never)
  const kinds: string[] = []
  for await (const group of answering.events) kinds.push(...group.map(({ kind }) => kind))
  return { name: served.names[0], insteadOf, kinds }
}

const whole = ['prefilled', 'tokens', 'finished']

for (const code of [
  'model_not_ready',
  'engine_queue_full',
  'engine_failed',
  'upstream_unavailable',
  'upstream_busy',
  'upstream_timeout',
  'upstream_failed',
] as const) {
  test(`${code} before the answer has begun: the next available model answers`, async () => {
    for (const first of [found('first', code), found('first', [read], code)]) {
      const fallbacks: FoundModel[] = [found('busy', 'upstream_busy'), found('other', [read], [word], [end])]
      assert.deepEqual(await textOf({ ...first, fallbacks }), {
        name: 'other',
        insteadOf: 'first',
        kinds: whole,
      })
    }
  })
}

for (const code of ['engine_share_full', 'context_length_exceeded', 'upstream_refused'] as const) {
  test(`${code} would be the same at any model, so no other is asked`, async () => {
    const other = found('other', [read], [word], [end])
    await assert.rejects(textOf({ ...found('first', code), fallbacks: [other] }), { code })
    assert.equal(other.asked, 0)
  })
}

test('an answer that fails after its first piece fails, and no other model is asked', async () => {
  const other = found('other', [read], [word], [end])
  const first = { ...found('first', [read, word], 'engine_failed'), fallbacks: [other] }
  await assert.rejects(textOf(first), { code: 'engine_failed' })
  assert.equal(other.asked, 0)
})

test('a model that answers is the only one that is asked', async () => {
  const other = found('other', [read], [word], [end])
  const first = { ...found('first', [read], [word], [end]), fallbacks: [other] }
  assert.deepEqual(await textOf(first), { name: 'first', insteadOf: undefined, kinds: whole })
})

test('when all models fail, the error of the requested one is returned', async () => {
  const fallbacks: FoundModel[] = [found('other', 'upstream_refused')]
  await assert.rejects(textOf({ ...found('first', 'model_not_ready'), fallbacks }), {
    code: 'model_not_ready',
  })
})
