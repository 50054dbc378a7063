import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { formatOfTemplate, publicTemplates } from '../../../scripts/chat-templates.ts'
import { callFormats } from '../../../test/support/call-formats.ts'
import { isWhole } from '../../../test/support/campaign-share.ts'
import { seededRandom } from '../../../test/support/seeded-random.ts'
import { type SmallVocabulary, smallVocabulary } from '../../../test/support/small-vocabulary.ts'
import { walksOf } from '../../../test/support/turn-walks.ts'
import { createConstraints } from '../../constraints/index.ts'
import type { AnswerFormat, OfferedTool, TurnConstraint } from '../index.ts'
import { createAnswerReader, resolved, unitOfMarker } from '../index.ts'
import { compiledTurn, tool } from './turns.ts'

/** A model that tries to call a tool that nobody offered, in every format and with changing tokens. */

type Calls = NonNullable<TurnConstraint['calls']>

const place = { type: 'object', properties: { city: { type: 'string', maxLength: 8 } }, required: ['city'] }
const tools = [tool('get_weather', place), tool('add', null), tool('now', null)]
const unoffered = [tool('weather', place)]
const tries = isWhole ? 3 : 1
const steps = 100

interface Format {
  name: string
  format: AnswerFormat
  markers: readonly string[]
}

