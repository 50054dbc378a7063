import { useMemo, useState } from 'preact/hooks'
import { IncrementalList } from './incremental-list.tsx'
import { type JsonNode, jsonNode } from './json-index.ts'
import { JsonTree } from './json-tree.tsx'
import { Markdown } from './markdown.tsx'
import type { Message, MessagePart } from './messages.ts'
import { PlainText } from './plain-text.tsx'
import { countText } from './units.ts'

/** Messages shown at each end of a long conversation; the middle is closed at first. */
const shownAtEnds = 20

/** A conversation, from its first message to the answer. */
export function Chat({ asked, said }: { asked: readonly Message[]; said: readonly Message[] }) {
  const hidden = Math.max(0, asked.length - 2 * shownAtEnds)
  const first = hidden === 0 ? asked : asked.slice(0, shownAtEnds)
  const last = hidden === 0 ? [] : asked.slice(-shownAtEnds)
  return (
    <ol class="chat">
      {first.map((message, index) => (
        <Said key={index} message={message} />
      ))}
      {hidden > 0 && <Middle messages={asked} from={shownAtEnds} count={hidden} />}
      {last.map((message, index) => (
        <Said key={index} message={message} />
      ))}
      {said.map((message, index) => (
        <Said key={index} message={message} isAnswer={true} of={said.length > 1 ? index + 1 : undefined} />
      ))}
    </ol>
  )
}

/** Drawn when it is opened. */
function Middle({ messages, from, count }: { messages: readonly Message[]; from: number; count: number }) {
  const [isOpen, setOpen] = useState(false)
  const middle = useMemo(() => messages.slice(from, from + count), [messages, from, count])
  return (
    <li class="chat-hidden">
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>{countText(count)} more messages</summary>
        {isOpen && (
          <ol class="chat">
            <IncrementalList
              items={middle}
              count={count}
              draw={(message, index) => <Said key={index} message={message} />}
            />
          </ol>
        )}
      </details>
    </li>
  )
}

interface SaidProps {
  message: Message
  isAnswer?: boolean
  /** Number of the answer where there are several. */
  of?: number | undefined
}

function Said({ message: { role, name, parts }, isAnswer = false, of }: SaidProps) {
  return (
    <li class={`said ${isAnswer ? 'is-answer' : ''}`} data-role={role}>
      <div class="said-by">
        {role}
        {name !== undefined && <span class="muted"> {name}</span>}
        {of !== undefined && <span class="muted"> answer {of}</span>}
      </div>
      <div class="said-what">
        {parts.length === 0 && <span class="muted">nothing</span>}
        {parts.map((part, index) => (
          <Part key={index} part={part} />
        ))}
      </div>
    </li>
  )
}

function Part({ part }: { part: MessagePart }) {
  switch (part.kind) {
    case 'text':
      return <Markdown text={part.text} />
    case 'thought':
      return (
        <details class="thought">
          <summary>Thought</summary>
          <Markdown text={part.text} />
        </details>
      )
    case 'call':
      return (
        <div class="tool">
          <div class="tool-name">
            <span class="tool-kind">calls</span> {part.name}
          </div>
          <Arguments input={part.input} />
        </div>
      )
    case 'result':
      return (
        <div class="tool">
          <div class="tool-name">
            <span class="tool-kind">result</span> <span class="muted">{part.id}</span>
          </div>
          {part.content.map((one, index) => (
            <Part key={index} part={one} />
          ))}
        </div>
      )
    case 'image':
      return part.source.startsWith('data:image/') && !part.source.startsWith('data:image/svg') ? (
        <img class="picture" src={part.source} alt="sent with the message" />
      ) : (
        <span class="dead-link">picture: {part.source.slice(0, 200)}</span>
      )
    case 'other':
      return <JsonTree node={part.node} />
  }
}

/** Arguments are JSON in a text, unless the answer was cut off. */
function Arguments({ input }: { input: JsonNode | string }) {
  if (typeof input !== 'string') return <JsonTree node={input} />
  if (input === '') return null
  try {
    JSON.parse(input)
  } catch {
    return <PlainText text={input} />
  }
  return <JsonTree node={jsonNode(input)} />
}
