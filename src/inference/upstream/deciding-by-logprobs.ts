import type { Candidate } from '../../../packages/engine/index.ts'
import { JsonText } from '../../domain/json/text.ts'
import { averageOf, type Scored } from '../decisions/averages.ts'
import { greedySampling } from '../decisions/deciding.ts'
import type { Decide, DecisionAnswer, DecisionAsked, DecisionQuestion } from '../decisions/decision.ts'
import { sharesOf } from '../decisions/label-tree.ts'
import { decisionSystem, divider, labelsOf, ordersOf, questionText } from '../decisions/wording.ts'
import type { AnswerRequest, Model } from '../model.ts'
import { lacksDecisions, refuseUnsupported } from './fields.ts'
import { kindsOfUpstreams, type UpstreamKind } from './kinds.ts'

/** The most candidates that servers list for a token. */
const maxListed = 20

const atOnce = 4

/** Decisions from the likeliest tokens with which the model of a server would begin its answer. */
export async function decideByLogprobs(
  kind: UpstreamKind,
  answer: Model['answer'],
  asked: DecisionAsked,
  read: Parameters<Decide>[1],
  callerSignal: AbortSignal,
): Promise<DecisionAnswer[]> {
  for (const { field, options } of asked.questions) {
    if (options.length > maxListed) {
      const accepted = `at most ${maxListed}, of which it lists the probabilities`
      refuseUnsupported(field, `${options.length} options`, accepted)
    }
  }
  const cancelling = new AbortController()
  const signal = AbortSignal.any([callerSignal, cancelling.signal])
  const scores = asked.questions.map((): (Scored | undefined)[] => [])

  async function score(question: DecisionQuestion, index: number, order: readonly number[]): Promise<void> {
    const answering = await answer(requestOf(kind, asked, questionText(question, order)), signal)
    let first: Candidate[] | undefined
    for await (const events of answering.events) {
      for (const event of events) {
        if ((event.kind === 'tokens' || event.kind === 'said') && event.logprobs)
          first ??= event.logprobs[0]?.top
      }
    }
    const { prompt, cached } = answering.usage?.() ?? { prompt: 0, cached: 0 }
    read({ prompt, cached })
    if (first === undefined) throw lacksDecisions()
    scores[index]?.push(scoredOf(question, order, first))
  }

  const readings = asked.questions.flatMap((question, index) =>
    ordersOf(question, asked.orders).map((order) => () => score(question, index, order)),
  )
  try {
    // If the server returns no log-probabilities, it is asked once only.
    await readings.shift()?.()
    const waiting = readings.values()
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        for (const go of waiting) await go()
      }),
    )
  } catch (error) {
    cancelling.abort(error)
    throw error
  }
  return scores.map((scored) => {
    const whole = scored.filter((entry) => entry !== undefined)
    return whole.length < scored.length ? { probabilities: undefined } : averageOf(whole)
  })
}

/** Undefined if none of the candidates is a label. */
function scoredOf(
  question: DecisionQuestion,
  order: readonly number[],
  candidates: readonly Candidate[],
): Scored | undefined {
  const texts = candidates.map(({ bytes }) => Buffer.from(bytes).toString().trim())
  const logprobs = labelsOf(question).map((spellings) => {
    const own = candidates.filter((_, index) => spellings.includes(texts[index] as string))
    return Math.log(own.reduce((sum, { logprob }) => sum + Math.exp(logprob), 0))
  })
  const { probabilities, mass } = sharesOf(logprobs)
  if (mass === 0) return undefined
  const ofOptions = new Array<number>(probabilities.length)
  for (const [line, option] of order.entries()) ofOptions[option] = probabilities[line] as number
  const isLikeliest = labelsOf(question).some((spellings) => spellings.includes(texts[0] as string))
  return { probabilities: ofOptions, mass, isLikeliest }
}

function requestOf(kind: UpstreamKind, asked: DecisionAsked, question: string): AnswerRequest {
  const { instructions, input, tenant, promptGroup, salt, priority, lane, traceparent } = asked
  const { takes } = kindsOfUpstreams[kind]
  return {
    inputs: [
      {
        conversation: {
          messages: [
            { role: 'system', content: [decisionSystem, ...instructions].join('\n\n') },
            { role: 'user', content: `${input.trimEnd()}${divider}${question}` },
          ],
          addGenerationPrompt: true,
          continueFinal: false,
          ...(takes.has('chat_template_kwargs') && { variables: new JsonText('{"enable_thinking":false}') }),
        },
        addSpecial: false,
      },
    ],
    tenant,
    turn: {},
    choices: 1,
    sampling: greedySampling,
    ending: { maxTokens: 1, minTokens: 0, stop: [], stopTokens: [], ignoreEos: false, includeStop: false },
    logprobs: maxListed,
    text: { skipSpecial: true, spaceSpecial: true },
    priority,
    body: { temperature: 0, ...(priority !== 0 && { priority }) },
    ...(promptGroup !== undefined && { promptGroup }),
    ...(salt !== undefined && { salt }),
    ...(lane && { lane }),
    ...(traceparent && { traceparent }),
  }
}
