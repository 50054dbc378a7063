import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type GenerationParts, generationOf } from '../../../test/support/generations.ts'
import { listedVocabulary } from '../../../test/support/listed-vocabulary.ts'
import { scriptedLogits } from '../../../test/support/scripted-logits.ts'
import { unitOfMarker } from '../../chat-format/index.ts'
import {
  controlTokensOf,
  createConstraints,
  type Expr,
  isInMask,
  otherControlToken,
  packGrammar,
  symbolOfMarker,
} from '../../constraints/index.ts'
import { createChoice, planAnswer } from '../answer/choice.ts'
import type { GenerationEvent } from '../backend.ts'
import { createRandom } from '../sampling/random.ts'

const tokens = [
  'a',
  'b',
  'ab',
  '<',
  'call',
  '>',
  [0xc3],
  [0xa9],
  '</s>',
  '<call>',
  '<done>',
  '<pad>',
  '<other>',
]
const eos = 8
const done = 10
const vocabulary = listedVocabulary({ tokens, eos, ends: [done] })
const id = (text: string) => tokens.indexOf(text)
const markers = ['<call>', '<done>']
const [call, end] = [unitOfMarker(0), unitOfMarker(1)]
const everyToken = [...tokens.keys()]

const literal = (text: string): Expr => ({ kind: 'literal', text })
const symbol = (marker: number) => one(symbolOfMarker(marker))
const one = (point: number): Expr => ({ kind: 'class', ranges: [[point, point]] })
const anyOther = one(otherControlToken)
const sequence = (...of: Expr[]): Expr => ({ kind: 'sequence', of })
const letters: Expr = { kind: 'class', ranges: [[97, 98]] }
const many = (of: Expr, min = 0): Expr => ({ kind: 'repetition', of, min, max: Number.POSITIVE_INFINITY })
const grammarOf = (root: Expr) => packGrammar(new Map([['root', root]]))

/** Letters, then any number of calls, each of which ends with its marker. */
const calls = grammarOf(
  sequence(
    many({ kind: 'alternatives', of: [letters, anyOther] }),
    many(sequence(symbol(0), many(letters, 1), symbol(1))),
  ),
)

function allowedAfter(said: string[]): string[] {
  const allowance = createConstraints(vocabulary).of(calls, markers).begin()
  for (const token of said) allowance.accept(id(token))
  const allowed = everyToken.filter((token) => allowance.allows(token))
  const mask = allowance.mask()
  assert.deepEqual(
    everyToken.filter((token) => isInMask(mask, token)),
    allowed,
  )
  assert.equal(mask.count, allowed.length)
  assert.deepEqual(
    allowance.few()?.toSorted((one, two) => one - two),
    allowed,
  )
  return allowed.map((token) => String(tokens[token]))
}

test('a control token is allowed where the grammar continues with its symbol', () => {
  assert.deepEqual(allowedAfter([]), ['a', 'b', 'ab', '</s>', '<call>', '<done>', '<pad>', '<other>'])
  assert.deepEqual(allowedAfter(['<pad>', 'a', '<call>']), ['a', 'b', 'ab'])
  assert.deepEqual(allowedAfter(['<call>', 'a']), ['a', 'b', 'ab', '<done>'])
  assert.deepEqual(allowedAfter(['<call>', 'a', '<done>']), ['</s>', '<call>', '<done>'])
})

test('without markers no control token is a marker, and letters never are', () => {
  const allowance = createConstraints(vocabulary)
    .of(grammarOf(sequence(symbol(0), letters)))
    .begin()
  assert.deepEqual(
    everyToken.filter((token) => allowance.allows(token)),
    [],
  )
})

test('grammars that differ only in a marker are not confused', () => {
  const constraints = createConstraints(vocabulary)
  const first = (marker: number, names: string[]) => {
    const allowance = constraints.of(grammarOf(symbol(marker)), names).begin()
    return everyToken.filter((token) => allowance.allows(token))
  }
  assert.deepEqual(first(0, markers), [id('<call>')])
  assert.deepEqual(first(1, markers), [id('<done>')])
  assert.deepEqual(first(0, ['<pad>']), [id('<pad>')])
})

