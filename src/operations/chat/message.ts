import type { FinishReason } from '../../inference/backend.ts'
import type { FoldedTurn } from '../generation/fold.ts'
import type { ChatFinish } from './answer-contract.ts'
import type { ChatCompletion } from './completion.ts'
import type { CallForm } from './tools.ts'

/** The output of a choice as a message. Content is null if it is empty and there is a thought or a call. */
export function messageOf({ content, reasoning, calls }: FoldedTurn, form: CallForm) {
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
): ChatFinish {
  if (begun === 0 || ended < begun || reason !== 'stop') return reason
  if (callForm === 'functions') return isNamed ? 'stop' : 'function_call'
  return isNamed ? 'stop' : 'tool_calls'
}
