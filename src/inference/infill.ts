import type { Backend, Ending, Generation, InfillTokens, ServedModel } from '../../packages/engine/index.ts'
import { refuse } from '../domain/refusals.ts'
import type { TextInput } from './model.ts'

/** Of what the context leaves, the most that the text after a gap takes when both are cut. */
const suffixShare = 0.25

/** The tokens with which this model fills gaps. */
export function infillTokensOf({ infill, names }: ServedModel): InfillTokens {
  if (infill !== undefined) return infill
  throw lacksInfill(JSON.stringify(names[0]))
}

export const lacksInfill = (model: string) =>
  refuse('model_lacks', {
    field: 'suffix',
    model,
    why: 'does not support insert, which `suffix` asks for: it has no tokens for it',
    accepted: 'a model with tokens for a prefix, a suffix and a middle, or no `suffix`',
  })

/** The prompt of a gap. No name of a control token is read in the texts around it. */
export async function promptOfGap(
  engine: Backend,
  served: ServedModel,
  { text, addSpecial, suffix }: TextInput & { suffix: NonNullable<TextInput['suffix']> },
  maxTokens: number,
  signal: AbortSignal,
): Promise<Extract<Generation['prompt'], { tokens: number[] }>> {
  const infill = infillTokensOf(served)
  const read = (side: string, add = false) => engine.tokenize(side, { special: false, add }, signal)
  const [around, before, after] = await Promise.all([read('', true), read(text), read(suffix.text)])
  const begin = addSpecial ? around.slice(0, 1) : []
  const { context } = served
  const forAnswer = Math.max(context / 8, Math.min(maxTokens, context / 2))
  const room = Math.floor(context - forAnswer) - begin.length - 3
  if (suffix.isCut && before.length + after.length > room) {
    const share = Math.min(after.length, Math.max(Math.floor(room * suffixShare), room - before.length))
    after.length = share
    before.splice(0, before.length + share - room)
  }
  return { tokens: [...begin, infill.prefix, ...before, infill.suffix, ...after, infill.middle] }
}

/** What fills a gap ends where the model goes on with another file. */
export function endingOfGap(ending: Ending, { ends }: InfillTokens): Ending {
  if (ending.ignoreEos) return ending
  return { ...ending, stopTokens: [...new Set([...ending.stopTokens, ...ends])] }
}
