import type { GivenTool } from '../../../packages/chat-format/index.ts'
import { wrong } from '../../domain/refusals.ts'
import type { CallsAsked } from '../../inference/model.ts'
import { type CallFields, callsAsked } from '../generation/calls.ts'
import type { GenerationSettings } from '../generation/parts.ts'
import type { CountTokensBody } from './contract.ts'

interface GivenTools {
  tools: GivenTool[]
  /** Tools that this server cannot offer to a model: they have no schema, or run at Anthropic. */
  skipped: string[]
}

export function toolsOf({ tools }: Pick<CountTokensBody, 'tools'>): GivenTools {
  const result: GivenTools = { tools: [], skipped: [] }
  for (const [index, tool] of (tools ?? []).entries()) {
    const { type, name, description, input_schema, strict, cache_control } = tool
    if (type != null && type !== 'custom') {
      result.skipped.push(name ?? type)
      continue
    }
    const path = `tools.${index}`
    if (name == null) throw wrong(`${path}.name`, 'nothing', 'the name of the tool')
    if (input_schema == null) throw wrong(`${path}.input_schema`, 'nothing', 'a JSON Schema')
    result.tools.push({
      index,
      ...(cache_control != null && { cache_control }),
      function: { name, description, parameters: input_schema, strict },
    })
  }
  return result
}

/** The calls that the answer may or must make. */
export function callsOf(
  { tool_choice: choice }: Pick<CountTokensBody, 'tool_choice'>,
  { tools, skipped }: GivenTools,
  settings: GenerationSettings,
): CallsAsked | undefined {
  if (choice != null && choice.type !== 'none' && tools.length === 0) {
    // A request whose tools were all skipped still gets an answer.
    if (choice.type === 'auto' && skipped.length > 0) return undefined
    throw wrong(
      'tool_choice.type',
      `"${choice.type}" without a tool`,
      '"none", or tools of type "custom" with it',
    )
  }
  return callsAsked(
    { tools, choice: choiceOf(choice), isParallel: !choice?.disable_parallel_tool_use },
    { tools: 'tools', choice: 'tool_choice', name: 'name', parameters: 'input_schema' },
    settings,
  )
}

function choiceOf(choice: CountTokensBody['tool_choice']): CallFields['choice'] {
  if (choice == null) return undefined
  switch (choice.type) {
    case 'any':
      return 'required'
    case 'tool':
      if (choice.name == null) throw wrong('tool_choice.name', 'nothing', 'the name of a tool')
      return { name: choice.name }
    default:
      return choice.type
  }
}