/** Each format of the public templates, with its marks in letters and as control tokens. */
function publicFormats(): Format[] {
  const templates = publicTemplates()
  if (typeof templates === 'string') return []
  const formats = new Map<string, Format>()
  for (const template of templates) {
    const format = formatOfTemplate(template)
    const text = JSON.stringify(format.calls)
    const names = ['harmony', 'muse', 'gigachat'].some((own) => text.includes(own))
      ? ['<|start|>', '<|channel|>', '<|constrain|>', '<|message|>', '<|end|>', '<|call|>', '<|return|>']
      : (text.match(/<[|｜]?[^<>\s"\\/=]+[|｜]?>|\[[A-Z_]+\]/gu) ?? [])
    for (const controls of [[], names]) {
      const made = resolved(format, controls)
      const key = JSON.stringify(made.format.calls)
      const spelling = controls.length === 0 ? 'in letters' : 'in tokens'
      formats.set(key, { name: `${template.name}, marks ${spelling}`, ...made })
    }
  }
  return [...formats.values()]
}

const listed = Object.entries(callFormats).map(
  ([name, calls]): Format => ({
    name,
    format: { calls, proof: 'proven' },
    markers: Array.from({ length: 6 }, (_, at) => `<|mark ${at}|>`),
  }),
)
const all = [...listed, ...publicFormats()]

function turnOf({ calls }: AnswerFormat, offered: readonly OfferedTool[], choice: Calls['choice']) {
  const own = 'own' in calls ? calls : undefined
  return {
    thought: 'over',
    ...(own && { own }),
    calls: { format: calls, tools: offered, choice, isParallel: true },
  } as const
}

interface Read {
  content: string
  calls: string[]
}

function read(pieces: readonly string[], { calls }: AnswerFormat, offered: readonly OfferedTool[]): Read {
  const reader = createAnswerReader({
    thought: 'over',
    ...('own' in calls && { own: calls }),
    calls: { format: calls, tools: offered, newId: String, isParallel: true },
  })
  const parts = [...pieces.flatMap((piece) => reader.push(piece)), ...reader.end()]
  return {
    content: parts.map((part) => (part.kind === 'content' ? part.text : '')).join(''),
    calls: parts.flatMap((part) => (part.kind === 'call' ? [part.name] : [])),
  }
}

/** A vocabulary that has random pieces of the text as tokens, besides all bytes. */
function vocabularyOf(text: string, markers: readonly string[], random: () => number): SmallVocabulary {
  const plain = text.split(/[\udc00-\udfff]/u).filter((piece) => piece.length > 1)
  const words = Array.from({ length: 60 }, () => {
    const piece = Array.from(plain[Math.floor(random() * plain.length)] ?? 'weather')
    const from = Math.floor(random() * (piece.length - 1))
    return piece.slice(from, from + 2 + Math.floor(random() * 9)).join('')
  })
  return smallVocabulary({ words: [...new Set(words)].filter((word) => word.length > 1), control: markers })
}

/**
 * Writes as much of the text as the turn allows, then anything that it allows, and tries again from the start of the
 * text. Returns the answer as the text of each token.
 */
function answerOf(target: string, { format, markers }: Format, seed: number) {
  const random = seededRandom(seed)
  const vocabulary = vocabularyOf(target, markers, random)
  const { grammar } = compiledTurn(turnOf(format, tools, 'auto'))
  const allowance = createConstraints(vocabulary).of(grammar, markers).begin()
  const marked = new Map(
    markers.map((name, index) => [vocabulary.tokenize(name, { special: true })[0], unitOfMarker(index)]),
  )
  const isWritten = (token: number, text: string) => {
    const mark = marked.get(token)
    if (mark !== undefined) return text.startsWith(mark)
    const bytes = vocabulary.bytes(token)
    return !vocabulary.isSpecial(token) && Buffer.from(text).subarray(0, bytes.length).equals(bytes)
  }
  const every = Array.from({ length: vocabulary.size }, (_, token) => token)
  const pick = (of: readonly number[]) => of[Math.floor(random() * of.length)]
  const pieces: string[] = []
  let bytes = Buffer.alloc(0)
  let left = target
  for (let step = 0; step < steps; step++) {
    const wanted = every.filter((token) => isWritten(token, left) && allowance.allows(token))
    const plain = () =>
      every.filter(
        (token) => token < 128 && token >= 32 && !vocabulary.isSpecial(token) && allowance.allows(token),
      )
    const token = pick(wanted) ?? pick(plain()) ?? pick(every.filter((one) => allowance.allows(one)))
    assert.ok(token !== undefined, 'the turn has no dead end')
    if (!allowance.accept(token)) break
    const mark = marked.get(token)
    if (mark !== undefined) {
      pieces.push(mark)
      left = wanted.length > 0 ? left.slice(1) : target
      continue
    }
    bytes = Buffer.concat([bytes, vocabulary.bytes(token)])
    left = wanted.length > 0 ? afterBytes(left, vocabulary.bytes(token).length) : target
    const text = bytes.toString()
    if (text.endsWith('\ufffd')) continue
    pieces.push(text)
    bytes = Buffer.alloc(0)
  }
  return { pieces, isOver: allowance.isOver }
}

const afterBytes = (text: string, count: number) => Buffer.from(text).subarray(count).toString()

/** The mark in letters with which calls begin, as the examples of formats show it. */
function markOf({ calls }: AnswerFormat): string | undefined {
  if ('own' in calls || calls.isAnchored || typeof calls.open[0] !== 'string') return undefined
  return /^\s*([\udc00-\udfff]|<[^<>\s]+>|\[[A-Z_]+\])/u.exec(calls.open[0])?.[1]
}

describe('with auto, the name of a call is one of those offered', () => {
  let called = 0
  for (const [index, one] of all.entries()) {
    const { name, format } = one
    it(name, () => {
      const walk = walksOf(compiledTurn(turnOf(format, unoffered, 'required')).grammar)
      const mark = markOf(format)
      for (let seed = 1; seed <= tries; seed++) {
        const target = walk(seededRandom(100 * index + seed), 30)
        const { pieces, isOver } = answerOf(target, one, seed)
        const told = read(pieces, format, tools)
        assert.deepEqual(read([pieces.join('')], format, tools), told, 'streamed and whole')
        called += told.calls.length
        const shown = JSON.stringify(told.content)
        // An opening that is cut off is still text.
        const marks = mark === undefined ? 0 : told.content.split(mark).length - 1
        assert.ok(marks <= (isOver ? 0 : 1), `${shown} contains the mark of calls`)
        if ('own' in format.calls) assert.ok(!told.content.includes('<|start|>'), shown)
        else if (format.calls.open.length > 0) {
          assert.deepEqual(read([told.content], format, unoffered).calls, [], shown)
        }
      }
    })
  }

  it('calls of offered tools remain', () => assert.ok(called > all.length, `${called} calls`))
})
