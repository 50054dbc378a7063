import type { GivenTool } from '../../../packages/chat-format/index.ts'
import { refuse, wrong } from '../../domain/refusals.ts'
import type { CallChoice, CallsAsked } from '../../inference/model.ts'
import type { GenerationSettings } from './parts.ts'

/** The tool fields of a request, whatever the API calls them. */
export interface CallFields {
  tools: readonly GivenTool[] | null | undefined
  /** Absent means `auto` if there are tools. */
  choice: 'none' | CallChoice | AllowedTools | undefined
  isParallel: boolean
}

/**
 * Restricts calls to some of the tools. The model is still shown all of them, so that the computed prompt can be
 * reused.
 */
export interface AllowedTools {
  allowed: readonly string[]
  mode: 'auto' | 'required'
}

/** Names of the fields in the request, for refusals. */
interface CallFieldNames {
  tools: string
  choice: string
  /** Relative to a tool. */
  name?: string
  parameters?: string
}

/** Names are written into formats verbatim, so quotes, brackets and spaces are not allowed. */
const nameForm = /^[\w.:/@-]+$/

/** The calls that an answer may or must make; undefined when it makes none. */
export function callsAsked(
  { tools, choice, isParallel }: CallFields,
  names: CallFieldNames,
  { toolChoice }: GenerationSettings,
): CallsAsked | undefined {
  if (toolChoice === 'none') {
    if (choice !== undefined && choice !== 'none') {
      throw refuse('tool_choice_off', { field: names.choice, received: shown(choice) })
    }
    return undefined
  }
  if (choice === 'none') return undefined
  if (!tools?.length) {
    if (choice === undefined) return undefined
    throw wrong(names.choice, `${shown(choice)} without ${names.tools}`, `${names.tools} with it`)
  }
  checkNames(tools, names)
  const { parameters = 'function.parameters' } = names
  const placed = tools.map((tool, at) => ({
    ...tool,
    field: `${names.tools}.${tool.index ?? at}.${parameters}`,
  }))
  const asked = { isParallel, field: names.tools }
  if (choice === undefined || typeof choice === 'string')
    return { ...asked, tools: placed, choice: choice ?? 'auto' }
  const known = (name: string) => {
    if (tools.some((tool) => tool.function.name === name)) return
    const offered = tools.map((tool) => JSON.stringify(tool.function.name)).slice(0, 20)
    throw wrong(
      names.choice,
      `the tool ${JSON.stringify(name)}`,
      `one of ${names.tools}: ${offered.join(', ')}`,
    )
  }
  if ('name' in choice) {
    known(choice.name)
    return { ...asked, tools: placed.filter((tool) => tool.function.name === choice.name), choice }
  }
  if (choice.allowed.length === 0) throw wrong(names.choice, 'no allowed tools', 'at least one')
  for (const name of choice.allowed) known(name)
  return {
    ...asked,
    tools: placed.filter((tool) => choice.allowed.includes(tool.function.name)),
    choice: choice.mode,
  }
}

function checkNames(
  tools: readonly GivenTool[],
  { tools: field, name: member = 'function.name' }: CallFieldNames,
): void {
  const known = new Set<string>()
  for (const [at, tool] of tools.entries()) {
    const { name } = tool.function
    const path = `${field}.${tool.index ?? at}.${member}`
    if (!nameForm.test(name)) {
      throw wrong(path, JSON.stringify(name), 'letters, digits and any of _ - . : / @')
    }
    if (known.has(name))
      throw wrong(path, `${JSON.stringify(name)} a second time`, 'a different name for each tool')
    known.add(name)
  }
}

function shown(choice: NonNullable<CallFields['choice']>): string {
  if (typeof choice === 'string') return JSON.stringify(choice)
  return 'name' in choice ? `the tool ${JSON.stringify(choice.name)}` : 'allowed_tools'
}
