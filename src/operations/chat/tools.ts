import { wrong } from '../../domain/refusals.ts'
import type { CompileQuestion } from '../../inference/constraints/constraint.ts'
import type { CallsAsked } from '../../inference/model.ts'
import { type CallFields, callsAsked } from '../generation/calls.ts'
import type { CallForm } from '../generation/chat-answer.ts'
import type { GenerationSettings } from '../generation/parts.ts'
import type { ChatBody } from './contract.ts'

/** The tools of a request, in either form. */
export function toolsOf({ tools, functions }: ChatBody): ChatBody['tools'] {
  return functions?.map((definition) => ({ type: 'function', function: definition })) ?? tools
}

export function callsOf(body: ChatBody, settings: GenerationSettings): CallsAsked | undefined {
  const { functions, function_call, tools, tool_choice, parallel_tool_calls } = body
  if (functions == null && function_call == null) {
    return callsAsked(
      { tools, choice: choiceOf(tool_choice), isParallel: parallel_tool_calls ?? true },
      { tools: 'tools', choice: 'tool_choice' },
      settings,
    )
  }
  if (tools != null || tool_choice != null) {
    const field = functions == null ? 'function_call' : 'functions'
    throw wrong(
      field,
      `together with ${tools == null ? 'tool_choice' : 'tools'}`,
      'only one of the two forms',
    )
  }
  return callsAsked(
    { tools: toolsOf(body), choice: function_call ?? undefined, isParallel: false },
    { tools: 'functions', choice: 'function_call', name: 'name', parameters: 'parameters' },
    settings,
  )
}

/** Refuses what cannot be combined with calls. */
export function checkCalls(
  { use_beam_search, thinking_token_budget }: ChatBody,
  calls: CallsAsked | undefined,
  constraint: CompileQuestion | undefined,
): void {
  if (use_beam_search && thinking_token_budget != null) {
    throw wrong('thinking_token_budget', 'given with use_beam_search', 'only one of the two')
  }
  if (calls === undefined || calls.choice === 'auto') return
  const value = typeof calls.choice === 'string' ? JSON.stringify(calls.choice) : 'a tool by its name'
  if (use_beam_search) throw wrong('tool_choice', `${value} with use_beam_search`, '"auto" or "none" with it')
  if (typeof calls.choice === 'object' && constraint !== undefined) {
    throw wrong(constraint.field, 'a constraint together with a named tool', 'only one of the two')
  }
}

export function callFormOf({ functions }: ChatBody): CallForm {
  return functions == null ? 'tools' : 'functions'
}

function choiceOf(choice: ChatBody['tool_choice']): CallFields['choice'] {
  if (choice == null) return undefined
  if (choice === 'any') return 'required'
  if (typeof choice === 'string') return choice
  if (choice.type === 'function') return { name: choice.function.name }
  const { mode, tools } = choice.allowed_tools
  return { mode, allowed: tools.map(({ function: { name } }) => name) }
}
