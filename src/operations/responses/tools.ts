import type { GivenTool } from '../../../packages/chat-format/index.ts'
import type { JsonText } from '../../domain/json/text.ts'
import { wrong } from '../../domain/refusals.ts'
import type { CallChoice } from '../../inference/model.ts'
import type { AllowedTools } from '../generation/calls.ts'
import type { InputTokensBody } from './contract.ts'

interface ToolsGiven {
  tools: GivenTool<JsonText>[]
  /** The types of the skipped tools, each once. */
  skipped: string[]
}

/**
 * Clients offer tools that only OpenAI runs, whatever server they talk to. They are skipped, and the answer reports
 * them.
 */
export function toolsGiven({ tools }: Pick<InputTokensBody, 'tools'>): ToolsGiven {
  const offered: GivenTool<JsonText>[] = []
  const skipped = new Set<string>()
  for (const [index, { type, name, description, parameters, strict }] of (tools ?? []).entries()) {
    if (type !== 'function') {
      skipped.add(type)
      continue
    }
    if (name == null) throw wrong(`tools.${index}.name`, 'nothing', 'the name of the function')
    offered.push({ index, function: { name, description, parameters, strict } })
  }
  return { tools: offered, skipped: [...skipped] }
}

/** Skipped tools cannot be called, so they are removed from the allowed ones. */
export function choiceGiven({
  tool_choice: choice,
}: Pick<InputTokensBody, 'tool_choice'>): 'none' | CallChoice | AllowedTools | undefined {
  if (choice == null || typeof choice === 'string') return choice ?? undefined
  if (choice.type === 'function') return { name: choice.name }
  const functions = choice.tools.filter(({ type }) => type === 'function')
  return { mode: choice.mode, allowed: functions.flatMap(({ name }) => name ?? []) }
}
