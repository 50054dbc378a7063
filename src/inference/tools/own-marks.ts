import type { OwnFormat } from '../answer-format.ts'

/** The marks that each of the own formats is made of. */
export const ownMarks: Readonly<Record<Exclude<OwnFormat, 'gigachat'>, readonly string[]>> = {
  harmony: ['<|start|>', '<|channel|>', '<|constrain|>', '<|message|>', '<|end|>', '<|call|>', '<|return|>'],
  muse: ['<|start|>', '<|message|>', '<|eom|>', '<|eot|>'],
}