/** The events while the model favours these tokens: the texts, and how the answer ended. */
async function story(wanted: string[], parts: GenerationParts, constrained = true): Promise<unknown[]> {
  const generation = generationOf({ ...parts, text: { markers, ...parts.text } })
  const plan = planAnswer({
    generation,
    prompt: [0],
    maxTokens: 20,
    vocabulary,
    ...(constrained && { constraint: createConstraints(vocabulary).of(calls, markers) }),
  })
  const choice = createChoice(plan, 0)
  const events: GenerationEvent[] = []
  for (const token of wanted) {
    const logits = scriptedLogits(everyToken.map((one) => (one === id(token) ? 50 : 0)))
    const { tokens: said, finished } = choice.accept(await choice.next(logits))
    events.push(said, ...(finished ? [finished] : []))
    if (finished) break
  }
  return events.map((event) => {
    if (event.kind === 'tokens') return event.text
    return event.kind === 'finished' ? `${event.reason} ${event.stop}` : event.kind
  })
}

for (const skipSpecial of [true, false]) {
  test(`a marker is a surrogate in the text, ${skipSpecial ? 'while other control tokens are skipped' : 'not its name'}`, async () => {
    assert.deepEqual(await story(['a', '<pad>', '<call>', 'b', '<done>'], { text: { skipSpecial } }, false), [
      'a',
      skipSpecial ? '' : '<pad>',
      call,
      'b',
      '',
      `stop ${done}`,
    ])
  })
}

test('an end token is part of a call where the grammar needs it, and then ends a complete answer', async () => {
  assert.deepEqual(await story(['a', '<call>', 'b', '<done>'], {}), ['a', call, 'b', end, `stop ${done}`])
  assert.deepEqual(await story(['a', '<done>'], {}), ['a', '', `stop ${done}`])
  assert.deepEqual(await story(['<call>', 'b', '<done>', '<call>', 'a'], { ending: { ignoreEos: true } }), [
    call,
    'b',
    end,
    call,
    'a',
  ])
})

test('an end token does not end an answer that must continue', async () => {
  const grammar = grammarOf(sequence(symbol(0), symbol(1), literal('ab')))
  const generation = generationOf({ text: { markers } })
  const constraint = createConstraints(vocabulary).of(grammar, markers)
  const choice = createChoice(
    planAnswer({ generation, prompt: [0], maxTokens: 20, vocabulary, constraint }),
    0,
  )
  let text = ''
  for (const _ of [0, 1, 2]) {
    const { tokens: said, finished } = choice.accept(
      await choice.next(scriptedLogits(everyToken.map(() => 0))),
    )
    text += said.text
    if (finished) assert.equal(finished.reason, 'stop')
  }
  assert.equal(text, `${call}${end}ab`.slice(0, text.length))
  assert.ok(text.startsWith(`${call}${end}a`))
})

test('half a character before a marker is shown as a replacement character', async () => {
  const generation = generationOf({ text: { markers } })
  const choice = createChoice(planAnswer({ generation, prompt: [0], maxTokens: 20, vocabulary }), 0)
  assert.equal(choice.accept({ token: 6 }).tokens.text, '')
  assert.equal(choice.accept({ token: id('<call>') }).tokens.text, `\ufffd${call}`)
})

test('no stop string matches a marker', async () => {
  for (const stop of [call, `a${call}`, '<call>', '\ud800\udc00']) {
    assert.deepEqual(await story(['a', '<call>', 'b'], { ending: { stop: [stop] } }, false), [
      ...(await story(['a', '<call>', 'b'], {}, false)),
    ])
  }
})

test('each name of a control token is listed once', () => {
  assert.deepEqual([...controlTokensOf(vocabulary).keys()], ['</s>', '<call>', '<done>', '<pad>', '<other>'])
})

test('any answer drawn under a grammar with markers is a text of the grammar', async () => {
  const random = createRandom(5n)
  for (let answer = 0; answer < 200; answer++) {
    const generation = generationOf({
      text: { markers },
      sampling: { seed: BigInt(answer) },
      ending: { ignoreEos: random() < 0.5 },
    })
    const constraint = createConstraints(vocabulary).of(calls, markers)
    const choice = createChoice(
      planAnswer({ generation, prompt: [0], maxTokens: 30, vocabulary, constraint }),
      0,
    )
    let text = ''
    for (;;) {
      const drawn = await choice.next(scriptedLogits(everyToken.map(() => random())))
      const { tokens: said, finished } = choice.accept(drawn)
      text += said.text
      if (finished === undefined) continue
      assert.match(text, /^[ab]*(\udc00[ab]+\udc01)*(\udc00[ab]*)?$/)
      if (finished.reason === 'stop') assert.match(text, /^[ab]*(\udc00[ab]+\udc01)*$/)
      break
    }
  }
})
