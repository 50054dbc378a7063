import { type Backend, type Generation, plainSampling } from '../../../packages/engine/index.ts'
import { refuse } from '../../domain/refusals.ts'
import type { Prompts } from '../prompt/prompts.ts'
import { notReady } from '../served-model.ts'
import { averageOf, type Scored } from './averages.ts'
import type { Decide, DecisionAsked, DecisionQuestion, DecisionTokens } from './decision.ts'
import { type DecisionPrompt, decisionPrompt } from './decision-prompt.ts'
import { createLabelPaths, type ReadNext, scoreLabels, sharesOf } from './label-tree.ts'
import { labelsOf, ordersOf, questionText } from './wording.ts'

/** One question with its options in one order. */
interface Reading {
  question: number
  order: readonly number[]
  text: string
}

/** Tokens of the context that labels may need after a prompt. */
const labelRoom = 8

/**
 * Decisions by a model of this machine. The first question reads the input; the others continue from its prompt, which
 * the engine has cached by then. They follow one after the other, in the same sequence: with a second one, decisions at
 * the same time take each other's sequences, and read their inputs again. Nothing is generated: of each prompt only the
 * log-probabilities behind it are used.
 */
export function createDeciding(engine: Backend, prompts: Prompts): Decide {
  // Cached for the model, so no request aborts it.
  const { signal: never } = new AbortController()
  const pathsOf = createLabelPaths((text) => engine.tokenize(text, { special: true, add: false }, never))

  return async (asked, read, callerSignal) => {
    const served = engine.model()
    if (served === undefined) throw notReady(engine.status())
    const cancelling = new AbortController()
    const signal = AbortSignal.any([callerSignal, cancelling.signal])
    const prompt = await decisionPrompt(prompts, served, asked, signal)
    for (const question of asked.questions) checkTextLength(engine, prompt, question)
    const readings = asked.questions.flatMap((question, index) =>
      ordersOf(question, asked.orders).map((order) => ({
        question: index,
        order,
        text: questionText(question, order),
      })),
    )
    const texts = readings.map(({ text }) => text)
    const tokensOf = await createTokens(engine, prompt, texts, signal)
    const scores = asked.questions.map((): Scored[] => [])

    async function score(reading: Reading, asking: readonly number[]): Promise<void> {
      const question = asked.questions[reading.question] as DecisionQuestion
      const room = labelRoom + (asked.thinking === undefined ? 0 : asked.thinking + labelRoom)
      if (asking.length + room > (served?.context ?? 0)) {
        throw tooLong(served?.context ?? 0, String(asking.length), question, room)
      }
      const tokens = prompt.thought ? await thoughtAfter(asking, prompt.thought) : asking
      const { tree, cut } = await pathsOf(prompt.end, labelsOf(question))
      const start = tokens.slice(0, tokens.length - cut)
      const next = readNext(asked, start, ({ cached }, path) => {
        // Further readings of the same prompt count only with what they compute.
        if (path.length === 0 && tokens === asking) read({ prompt: asking.length, cached })
        else read({ prompt: Math.max(0, start.length + path.length - cached), cached: 0 })
      })
      const { logprobs, isLikeliest } = await scoreLabels(tree, question.options.length, next)
      const { probabilities, mass } = sharesOf(logprobs)
      const ofOptions = new Array<number>(probabilities.length)
      for (const [line, option] of reading.order.entries()) ofOptions[option] = probabilities[line] as number
      scores[reading.question]?.push({ probabilities: ofOptions, mass, isLikeliest })
    }

    /** The prompt with what the model thinks behind it, closed where it is not done within its tokens. */
    async function thoughtAfter(
      asking: readonly number[],
      { mark, close }: NonNullable<DecisionPrompt['thought']>,
    ): Promise<number[]> {
      const run = await engine.generate(thinkingOf(asked, [...asking], mark), signal)
      let thought = ''
      let written = 0
      for await (const events of run.events) {
        for (const event of events) {
          if (event.kind === 'prefilled') read({ prompt: asking.length, cached: event.cachedTokens })
          if (event.kind !== 'tokens') continue
          thought += event.text
          written += event.tokens.length
        }
      }
      read({ prompt: 0, cached: 0, written })
      const thoughtTokens = await engine.tokenize(thought.trimEnd(), { special: false, add: false }, signal)
      return [
        ...asking,
        ...thoughtTokens,
        ...(await engine.tokenize(close, { special: true, add: false }, signal)),
      ]
    }

    function readNext(
      of: DecisionAsked,
      start: readonly number[],
      count: (tokens: Pick<DecisionTokens, 'cached'>, path: readonly number[]) => void,
    ): ReadNext {
      return async (path, named) => {
        const run = await engine.generate(generationOf(of, [...start, ...path], named), signal)
        const logprobs = new Map<number, number>()
        let likeliest = -1
        for await (const events of run.events) {
          for (const event of events) {
            if (event.kind === 'prefilled') count({ cached: event.cachedTokens }, path)
            const [drawn] = (event.kind === 'tokens' && event.logprobs) || []
            if (drawn === undefined) continue
            likeliest = drawn.token
            for (const { token, logprob } of drawn.top) logprobs.set(token, logprob)
          }
        }
        return { logprobs, likeliest }
      }
    }

    try {
      let tokens = await tokensOf(texts[0] ?? '')
      for (const [index, reading] of readings.entries()) {
        const next = texts[index + 1]
        const scored = score(reading, tokens)
        // While this one is computed, the next is tokenized.
        const [following] = await Promise.all([next === undefined ? [] : tokensOf(next), scored])
        tokens = following
      }
    } catch (error) {
      cancelling.abort(error)
      throw error
    }
    return scores.map(averageOf)
  }
}

