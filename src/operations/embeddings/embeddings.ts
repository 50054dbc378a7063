import type { PoolingInput } from '../../../packages/engine/index.ts'
import { described } from '../../domain/described.ts'
import { wrong } from '../../domain/refusals.ts'
import { checkPriority, tokenIdsIn } from '../generation/checks.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { truncationOf } from '../pooling/fields.ts'
import { type PooledInputs, type PoolingContext, poolWith } from '../pooling/pooling.ts'
import type { VectorBudget } from '../pooling/vector-budget.ts'
import { acceptedInputs, type EmbeddingBody, maxInputs } from './contract.ts'

const maxTokens = 1024 * 1024

/** Numbers in all vectors of an answer: 2,048 vectors of 4,096. */
const maxValues = 8 * 1024 * 1024

export interface Embedded extends PooledInputs {
  format: 'float' | 'base64'
}

export async function embed(
  services: GenerationParts,
  held: VectorBudget,
  body: EmbeddingBody,
  asking: PoolingContext,
  /** What the client calls its inputs. */
  field = 'input',
): Promise<Embedded> {
  const { inputs, isList } = inputsOf(body, field)
  const truncate = truncationOf(body.truncate_prompt_tokens, body.truncation_side)
  const found = services.models.find(body.model, asking.caller, 'embeddings')
  checkPriority({ priority: body.priority ?? 0 }, services.settings)
  const { output_dimension, user } = body
  const dimensions = body.dimensions ?? output_dimension
  if (output_dimension != null && output_dimension !== dimensions)
    throw wrong('output_dimension', String(output_dimension), 'the value of dimensions, or only one of them')
  const values = inputs.length * (dimensions ?? found.served.dimensions ?? 0)
  if (values > maxValues) {
    throw wrong(
      field,
      `${values} numbers of vectors`,
      `at most ${maxValues} in one answer: send fewer inputs`,
    )
  }
  const give = held.take(asking.caller.name, values)
  try {
    const asked = {
      inputs,
      field,
      isList,
      priority: body.priority ?? 0,
      tenant: asking.caller.name,
      ...(truncate && { truncate }),
      ...(dimensions != null && { dimensions }),
      ...(user != null && { user }),
    }
    const made = await poolWith(services, found, 'embeddings', asked, asking)
    return { ...made, format: body.encoding_format ?? 'float' }
  } finally {
    give()
  }
}

/** The inputs, in the four forms that clients send. */
function inputsOf(
  { input, add_special_tokens }: EmbeddingBody,
  field: string,
): { inputs: PoolingInput[]; isList: boolean } {
  const { value } = input
  const textInput = (text: string): PoolingInput => ({ text, addSpecial: add_special_tokens ?? true })
  if (typeof value === 'string') return { inputs: [textInput(value)], isList: false }
  if (!Array.isArray(value)) throw wrong(field, described(value), acceptedInputs)
  if (value.length === 0) throw wrong(field, 'an empty list', acceptedInputs)
  if (typeof value[0] === 'number')
    return { inputs: [{ tokens: tokenIdsIn(value, field, maxTokens) }], isList: false }
  if (value.length > maxInputs) throw wrong(field, `${value.length} inputs`, `at most ${maxInputs}`)
  const areTexts = typeof value[0] === 'string'
  let tokens = 0
  const inputs = value.map((input: unknown, index): PoolingInput => {
    const path = `${field}.${index}`
    if (areTexts && typeof input === 'string') return textInput(input)
    if (areTexts || !Array.isArray(input)) {
      throw wrong(path, described(input), areTexts ? 'a string, like the first input' : 'a list of token ids')
    }
    tokens += input.length
    return { tokens: tokenIdsIn(input, path, maxTokens) }
  })
  if (tokens > maxTokens) throw wrong(field, `${tokens} tokens in all`, `at most ${maxTokens}`)
  return { inputs, isList: true }
}
