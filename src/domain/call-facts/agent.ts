import { membersOf } from '../../../packages/json/index.ts'
import { briefly, isObject } from './brief.ts'
import { kindAttributes, kindOfCall, kindWord, toolRunAttributes } from './kind.ts'

/** What the attributes of a call say about agents. */
export interface AgentFacts {
  /** The agent that the call names; it also has the calls below that name none. */
  agent: string | null
  agent_version: string | null
  /** By the names of OpenTelemetry's GenAI conventions, such as `invoke_agent`. */
  operation: string | null
  /** The model that is asked, where it is not in the inputs. */
  asked_model: string | null
}

type Path = readonly string[]

/** The first one present counts: OpenTelemetry, OpenInference, Pydantic AI, and what this server notes of who asks. */
const namePaths: readonly Path[] = [
  ['gen_ai', 'agent', 'name'],
  ['agent', 'name'],
  ['agent_name'],
  ['heddle', 'agent', 'name'],
]
const versionPaths: readonly Path[] = [
  ['gen_ai', 'agent', 'version'],
  ['agent', 'version'],
  ['agent_version'],
  ['heddle', 'agent', 'version'],
]
/** OpenTelemetry, OpenInference, Vercel AI SDK, Langfuse. */
const modelPaths: readonly Path[] = [
  ['gen_ai', 'request', 'model'],
  ['llm', 'model_name'],
  ['ai', 'model', 'id'],
  ['langfuse', 'observation', 'model', 'name'],
]
/** OpenLLMetry names agents, tools and workflows alike. */
const entityName: Path = ['traceloop', 'entity', 'name']
const operationName: Path = ['gen_ai', 'operation', 'name']

const conventions = { model: 'chat', tool: 'execute_tool', agent: 'invoke_agent', retrieval: 'retrieval' }

/** Coding agents write these names into their spans and records, and no agent. */
const codingAgents: readonly [op: RegExp, agent: string][] = [
  [/^claude_code\./, 'claude-code'],
  [/^codex\./, 'codex'],
]

const nothing: AgentFacts = { agent: null, agent_version: null, operation: null, asked_model: null }

/** `name` is the op of the call without its reference: where an agent has no name, it is that of the agent. */
export function agentFacts(name: string, attributes: string): AgentFacts {
  const coding = codingAgents.find(([op]) => op.test(name))?.[1] ?? null
  const members = attributes.length > 2 ? membersOf(attributes) : new Map<string, string>()
  const read = new Map<string, unknown>()
  const memberOf = (first: string) => {
    if (!read.has(first)) read.set(first, briefly(members.get(first) ?? 'null'))
    return read.get(first)
  }
  const textAt = ([first = '', ...rest]: Path): string | null => {
    let value = members.has(first) ? memberOf(first) : undefined
    for (const step of rest) value = isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined
    return typeof value === 'string' && value !== '' ? value : null
  }
  const firstOf = (paths: readonly Path[]) => paths.map(textAt).find((text) => text !== null) ?? null
  if (members.size === 0) return { ...nothing, agent: coding }
  // What Codex observes of a run below it has both, too, under another name.
  const isToolRun = toolRunAttributes.every((path) => textAt(path) !== null) && textAt(['tool_name']) === name
  const stated = firstOf(kindAttributes) ?? (isToolRun ? 'tool' : null)
  const kind = kindOfCall(stated, false)
  const isAgent = /^(?:invoke_)?agent$/.test(kindWord(stated ?? ''))
  const named = firstOf(namePaths) ?? coding ?? (isAgent ? (textAt(entityName) ?? (name || null)) : null)
  return {
    agent: named,
    agent_version: firstOf(versionPaths),
    operation: textAt(operationName) ?? (kind && conventions[kind]),
    asked_model: firstOf(modelPaths),
  }
}
