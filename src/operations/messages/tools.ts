import { refuse } from '../../domain/refusals.ts'
import type { GivenTool } from '../../inference/prompt/chat-prompt.ts'
import { wrong } from '../generation/checks.ts'
import type { CountTokensBody } from './contract.ts'

export interface GivenTools {
  tools: GivenTool[]
  /** Those that this server cannot offer to a model: they have no schema, or run at Anthropic. */
  skipped: string[]
}

export function toolsOf({ tools }: Pick<CountTokensBody, 'tools'>): GivenTools {
  const given: GivenTools = { tools: [], skipped: [] }
  for (const [index, { type, name, description, input_schema, strict }] of (tools ?? []).entries()) {
    if (type != null && type !== 'custom') {
      given.skipped.push(name ?? type)
      continue
    }
    const path = `tools.${index}`
    if (name == null) throw wrong(`${path}.name`, 'nothing', 'the name of the tool')
    if (input_schema == null) throw wrong(`${path}.input_schema`, 'nothing', 'a JSON Schema')
    given.tools.push({ function: { name, description, parameters: input_schema, strict } })
  }
  return given
}

/** Refused by name rather than ignored, because this version has no tool calls. */
export function refuseToolChoice({ tool_choice }: Pick<CountTokensBody, 'tool_choice'>): void {
  if (tool_choice == null || tool_choice.type === 'none' || tool_choice.type === 'auto') return
  const given = JSON.stringify(tool_choice.type)
  throw refuse('not_available', { field: 'tool_choice.type', given, accepted: '"auto" or "none"' })
}
