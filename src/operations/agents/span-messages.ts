import {
  type Conversation,
  type Message,
  type ToolResult,
  textOfMessage,
} from '../../../packages/conversations/index.ts'

/** Messages as Weave's agents show them: text as it is, anything else as its JSON. */
export const messagesOf = (messages: readonly Message[]) =>
  messages.map(({ role, blocks, ending }) => ({
    role,
    content: blocks.every(({ kind }) => kind === 'text')
      ? textOfMessage({ role, blocks })
      : JSON.stringify(blocks),
    finish_reason: ending ?? null,
  }))

interface ToolRun {
  id?: string | undefined
  name: string
  input: string
  output: string | null
}

/** The run of a tool, where the call is one. */
export function toolRunOf({ asked, answered }: Conversation): ToolRun | undefined {
  const [message, ...others] = asked
  const [block] = message?.blocks ?? []
  if (others.length > 0 || message?.role !== 'assistant' || block?.kind !== 'call') return undefined
  if (message.blocks.length !== 1) return undefined
  const result = answered[0]?.blocks.find(({ kind }) => kind === 'result') as ToolResult | undefined
  const { id, name, input } = block
  return { id, name, input, output: result === undefined ? null : textOfResult(result) }
}

export const textOfResult = ({ content }: ToolResult): string =>
  content
    .map((block) => (block.kind === 'data' ? block.json : textOfMessage({ role: 'tool', blocks: [block] })))
    .join('\n\n')

/** The words or the thoughts of a message. */
export function wordsOf(messages: readonly Message[], kind: 'text' | 'thought'): string {
  const texts = messages.flatMap(({ blocks }) =>
    blocks.flatMap((block) => (block.kind === kind && 'text' in block ? [block.text] : [])),
  )
  return texts.join('\n\n')
}
