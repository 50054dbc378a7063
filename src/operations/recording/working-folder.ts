import type { CodingAgent } from './answer.ts'
import type { Conversing } from './continued-turn.ts'

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
