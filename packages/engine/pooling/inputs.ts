import { createYieldToLoop } from '../../waiting/index.ts'
import { engineError } from '../errors.ts'
import { checkTokens } from '../loop/checks.ts'
import type { NativeModel } from '../native/native.ts'
import type { PoolingInput, PoolingRequest, Truncation } from './request.ts'

type Tokenizer = Pick<NativeModel, 'vocabulary' | 'tokenizeInTurns' | 'around' | 'ends' | 'pairTemplate'>

/** A piece of a template: tokens, or the text to be inserted there. */
type PairPart = number[] | 'query' | 'document'

/**
 * The tokens of inputs in the form that the model wants. Refuses inputs longer than the context, unless the request
 * allows truncating them.
 */
export function createInputs(model: Tokenizer, context: number) {
  let pairs: Promise<PairPart[]> | undefined

  const letters = (text: string) => model.tokenizeInTurns(text, { special: false, add: false })

  async function tokensOf(input: PoolingInput, fit: Fit): Promise<readonly number[]> {
    if ('tokens' in input) return fit(input.tokens, 0)
    if ('text' in input) {
      const { begin, end } = input.addSpecial ? model.around : { begin: [], end: [] }
      return [...begin, ...fit(await letters(input.text), begin.length + end.length), ...end]
    }
    pairs ??= pairParts(model)
    const template = await pairs
    const query = await letters(input.query)
    const others = template.map((entry) => (entry === 'query' ? query : entry === 'document' ? [] : entry))
    const document = fit(await letters(input.document), others.flat().length)
    return template.flatMap((entry, index) => (entry === 'document' ? document : (others[index] as number[])))
  }

  return async (
    { inputs, truncate, field, isList }: PoolingRequest,
    signal: AbortSignal,
  ): Promise<(readonly number[])[]> => {
    const yieldToLoop = createYieldToLoop(signal)
    const all: (readonly number[])[] = []
    for (const [index, input] of inputs.entries()) {
      const name = isList ? `${field}.${index}` : field
      if ('tokens' in input) checkTokens(name, input.tokens, model.vocabulary.size)
      // A document is cut at its end.
      const side = 'query' in input ? 'right' : truncate?.side
      const tokens = await tokensOf(
        input,
        fitting(context, name, truncate && { ...truncate, side: side ?? 'right' }),
      )
      if (tokens.length === 0) throw engineError('prompt_empty', { field: name })
      all.push(tokens)
      const pause = yieldToLoop()
      if (pause) await pause
    }
    return all
  }
}

/** As many of the tokens as fit next to `others` more. */
type Fit = (tokens: readonly number[], others: number) => readonly number[]

function fitting(context: number, field: string, truncate: Truncation | undefined): Fit {
  const most = truncate === undefined || truncate.tokens < 0 ? context : truncate.tokens
  return (tokens, others) => {
    const length = tokens.length + others
    if (length <= most) return tokens
    if (truncate === undefined || others >= context) {
      throw engineError('input_too_long', { field, limit: context, received: length })
    }
    const room = Math.max(0, most - others)
    return truncate.side === 'right' ? tokens.slice(0, room) : tokens.slice(tokens.length - room)
  }
}

/**
 * A query and a document in the form in which the model was trained: by its own template, or the usual form of
 * encoders.
 */
async function pairParts({ ends, pairTemplate, tokenizeInTurns }: Tokenizer): Promise<PairPart[]> {
  const { bos, eos, sep } = ends
  if (pairTemplate === undefined) {
    return [bos, 'query', [...eos, ...sep], 'document', eos.length > 0 ? eos : sep]
  }
  const pieces = pairTemplate.split(/\{?\{(query|document)\}\}?/)
  return Promise.all(
    pieces.map((piece, index) => {
      if (index % 2 === 1) return piece as 'query' | 'document'
      return tokenizeInTurns(piece, { special: true, add: false })
    }),
  )
}
