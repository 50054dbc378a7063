import type { Backend, Ending, Generation, InfillTokens, ServedModel } from '../../packages/engine/index.ts'
import { refuse } from '../domain/refusals.ts'
import type { TextAfterGap, TextInput } from './model.ts'

/** Of what the context leaves, the most that the text after a gap takes when both are cut. */
const suffixShare = 0.25

/** The tokens with which this model fills gaps. */
export function infillTokensOf({ infill, names }: ServedModel, field = 'suffix'): InfillTokens {
  if (infill !== undefined) return infill
  throw lacksInfill(JSON.stringify(names[0]), field)
}

export const lacksInfill = (model: string, field = 'suffix') =>
  refuse('model_lacks', {
    field,
    model,
    why: `does not support insert, which \`${field}\` asks for: it has no tokens for it`,
    accepted: `a model with tokens for a prefix, a suffix and a middle, or no \`${field}\``,
  })

/** The prompt of a gap. No name of a control token is read in the texts around it. */
export async function promptOfGap(
  engine: Backend,
  served: ServedModel,
  { text, addSpecial, suffix }: TextInput & { suffix: TextAfterGap },
  maxTokens: number,
  signal: AbortSignal,
): Promise<Extract<Generation['prompt'], { tokens: number[] }>> {
  const infill = infillTokensOf(served, suffix.field)
  const read = (side: string, add = false) => engine.tokenize(side, { special: false, add }, signal)
  const [around, before, after, opening] = await Promise.all([
    read('', true),
    read(text),
    read(suffix.text),
    suffix.opening ? read(suffix.opening) : [],
  ])
  const begin = addSpecial ? around.slice(0, 1) : []
  const { context } = served
  const forAnswer = Math.max(context / 8, Math.min(maxTokens, context / 2))
  const room = Math.floor(context - forAnswer) - begin.length - opening.length - 3
  if (suffix.isCut && before.length + after.length > room) {
    const share = Math.min(after.length, Math.max(Math.floor(room * suffixShare), room - before.length))
    after.length = Math.max(0, share)
    before.splice(0, before.length + after.length - Math.max(0, room))
  }
  const files = suffix.files?.length
    ? await filesOf(infill, suffix.files, room - before.length - after.length, read)
    : []
  return {
    tokens: [
      ...[...begin, ...files, infill.prefix, ...before],
      ...[infill.suffix, ...after, infill.middle, ...opening],
    ],
  }
}

/**
 * Other files in the form that models with tokens for them have learnt (https://arxiv.org/abs/2409.12186), otherwise as
 * plain text. Of more than fits, the end.
 */
async function filesOf(
  { file, project }: InfillTokens,
  files: NonNullable<TextAfterGap['files']>,
  room: number,
  read: (text: string) => Promise<number[]>,
): Promise<number[]> {
  const isMarked = file !== undefined && project !== undefined
  const head = isMarked ? [project, ...(await read('project\n'))] : []
  const end = isMarked ? [file, ...(await read('current\n'))] : []
  let left = room - head.length - end.length
  const fitting: number[][] = []
  for (const { name, text } of files.toReversed()) {
    if (left <= 0) break
    const tokens = await read(isMarked ? `${name}\n${text}\n` : `${text}\n`)
    const whole = isMarked ? [file, ...tokens] : tokens
    fitting.unshift(whole.slice(-left))
    left -= whole.length
  }
  return fitting.length > 0 ? [...head, ...fitting.flat(), ...end] : []
}

/** What fills a gap ends where the model goes on with another file. */
export function endingOfGap(ending: Ending, { ends }: InfillTokens): Ending {
  if (ending.ignoreEos) return ending
  return { ...ending, stopTokens: [...new Set([...ending.stopTokens, ...ends])] }
}
