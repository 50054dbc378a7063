import { withAnswerSlot } from '../server/answer-slots.ts'
import { type CallsView, type Part, readPage, readPayloads } from '../server/calls.ts'
import { askChat } from '../server/chat.ts'
import { evaluationsOf } from '../server/evaluation-runs.ts'
import { jsonNode } from '../value/json-index.ts'
import {
  type RecordedRequest,
  recordedRequestIn,
  requestWith,
  similarity,
  textIn,
} from './recorded-request.ts'

/** Calls that are asked again at most: each is a request to the model, and the user waits for all of them. */
export const maxCalls = 200
const payloadsPerRequest = 50

interface FoundRequests {
  asked: readonly RecordedRequest[]
  /** Calls that were looked at; those without a conversation and an answer are left out. */
  looked: number
}

/** The newest calls of a view that are chats with an answer. */
export async function findRecordedRequests(
  view: CallsView,
  part: Part,
  signal: AbortSignal,
): Promise<FoundRequests> {
  const rows = await readPage(view, part, { offset: 0, limit: maxCalls }, signal)
  const asked: RecordedRequest[] = []
  for (let from = 0; from < rows.length; from += payloadsPerRequest) {
    const ids = rows.slice(from, from + payloadsPerRequest).map(({ id }) => id)
    const payloads = await readPayloads(view.project, ids, signal)
    asked.push(...ids.flatMap((id) => recordedRequestIn(payloads.get(id) ?? jsonNode('null')) ?? []))
  }
  return { asked, looked: rows.length }
}

interface RunOptions {
  project: string
  name: string
  asked: readonly RecordedRequest[]
  /** As JSON, by name. */
  settings: ReadonlyMap<string, string>
  /** The new system message; empty keeps the recorded one. */
  system: string
  /** A text that answers should contain; empty skips this check. */
  expected: string
}

export interface Progress {
  done: number
  failed: number
  /** Why the last failure happened. */
  why?: string
  /** The next request waits, because other answers of this browser are being written. */
  isHeld?: boolean
}

/** The page computes the scores itself, so its own code is named as theirs. */
const code = 'See ui/rerun/ of Heddle: what the page compares when recorded calls are asked again.'

/** Asks all of them again, and writes the recorded and the new answers as two runs of one evaluation. */
export async function runAgain(
  { project, name, asked, settings, system, expected }: RunOptions,
  told: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<{ recorded: string; again: string } & Progress> {
  // What has begun is written to its end, even if the user stops.
  const evaluations = evaluationsOf(project, new AbortController().signal)
  // A name belongs to one class of objects, so each of these has its own.
  const dataset = await evaluations.makeDataset(
    `${name} questions`,
    asked.map(({ request }) => `{"messages":${request.get('messages')}}`),
  )
  const likeRecorded = await evaluations.makeScorer(
    'as recorded',
    'How much of the recorded answer is there again.',
    code,
  )
  const contains = await evaluations.makeScorer('contains', 'Whether the answer contains a text.', code)
  const scorers = expected === '' ? [likeRecorded] : [likeRecorded, contains]
  const evaluation = await evaluations.makeEvaluation(`${name} evaluation`, dataset, scorers)
  const attributes = [...settings].map(([one, value]) => `${JSON.stringify(one)}:${value}`)
  const recorded = await evaluations.begin(evaluation, await evaluations.makeModel('recorded', '{}'))
  const again = await evaluations.begin(
    evaluation,
    await evaluations.makeModel(name, `{${[...attributes, `"system":${JSON.stringify(system)}`].join(',')}}`),
  )
  const scoresOf = (one: RecordedRequest, answer: string) =>
    new Map<string, object>([
      [likeRecorded, { same: answer === one.answer, words: similarity(one.answer, answer) }],
      ...(expected === ''
        ? []
        : [[contains, { expected: answer.toLowerCase().includes(expected.toLowerCase()) }] as const]),
    ])
  const progress: Progress = { done: 0, failed: 0 }
  try {
    for (const one of asked) {
      const inputs = `{"messages":${one.request.get('messages')}}`
      let answer: string | undefined
      try {
        answer = await withAnswerSlot({
          signal,
          onWait: () => told({ ...progress, isHeld: true }),
          ask: () => {
            told({ ...progress })
            return askAgain(project, requestWith(one, settings, system), signal)
          },
        })
      } catch (given) {
        if (signal.aborted) break
        progress.failed++
        progress.why = (given as Error).message
      }
      await recorded.trial(inputs, JSON.stringify(one.answer), scoresOf(one, one.answer))
      await again.trial(
        inputs,
        JSON.stringify(answer ?? null),
        answer === undefined ? new Map() : scoresOf(one, answer),
      )
      progress.done++
      told({ ...progress })
    }
  } finally {
    await Promise.all([recorded.end(), again.end()])
  }
  return { ...progress, recorded: recorded.id, again: again.id }
}

async function askAgain(project: string, body: string, signal: AbortSignal): Promise<string> {
  const { events } = await askChat({ project, thread: '', body, signal })
  for await (const text of events) return textIn(jsonNode(text)) ?? ''
  return ''
}
