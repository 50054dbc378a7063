import { itemsOf, membersOf } from '../../../packages/json/index.ts'
import { JsonText } from '../../domain/json/text.ts'
import { opened } from './attribute-values.ts'
import { objectOf, type Span, type SpanEvent, type Value } from './span.ts'

/** The input or the output of a span. */
export interface Payload {
  name: string
  value: Value
  /** The attributes of the span that it was made of. */
  taken: readonly string[]
}

interface EventMessages {
  input?: Payload
  output?: Payload
}

const choice = 'gen_ai.choice'
export const messageEvent = /^gen_ai\.((system|user|assistant|tool)\.message|choice)$/

/** One event for each message: as events of the span, or as a list in an attribute of Pydantic AI and Logfire. */
export function eventMessages({ attributes, events }: Span): EventMessages {
  const list = attributes.get('events')
  const items = list === undefined ? undefined : opened(list)
  if (items instanceof JsonText && items.text.startsWith('[')) {
    const named = itemsOf(items.text).map((text) => ({ name: eventName(text), value: new JsonText(text) }))
    if (named.some(({ name }) => messageEvent.test(name))) return split(named, ['events'])
  }
  const told = events.flatMap((event) =>
    messageEvent.test(event.name) ? [{ name: event.name, value: eventValue(event) }] : [],
  )
  const isTool = attributes.get('gen_ai.operation.name') === 'execute_tool'
  const run = isTool ? toolRun(events) : {}
  if (run.input !== undefined || run.output !== undefined) return run
  if (told.length > 0) return split(told, [])
  const tool = events.find(({ name }) => name === 'tool.output')?.attributes
  if (tool === undefined || tool.size === 0) return {}
  // What Claude Code notes depends on the tool.
  const value = tool.get('output') ?? tool.get('content')
  return {
    output: { name: 'result', value: value === undefined ? objectOf(tool) : opened(value), taken: [] },
  }
}

/** Strands has a message for the arguments of a tool, and a choice for what it returned. */
function toolRun(events: readonly SpanEvent[]): EventMessages {
  const payloadOf = (event: string, attribute: string, name: string): Payload | undefined => {
    const value = events.find((other) => other.name === event)?.attributes.get(attribute)
    return value === undefined ? undefined : { name, value: opened(value), taken: [] }
  }
  const input = payloadOf('gen_ai.tool.message', 'content', 'arguments')
  const output = payloadOf(choice, 'message', 'result')
  return { ...(input && { input }), ...(output && { output }) }
}

function eventName(text: string): string {
  const name = text.startsWith('{') ? membersOf(text).get('event.name') : undefined
  return name === undefined ? '' : String(JSON.parse(name))
}

function split(messages: readonly { name: string; value: Value }[], taken: readonly string[]): EventMessages {
  const asked = messages.filter(({ name }) => name !== choice).map(({ value }) => value)
  const answered = messages.filter(({ name }) => name === choice).map(({ value }) => value)
  return {
    ...(asked.length > 0 && { input: { name: 'messages', value: asked, taken } }),
    ...(answered.length > 0 && { output: { name: 'messages', value: answered, taken } }),
  }
}

/** The attributes of an event are the members of the message, or one of them is the whole message as JSON. */
function eventValue({ name, attributes }: SpanEvent): Value {
  const message: { [name: string]: Value } = Object.create(null)
  message['event.name'] = name
  for (const [key, value] of attributes) {
    if (key === 'gen_ai.event.content') message.message = opened(value)
    else if (key !== 'gen_ai.system' && key !== 'event.name') message[key] = opened(value)
  }
  return message
}