export const greedySampling = { ...plainSampling, temperature: 0 }

/** The likeliest token is drawn to see its log-probability; it is no output. */
function generationOf(asked: DecisionAsked, tokens: number[], named: readonly number[]): Generation {
  const { tenant, promptGroup, salt, priority, lane, adapter } = asked
  return {
    prompt: { tokens },
    choices: 1,
    sampling: greedySampling,
    ending: { maxTokens: 1, minTokens: 0, stop: [], stopTokens: [], ignoreEos: true, includeStop: false },
    logprobs: 0,
    logprobTokens: named,
    text: { skipSpecial: true, spaceSpecial: true },
    tenant,
    priority,
    ...(promptGroup !== undefined && { promptGroup }),
    ...(salt !== undefined && { salt }),
    ...(lane && { lane }),
    ...(adapter !== undefined && { adapter }),
  }
}

/** What a thought is may depend on luck; what is decided must not. */
const thinkingOf = (asked: DecisionAsked, tokens: number[], mark: string): Generation => ({
  ...generationOf(asked, tokens, []),
  ending: {
    ...{ maxTokens: asked.thinking ?? 0, minTokens: 0, stop: [mark], stopTokens: [] },
    ...{ ignoreEos: false, includeStop: false },
  },
  text: { skipSpecial: false, spaceSpecial: true },
})

/** Each token stands for a limited number of bytes: a text far beyond the context is refused before it is read. */
function checkTextLength(engine: Backend, { head, tail }: DecisionPrompt, question: DecisionQuestion): void {
  const context = engine.model()?.context ?? 0
  const [plain = []] = ordersOf(question, 1)
  const length = head.length + questionText(question, plain).length + tail.length
  const fewest = Math.ceil(length / (engine.maxTokenSize?.() ?? length))
  if (fewest + labelRoom <= context) return
  throw tooLong(context, `at least ${fewest}`, question)
}

const tooLong = (limit: number, prompt: string, { field }: DecisionQuestion, room = labelRoom) =>
  refuse('context_length_exceeded', { limit, prompt, answer: room, field })

/**
 * The tokens of the prompt of a question. Where it can be proved for the first, the head is tokenized once and the rest
 * by itself; the question begins a line.
 */
async function createTokens(
  engine: Backend,
  { head, tail, mark, isPlain, hidden }: DecisionPrompt,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<(text: string) => Promise<number[]>> {
  const tokenize = (text: string, add = false) => engine.tokenize(text, { special: true, add, mark }, signal)
  const whole = (text: string) => tokenize(head + hidden(text) + tail, isPlain)
  const [example] = texts
  if (example === undefined || texts.length === 1) return whole
  const line = '\n'
  const restOf = (text: string) => tokenize(line + hidden(text) + tail)
  const [all, start, own, end] = await Promise.all([
    whole(example),
    tokenize(head, isPlain),
    tokenize(line),
    restOf(example),
  ])
  const joined = [...start, ...end.slice(own.length)]
  const isSame = joined.length === all.length && joined.every((token, index) => token === all[index])
  if (!isSame) return whole
  return async (text) => (text === example ? all : [...start, ...(await restOf(text)).slice(own.length)])
}
