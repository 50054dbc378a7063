import { useEffect, useMemo, useState } from 'preact/hooks'
import {
  type Block,
  type Conversation,
  type Message,
  paired,
  type ToolResult,
} from '../../packages/conversations/index.ts'
import { route } from '../router.ts'
import { useLoading } from '../server/loading.ts'
import { addressOfPicture } from '../server/pictures.ts'
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
  const { role, name, choice, ending, blocks } = message
  return (
    <li class={`said ${isAnswer ? 'is-answer' : ''}`} data-role={role}>
      <div class="said-by">
        {role}
        {name !== undefined && <span class="muted"> {name}</span>}
        {choice !== undefined && <span class="muted"> answer {choice}</span>}
        {ending !== undefined && <span class="muted"> ended by {ending}</span>}
      </div>
      <div class="said-what">
        {blocks.length === 0 && <span class="muted">nothing</span>}
        {blocks.map((block, index) => (
          <ShownBlock key={index} block={block} />
        ))}
      </div>
    </li>
  )
}

function ShownBlock({ block }: { block: Block }) {
  switch (block.kind) {
    case 'text':
      return <Markdown text={block.text} />
    case 'thought':
    case 'context':
      return (
        <details class="thought">
          <summary>{block.kind === 'thought' ? 'Thought' : 'Context'}</summary>
          {block.text === '' ? <span class="muted">nothing</span> : <Markdown text={block.text} />}
        </details>
      )
    case 'call':
      return (
        <div class="tool">
          <div class="tool-name">
            <span class="tool-kind">calls</span> {block.name}
            {block.result === undefined && <span class="muted"> {block.id}</span>}
          </div>
          <Arguments input={block.input} />
          {block.result && <Result result={block.result} />}
        </div>
      )
    case 'result':
      return (
        <div class="tool">
          <Result result={block} />
        </div>
      )
    case 'stored':
      return <StoredPicture file={block.file} />
    case 'image':
      return block.source.startsWith('data:image/') && !block.source.startsWith('data:image/svg') ? (
        <Picture source={block.source} />
      ) : (
        <Linked source={block.source} text={`picture: ${block.source.slice(0, 200)}`} />
      )
    case 'file':
      return <Linked source={block.source ?? ''} text={`file: ${block.name.slice(0, 200)}`} />
    case 'document':
      return (
        <div class="tool">
          <div class="tool-name">
            <span class="tool-kind">document</span> {block.id} <span class="muted">{block.score}</span>
          </div>
          <PlainText text={block.text} />
        </div>
      )
    case 'data':
      return <Json json={block.json} />
    case 'other':
      return (
        <div>
          <span class="muted">not recognised, as recorded:</span>
          <Json json={block.json} />
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
      {content.map((block, index) => (
        <ShownBlock key={index} block={block} />
      ))}
    </>
  )
}

const Picture = ({ source }: { source: string | undefined }) => (
  <img class="picture" src={source} alt="sent with the message" />
)

/** A file of the project that the page shows. */
function StoredPicture({ file }: { file: string }) {
  const { project = '' } = route.value as { project?: string }
  const { value, error } = useLoading((signal) => addressOfPicture(project, file, signal), [project, file])
  useEffect(() => () => value?.startsWith('blob:') && URL.revokeObjectURL(value), [value])
  return error ? <span class="dead-link">picture: {error.message}</span> : <Picture source={value} />
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
