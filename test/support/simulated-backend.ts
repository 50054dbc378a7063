import assert from 'node:assert/strict'
import { controlTokensOf, createConstraints } from '../../packages/constraints/index.ts'
import {
  type Backend,
  type Generation,
  type GenerationEvent,
  loadInProcess,
  type ServedModel,
} from '../../packages/engine/index.ts'
import { withRefusals } from '../../src/inference/engine-refusals.ts'
import { scriptedLogits } from './scripted-logits.ts'
import { type SmallVocabulary, smallVocabulary } from './small-vocabulary.ts'

const { checkFirstToken, checkGeneration, constraintOf, createChoice, planAnswer } = await loadInProcess()

/**
 * What the model writes. Names of control tokens stand for these tokens, except in `letters`. The end token follows.
 * Where tokens are sure, the rest of the piece at that point is left out.
 */
export type ModelText = string | readonly (string | { letters: string })[]

export type ModelTexts = ModelText | ((request: Generation, choice: number) => ModelText)

export interface SimulatedBackend extends Backend {
  /** The requests to it, in order. */
  asked: Generation[]
  /** The text for later requests. */
  say: ModelTexts
  /** Where the text could not continue as written. The test fails if any are left. */
  failures: string[]
  served: ServedModel
}

export interface SimulatedBackendOptions {
  vocabulary?: SmallVocabulary
  template?: string
  context?: number
}

/** ChatML with tools, calls as Hermes writes them, and thoughts unless they are switched off. */
export const hermesTemplate = `{%- if tools %}<|im_start|>system
# Tools
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|im_end|>
{% endif %}{% for message in messages %}<|im_start|>{{ message.role }}
{% if message.role == 'tool' %}<tool_response>{{ message.content }}</tool_response>{% else %}{% if message.reasoning_content %}<think>
{{ message.reasoning_content }}
</think>

{% endif %}{{ message.content }}{% for call in message.tool_calls or [] %}{% if message.content or not loop.first %}
{% endif %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}{% endif %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% if enable_thinking is defined and not enable_thinking %}<think>

</think>

{% endif %}{% endif %}`

/**
 * A model that writes given texts: each token has all the weight at its position, and everything after the model is real:
 * the constraint, the draw, the text, the end. If the text is not allowed, the answer breaks off and the test fails. Each
 * group of events is the result of one batch.
 */
export function simulatedBackend(
  t: { after(check: () => void): void },
  say: ModelTexts,
  {
    vocabulary = smallVocabulary(),
    template = hermesTemplate,
    context = 100_000,
  }: SimulatedBackendOptions = {},
): SimulatedBackend {
  const constraints = createConstraints(vocabulary)
  const nameOf = (token: number | undefined) =>
    Buffer.from(token === undefined ? [] : vocabulary.bytes(token)).toString()
  const eos = vocabulary.eos as number
  const model = {
    vocabulary,
    tokenize: (text: string, options: { special: boolean }) => vocabulary.tokenize(text, options),
  }

  function performed(generation: Generation) {
    const {
      tokens: prompt,
      maxTokens,
      closing,
    } = checkGeneration(generation, model, { context, parallel: 8 })
    const constraint =
      generation.constraint && constraintOf(constraints, generation.constraint, generation.text.markers)
    const plan = planAnswer({ generation, prompt, maxTokens, vocabulary, constraint, closing })
    checkFirstToken(plan)
    const say = backend.say
    const choices = Array.from({ length: generation.choices }, (_, index) => ({
      index,
      choice: createChoice(plan, index),
      script: scriptOf(typeof say === 'function' ? say(generation, index) : say),
      isForced: false,
      isOver: false,
    }))
    return { prompt, choices, asksPrompt: generation.promptLogprobs !== undefined }
  }

  function scriptOf(said: ModelText): number[][] {
    const pieces = (typeof said === 'string' ? [said] : said).map((piece) =>
      typeof piece === 'string'
        ? vocabulary.tokenize(piece, { special: true })
        : vocabulary.tokenize(piece.letters, { special: false }),
    )
    return [...pieces.filter((piece) => piece.length > 0), [eos]]
  }

  async function* play({ choices, asksPrompt }: ReturnType<typeof performed>, signal: AbortSignal) {
    if (asksPrompt) throw new Error('a played model knows nothing of its prompt')
    yield [{ kind: 'prefilled', cachedTokens: 0 } satisfies GenerationEvent]
    for (;;) {
      const group: GenerationEvent[] = []
      for (const one of choices) {
        if (one.isOver) continue
        const { choice, script, index } = one
        const wanted = script[0]?.[0]
        const drawn = await choice.next(favouring(wanted)).catch((error: unknown) => {
          throw failed(choice.tokens, wanted, index, String(error))
        })
        if (drawn.isForced) one.isForced ||= script.shift() !== undefined
        else if (drawn.token !== wanted)
          throw failed(choice.tokens, wanted, index, `only ${JSON.stringify(nameOf(drawn.token))} can`)
        else {
          script[0]?.shift()
          if (script[0]?.length === 0) script.shift()
        }
        const { tokens, finished } = choice.accept(drawn)
        group.push(tokens, ...(finished ? [finished] : []))
        one.isOver = finished !== undefined
      }
      if (group.length === 0) return
      signal.throwIfAborted()
      yield group
      await new Promise((resolve) => setImmediate(resolve))
      signal.throwIfAborted()
    }
  }

  function favouring(wanted: number | undefined) {
    return scriptedLogits(
      Array.from({ length: vocabulary.size }, (_, token) => (token === wanted ? 0 : -1000)),
    )
  }

  function failed(before: readonly number[], wanted: number | undefined, index: number, why: string): Error {
    const text = before.map(nameOf).join('')
    const failure = `choice ${index} cannot go on with ${JSON.stringify(nameOf(wanted))} after ${JSON.stringify(text)}: ${why}`
    backend.failures.push(failure)
    return new Error(failure)
  }

  const backend: SimulatedBackend = {
    asked: [],
    say,
    failures: [],
    served: {
      names: ['played'],
      created: 1_767_000_000,
      source: 'builtin',
      context,
      parallel: 8,
      threads: 1,
      device: 'cpu',
      vocabulary: vocabulary.size,
      controlTokens: [...controlTokensOf(vocabulary).keys()],
      parameters: 1_000,
      bytes: 2_000,
      template,
      tokens: { bos: '', eos: nameOf(eos) },
    },
    status: () => ({ state: 'ready', running: 0, waiting: 0 }),
    model: () => backend.served,
    async tokenize(text, options, signal) {
      signal.throwIfAborted()
      return model.tokenize(text, options)
    },
    async detokenize(tokens, { special }, signal) {
      signal.throwIfAborted()
      const shown = tokens.filter((token) => special || !vocabulary.isSpecial(token))
      return Buffer.concat(shown.map((token) => vocabulary.bytes(token))).toString()
    },
    async generate(request, signal) {
      signal.throwIfAborted()
      // The engine receives its input from another process, so it must consist of plain values.
      const generation = structuredClone(request)
      backend.asked.push(generation)
      const performance = performed(generation)
      return { promptTokens: performance.prompt, events: play(performance, signal) }
    },
    async pool() {
      throw new Error('a played model writes')
    },
    async close() {},
  }
  t.after(() => assert.deepEqual(backend.failures, []))
  return Object.assign(backend, withRefusals({ ...backend }))
}
