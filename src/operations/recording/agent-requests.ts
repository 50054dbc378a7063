import type { IncomingHttpHeaders } from 'node:http'

export interface CodingAgent {
  name: string
  version?: string
  /** Where it works. */
  folder?: string
}

/** What a request says of the turn of its conversation that it belongs to: one prompt of a person starts a turn. */
export interface ContinuedTurn {
  /** The turn as the client names it. Without a name, the latest one of the conversation is meant. */
  name?: string
  /** Which of the agent's own helpers asks. */
  subagent?: string
}

interface Said {
  type?: string | null | undefined
  role?: string | null | undefined
  content?: unknown
}

/** The members of a body that have the conversation: of chats and messages, and of responses. */
export interface Conversing {
  system?: unknown
  messages?: unknown
  input?: unknown
}

/** Headers of Claude Code and Codex in requests of agents below the one that the user talks to. */
const subagentHeaders = [
  'x-claude-code-agent-type',
  'x-claude-code-agent-id',
  'x-claude-code-auxiliary-type',
  'x-openai-subagent',
] as const

const turnNames = { claudeCode: 'x-claude-code-prompt-id', codex: 'x-codex-turn-metadata' } as const

export const turnHeaders: readonly string[] = [...subagentHeaders, ...Object.values(turnNames)]

/** Undefined if the request begins a turn. A turn that is named may have had no request yet. */
export function continuedTurn(headers: IncomingHttpHeaders, body: Conversing): ContinuedTurn | undefined {
  const subagent = subagentHeaders.map((name) => nameIn(headers[name])).find((name) => name !== undefined)
  const name = nameIn(headers[turnNames.claudeCode]) ?? turnNamed(headers[turnNames.codex])
  if (subagent === undefined && name === undefined && !endsWithResults(body)) return undefined
  return { ...(name !== undefined && { name }), ...(subagent !== undefined && { subagent }) }
}

const printable = /^[^\p{Cc}\p{Cs}]{1,128}$/u

/** What nobody addressed to this server is not refused. */
const nameIn = (text: unknown): string | undefined =>
  typeof text === 'string' && printable.test(text) ? text : undefined

function turnNamed(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string' || !header.startsWith('{')) return undefined
  try {
    return nameIn((JSON.parse(header) as { turn_id?: unknown }).turn_id)
  } catch {
    return undefined
  }
}

function endsWithResults({ messages, input }: Conversing): boolean {
  const list: unknown = messages ?? input
  if (!Array.isArray(list)) return false
  const last = (list as Said[]).findLast(({ role }) => role !== 'system' && role !== 'developer')
  return last !== undefined && isResult(last)
}

function isResult({ type, role, content }: Said): boolean {
  if (role === 'tool' || role === 'function') return true
  if (role == null) return type?.endsWith('_output') === true
  if (role !== 'user') return false
  const blocks: { type?: unknown; text?: unknown }[] = Array.isArray(content)
    ? content
    : [{ type: 'text', text: content }]
  const texts = blocks.filter(({ type }) => type === 'text')
  const hasResults = blocks.some(({ type }) => type === 'tool_result')
  // Claude Code has its own words to the model beside results, and alone when an agent in the background has ended.
  return (hasResults || texts.length === blocks.length) && texts.every(({ text }) => isReminder(text))
}

const isReminder = (text: unknown) =>
  typeof text === 'string' && text.trimStart().startsWith('<system-reminder>')

/** As Claude Code and Codex tell it to their models: in the instructions, or in one of the first messages. */
const forms = /(?:\bworking directory: |<cwd>)([^\n<]{1,512})/i

/** Messages and blocks that are looked at. */
const maxLooked = 8

/** With the folder where the agent works, if it says so. */
export function withFolder(agent: CodingAgent, { system, messages, input }: Conversing): CodingAgent {
  for (const text of [...textsIn(system), ...listOf(messages ?? input).flatMap(contentOf)]) {
    const folder = forms.exec(text)?.[1]?.trim()
    if (folder) return { ...agent, folder }
  }
  return agent
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value.slice(0, maxLooked) : [])

const contentOf = (message: unknown): string[] =>
  typeof message === 'object' && message !== null && 'content' in message ? textsIn(message.content) : []

function textsIn(content: unknown): string[] {
  if (typeof content === 'string') return [content]
  return listOf(content).flatMap((block) =>
    typeof block === 'object' && block !== null && 'text' in block && typeof block.text === 'string'
      ? [block.text]
      : [],
  )
}
