import { useMemo, useState } from 'preact/hooks'
import {
  type Conversation,
  type Message,
  type Part,
  paired,
  type ToolResult,
} from '../../packages/conversations/index.ts'
import { IncrementalList } from './incremental-list.tsx'
import { jsonNode } from './json-index.ts'
import { JsonTree } from './json-tree.tsx'
import { Markdown } from './markdown.tsx'
import { PlainText } from './plain-text.tsx'
import { countText } from './units.ts'

/** Messages shown at each end of a long conversation; the middle is closed at first. */
const shownAtEnds = 20

/** A conversation, from its first message to the answer. */
export function Chat(conversation: Conversation) {
  const { asked: from, answered: to } = conversation
  const { asked, answered } = useMemo(() => paired({ asked: from, answered: to }), [from, to])
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
      {answered.map((message, index) => (
        <Said key={index} message={message} isAnswer={true} />
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

function Said({ message, isAnswer = false }: { message: Message; isAnswer?: boolean }) {
  const { role, name, choice, ending, parts } = message
  return (
    <li class={`said ${isAnswer ? 'is-answer' : ''}`} data-role={role}>
      <div class="said-by">
        {role}
        {name !== undefined && <span class="muted"> {name}</span>}
        {choice !== undefined && <span class="muted"> answer {choice}</span>}
        {ending !== undefined && <span class="muted"> ended by {ending}</span>}
      </div>
      <div class="said-what">
        {parts.length === 0 && <span class="muted">nothing</span>}
        {parts.map((part, index) => (
          <ShownPart key={index} part={part} />
        ))}
      </div>
    </li>
  )
}

function ShownPart({ part }: { part: Part }) {
  switch (part.kind) {
    case 'text':
      return <Markdown text={part.text} />
    case 'thought':
    case 'context':
      return (
        <details class="thought">
          <summary>{part.kind === 'thought' ? 'Thought' : 'Context'}</summary>
          {part.text === '' ? <span class="muted">nothing</span> : <Markdown text={part.text} />}
        </details>
      )
    case 'call':
      return (
        <div class="tool">
          <div class="tool-name">
            <span class="tool-kind">calls</span> {part.name}
            {part.result === undefined && <span class="muted"> {part.id}</span>}
          </div>
          <Arguments input={part.input} />
          {part.result && <Result result={part.result} />}
        </div>
      )
    case 'result':
      return (
        <div class="tool">
          <Result result={part} />
        </div>
      )
    case 'image':
      return part.source.startsWith('data:image/') && !part.source.startsWith('data:image/svg') ? (
        <img class="picture" src={part.source} alt="sent with the message" />
      ) : (
        <Linked source={part.source} text={`picture: ${part.source.slice(0, 200)}`} />
      )
    case 'file':
      return <Linked source={part.source ?? ''} text={`file: ${part.name.slice(0, 200)}`} />
    case 'document':
      return (
        <div class="tool">
          <div class="tool-name">
            <span class="tool-kind">document</span> {part.id} <span class="muted">{part.score}</span>
          </div>
          <PlainText text={part.text} />
        </div>
      )
    case 'data':
      return <Json json={part.json} />
    case 'other':
      return (
        <div>
          <span class="muted">not recognised, as recorded:</span>
          <Json json={part.json} />
        </div>
      )
  }
}

function Result({ result: { id, isError, content } }: { result: ToolResult }) {
  return (
    <>
      <div class="tool-name">
        <span class="tool-kind">{isError ? 'error' : 'result'}</span> <span class="muted">{id}</span>
      </div>
      {content.map((part, index) => (
        <ShownPart key={index} part={part} />
      ))}
    </>
  )
}

/** A picture of another server is not loaded: that server would learn who reads the record. */
function Linked({ source, text }: { source: string; text: string }) {
  if (!/^https?:/i.test(source)) return <span class="dead-link">{text}</span>
  return (
    <a href={source} target="_blank" rel="noopener noreferrer">
      {text}
    </a>
  )
}

function Json({ json }: { json: string }) {
  return <JsonTree node={useMemo(() => jsonNode(json), [json])} />
}

/** Arguments are JSON in a text, unless the answer was cut off. */
function Arguments({ input }: { input: string }) {
  if (input === '') return null
  try {
    JSON.parse(input)
  } catch {
    return <PlainText text={input} />
  }
  return <Json json={input} />
}
