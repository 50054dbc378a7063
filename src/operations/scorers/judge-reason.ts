import { Refusal } from '../../domain/refusals.ts'
import { decisionSystem, divider } from '../../inference/decisions/wording.ts'
import type { GenerationContext } from '../generation/generation.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { type JudgeAnswer, writeAsJudge } from './judge.ts'
import type { DecidingJudge } from './judge-questions.ts'

interface DecidedQuestion {
  text: string
  /** As a text; undefined if the model refused to answer. */
  answer: string | undefined
}

interface Reason {
  /** Null if there is no room for it in the context of the model. */
  reason: string | null
  usage: JudgeAnswer['usage']
}

const nothing = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }

/**
 * Asks why the answers are what they are. They are decided by then, and nothing that is written here changes them. The
 * prompt begins as that of the decisions does, so that what the judge looks at is not read again.
 */
export async function reasonOf(
  services: GenerationParts,
  judge: DecidingJudge,
  { prompt, decided }: { prompt: string; decided: readonly DecidedQuestion[] },
  asking: GenerationContext,
): Promise<Reason> {
  const system = [decisionSystem, ...(judge.system ? [judge.system] : [])].join('\n\n')
  const questions = decided.map(({ text }) => text).join('\n')
  const answers = decided.map(({ answer }) => answer ?? 'no answer').join('\n')
  const messages = [
    { role: 'system' as const, content: system },
    { role: 'user' as const, content: `${prompt.trimEnd()}${divider}${questions}` },
    { role: 'assistant' as const, content: answers },
    { role: 'user' as const, content: 'Now give the reason in one or two sentences, not a label.' },
  ]
  try {
    const { text, usage } = await writeAsJudge(services, judge, { messages }, asking)
    return { reason: text.trim(), usage }
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'context_length_exceeded') throw error
    return { reason: null, usage: nothing }
  }
}
