import type { FinishReason } from '../../../packages/engine/index.ts'
import { JsonText } from '../../domain/json/text.ts'
import type { AnswerOptions } from './answer-options.ts'
import { createFold, type FoldedCall, type FoldedTurn } from './fold.ts'
import type { Generation } from './generation.ts'
import { limitCandidates, logprobShown, promptLogprobsWritten } from './logprobs.ts'
import type { PartialAnswer } from './recorded.ts'
import { metricsMember } from './request-metrics.ts'

/** How calls are shown: as `tool_calls`, or as the one `function_call` of OpenAI's first form. */
export type CallForm = 'tools' | 'functions'

/** A chat completion that is running or queued. */
export interface ChatCompletion extends Generation {
  id: string
  /** The role of the answer. */
  role: string
  /** The text that the answer begins with, because the request asked for an echo. */
  echo: string
  logprobs: boolean
  /** The field that says which candidates each token has. */
  candidatesField: string
  callForm: CallForm
  /** The request names the tool to call, for which OpenAI's finish reason is `stop`. */
  isNamed: boolean
  shown: AnswerOptions
}

/** The output of a choice as a message. Content is null if it is empty and there is a thought or a call. */
function messageOf({ content, reasoning, calls }: FoldedTurn, form: CallForm) {
  const isElse = reasoning !== '' || calls.length > 0
  return {
    content: content === '' && isElse ? null : content,
    refusal: null,
    // Some clients read one name, some the other.
    ...(reasoning !== '' && { reasoning, reasoning_content: reasoning }),
    ...(calls.length > 0 && callsShown(calls, form)),
  }
}

function callsShown(calls: FoldedTurn['calls'], form: CallForm) {
  const functions = calls.map(({ name, arguments: text }) => ({ name, arguments: text }))
  if (form === 'functions') return { function_call: functions[0] }
  return {
    tool_calls: calls.map(({ id }, index) => ({ id, type: 'function', function: functions[index] })),
  }
}

/**
 * A call that is cut off by the token limit or a stop text cannot be made, so the finish reason stays what ended the
 * answer.
 */
export function finishOf(
  reason: FinishReason,
  { begun, ended }: { begun: number; ended: number },
  { callForm, isNamed }: Pick<ChatCompletion, 'callForm' | 'isNamed'>,
): FinishReason | 'tool_calls' | 'function_call' {
  if (begun === 0 || ended < begun || reason !== 'stop') return reason
  if (callForm === 'functions') return isNamed ? 'stop' : 'function_call'
  return isNamed ? 'stop' : 'tool_calls'
}

/** The whole answer in the form of OpenAI, assembled as its deltas come. */
export function createChatAnswer(completion: ChatCompletion, isStream: boolean): PartialAnswer {
  const { id, head, role, echo, shown } = completion
  const candidateLimit = limitCandidates(completion.candidatesField, isStream)
  let promptLogprobs: JsonText | undefined
  const fold = createFold(completion, {
    candidateLimit,
    createLogprobs: () => logprobsWriter(shown.tokensAsIds),
    async onPrompt({ logprobs }) {
      if (logprobs) promptLogprobs = await promptLogprobsWritten(logprobs, shown.tokensAsIds)
    },
  })
  const hasLogprobs = () => completion.logprobs && !candidateLimit.isPassed
  return {
    add: fold.add,
    end() {
      const { choices, usage } = fold.end()
      return {
        id,
        object: 'chat.completion',
        ...head,
        choices: choices.map(({ tokens, logprobs, reason, stop, ...turn }, index) => ({
          index,
          message: { role, ...messageOf({ ...turn, content: echo + turn.content }, completion.callForm) },
          logprobs: hasLogprobs() ? { content: logprobs.text() } : null,
          finish_reason: reason && finishOf(reason, countOf(turn.calls), completion),
          stop_reason: stop,
          ...(shown.tokenIds && { token_ids: new JsonText(JSON.stringify(tokens)) }),
        })),
        usage,
        ...metricsMember(completion),
        ...(shown.tokenIds && { prompt_token_ids: new JsonText(JSON.stringify(completion.prompts[0])) }),
        ...(shown.promptText && { prompt_text: completion.promptTexts?.[0] }),
        ...(promptLogprobs && { prompt_logprobs: promptLogprobs }),
      }
    },
    leftOut: () => (candidateLimit.isPassed ? ['logprobs'] : []),
  }
}

const countOf = (calls: readonly FoldedCall[]) => ({
  begun: calls.length,
  ended: calls.filter(({ isComplete }) => isComplete).length,
})

function logprobsWriter(asIds: boolean) {
  const texts: string[] = []
  return {
    add(logprobs: Parameters<typeof logprobShown>[0][]) {
      for (const logprob of logprobs) texts.push(JSON.stringify(logprobShown(logprob, asIds)))
    },
    text: () => new JsonText(`[${texts.join(',')}]`),
  }
}
