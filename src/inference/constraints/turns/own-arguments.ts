import type { AnswerFormat } from '../../answer-format.ts'
import { type CallFormat, hermes } from '../../tools/call-format.ts'
import { muse } from '../../tools/muse.ts'

/** How arguments are written in a format of its own: those of gpt-oss are JSON, as those of Hermes are. */
export function argumentsOf(format: AnswerFormat['calls']): CallFormat {
  if (!('own' in format)) return format
  return format.own === 'muse' ? muse : hermes
}
