import { type Completion, withoutAnswers } from '../completions/completion.ts'
import { answerOptions } from '../generation/answer-options.ts'
import type { Delta } from '../generation/deltas.ts'
import { type GenerationContext, generate } from '../generation/generation.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { requestOf } from '../generation/request.ts'
import { createTally } from '../generation/usage.ts'
import { type InfillBody, ignoredInfillFields } from './contract.ts'

/** What fills a gap, running or queued. */
export type Infilling = Completion & {
  fields: InfillBody['response_fields']
  /** By `performance.now()`. */
  arrived: number
}

export async function beginInfill(
  services: GenerationParts,
  body: InfillBody,
  asking: GenerationContext,
): Promise<Infilling> {
  const found = services.models.find(body.model, asking.caller)
  const { n_predict, input_prefix, input_suffix, input_extra, prompt } = body
  const onlyPrompt = n_predict === 0
  const maxTokens = n_predict == null || n_predict === -1 ? undefined : n_predict
  const suffix = {
    text: input_suffix ?? '',
    field: 'input_suffix',
    isCut: true,
    opening: prompt ?? '',
    files: (input_extra ?? []).map(({ filename, text }) => ({ name: filename ?? 'file', text })),
  }
  const request = requestOf(samplingOf(body), {
    inputs: [{ text: input_prefix ?? '', addSpecial: true, suffix }],
    constraint: undefined,
    tenant: asking.caller.name,
    maxTokens: onlyPrompt ? 1 : maxTokens,
    logprobs: undefined,
    promptLogprobs: undefined,
  })
  const clipped = { ...request, ending: { ...request.ending, isClipped: true } }
  const names = { prompt: 'input_prefix', maxTokens: 'n_predict' }
  const unused = Object.keys(ignoredInfillFields) as (keyof typeof ignoredInfillFields)[]
  const ignored = unused.filter((name) => body[name] !== undefined)
  asking.refuseIgnored?.(ignored)
  const generation = await generate(services, found, clipped, asking, names)
  const id = `cmpl-${asking.id}`
  return {
    ...generation,
    ignored: [...generation.ignored, ...ignored],
    id,
    head: { id, object: 'text_completion', ...generation.head },
    openings: [{ echo: '', firstToken: '' }],
    logprobs: undefined,
    candidatesField: 'logprobs',
    echoLogprobs: false,
    shown: { ...answerOptions({}), promptLogprobs: false },
    deltas: onlyPrompt ? withoutAnswers(generation.deltas) : generation.deltas,
    fields: body.response_fields,
    arrived: asking.arrived,
  }
}

/** Under the names of completions, with the defaults of llama-server. */
export function samplingOf(body: InfillBody) {
  const { temperature, top_k, top_p, min_p, repeat_penalty, presence_penalty, frequency_penalty } = body
  return {
    temperature: temperature ?? 0.8,
    top_k: top_k ?? 40,
    // The smallest share that is not none.
    top_p: (top_p ?? 0.95) || Number.MIN_VALUE,
    min_p: min_p ?? 0.05,
    repetition_penalty: repeat_penalty,
    ...{ presence_penalty, frequency_penalty },
    stop: body.stop,
    ignore_eos: body.ignore_eos ?? false,
    ...(body.seed != null && { seed: BigInt(body.seed) }),
  }
}

/** The chunks of a stream; the last one says how it ended. */
export async function* chunksOf(infilling: Infilling): AsyncGenerator<object> {
  const { arrived, fields, head } = infilling
  const tally = createTally(infilling)
  let readAt = arrived
  let cached = 0
  let hasNewLine = false
  let finished: { reason: string; stop: string | number | null } | null = null
  for await (const group of infilling.deltas) {
    let content = ''
    for (const delta of group) {
      tally.add(delta)
      if (delta.kind === 'prompt') {
        readAt = performance.now()
        cached = delta.cachedTokens
        continue
      }
      content += textOf(delta)
      finished = delta.finished ?? finished
    }
    hasNewLine ||= content.includes('\n')
    if (content !== '') yield chosen({ index: 0, content, stop: false }, fields)
  }
  const { prompt_tokens: read, completion_tokens: written } = tally.total()
  const [reading, writing] = [readAt - arrived, performance.now() - readAt]
  const isWord = finished?.reason === 'stop' && typeof finished.stop === 'string'
  yield chosen(
    {
      index: 0,
      content: '',
      stop: true,
      model: head.model,
      stop_type: isWord ? 'word' : finished?.reason === 'stop' ? 'eos' : 'limit',
      stopping_word: isWord ? String(finished?.stop) : '',
      tokens_predicted: written,
      tokens_evaluated: read,
      tokens_cached: cached,
      truncated: false,
      has_new_line: hasNewLine,
      timings: {
        prompt_n: read - cached,
        prompt_ms: reading,
        prompt_per_second: perSecond(read - cached, reading),
        predicted_n: written,
        predicted_ms: writing,
        predicted_per_second: perSecond(written, writing),
      },
    },
    fields,
  )
}

/** The whole answer is its last chunk with the whole text. */
export async function wholeOf(infilling: Infilling): Promise<object> {
  let content = ''
  let last: object = {}
  for await (const chunk of chunksOf({ ...infilling, fields: undefined })) {
    content += (chunk as { content: string }).content
    last = chunk
  }
  return chosen({ ...last, content }, infilling.fields)
}

const textOf = ({ turnParts }: Extract<Delta, { kind: 'choice' }>): string =>
  turnParts.map((piece) => ('text' in piece ? piece.text : '')).join('')

const perSecond = (tokens: number, ms: number) => (ms > 0 ? (tokens * 1_000) / ms : 0)

/** Members are named by their path, as llama-server does; those that the answer does not have are left out. */
function chosen(whole: object, fields: InfillBody['response_fields']): object {
  if (!fields?.length) return whole
  const found = fields.flatMap((path): [string, unknown][] => {
    const value = path
      .split('/')
      .reduce<unknown>(
        (within, step) =>
          typeof within === 'object' && within !== null && Object.hasOwn(within, step)
            ? (within as Record<string, unknown>)[step]
            : undefined,
        whole,
      )
    return value === undefined ? [] : [[path, value]]
  })
  return Object.fromEntries(found)
}
