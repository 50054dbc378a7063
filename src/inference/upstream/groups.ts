import type { Pooled, PoolingAsked } from '../../../packages/engine/index.ts'
import { Refusal, refuse, refuseWithMessage, wrong } from '../../domain/refusals.ts'

/**
 * Texts per request for vectors. A reply is parsed in one step that blocks everything else: 128 vectors of 4,096
 * numbers take 2 to 5 ms, and 2,048 of them a tenth of a second.
 */
const groupSize = 128

/** Groups of one request that are sent in parallel; the others wait until these return. */
const groupsAtOnce = 4

/** For all vectors of an answer, as for those that are made here: 2,048 of 4,096. */
const maxNumbers = 8 * 1024 * 1024

export interface GroupResult {
  values: Float32Array[]
  tokens: number
}

type AskGroup = (group: PoolingAsked, signal: AbortSignal) => Promise<GroupResult>

/**
 * Requests the vectors of many inputs in groups. `each` is called for the inputs of a group when it arrives; the first
 * failure ends all.
 */
export async function askInGroups(
  asked: PoolingAsked,
  ask: AskGroup,
  each: (pooled: Pooled) => void,
  signal: AbortSignal,
): Promise<void> {
  const { inputs } = asked
  const failed = new AbortController()
  const ending = inputs.length > groupSize ? AbortSignal.any([signal, failed.signal]) : signal
  let next = 0
  let length: number | undefined

  function checkLength(size: number): void {
    length ??= size
    if (length !== size) throw refuse('upstream_failed', { why: 'its vectors differ in length' })
    if (length * inputs.length <= maxNumbers) return
    throw wrong(
      asked.field,
      `${length * inputs.length} numbers of vectors`,
      `at most ${maxNumbers} in one answer: send fewer at once`,
    )
  }

  async function askInTurn(): Promise<void> {
    while (next < inputs.length) {
      const from = next
      next += groupSize
      const group = { ...asked, inputs: inputs.slice(from, from + groupSize) }
      const made = await ask(group, ending).catch((error: unknown) => {
        throw from === 0 ? error : atPlace(error, asked.field, from)
      })
      checkLength(made.values[0]?.length ?? 0)
      for (const [index, values] of made.values.entries())
        each({ input: from + index, values, tokens: index === 0 ? made.tokens : 0 })
    }
  }

  const count = Math.min(groupsAtOnce, Math.ceil(inputs.length / groupSize))
  const turns = Array.from({ length: count }, askInTurn)
  try {
    await Promise.all(turns)
  } catch (error) {
    failed.abort(error)
    await Promise.allSettled(turns)
    throw error
  }
}

/** Replaces the index of a refused input, which is relative to its group, by its index among all inputs. */
function atPlace(error: unknown, field: string, from: number): unknown {
  if (!(error instanceof Refusal) || error.field === null) return error
  const indexed = new RegExp(`\\b${field}\\.(\\d+)`, 'g')
  const moved = (text: string) =>
    text.replace(indexed, (_, index: string) => `${field}.${Number(index) + from}`)
  const named = moved(error.field)
  return named === error.field ? error : refuseWithMessage(error.code, moved(error.message), named)
}
