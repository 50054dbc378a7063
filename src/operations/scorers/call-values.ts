import { conversationOf, type Transcript, transcriptOf } from '../../../packages/conversations/index.ts'
import { isPresent, valueAt } from '../../domain/expressions/json-value.ts'
import { invalidPathReason, splitPath } from '../../domain/expressions/path.ts'
import { JsonText } from '../../domain/json/text.ts'
import type { Fields } from './contract.ts'

/** The members of a call that are JSON, and those that are text. */
const documents = ['inputs', 'output', 'attributes', 'summary']
/** What was said, whichever convention recorded it: `conversation` is the whole. */
const transcripts: ReadonlyMap<string, keyof Transcript> = new Map([
  ['conversation', 'whole'],
  ['conversation.question', 'question'],
  ['conversation.answer', 'answer'],
])
const texts = ['id', 'op_name', 'display_name', 'trace_id', 'thread_id', 'exception', 'svc_user_id']

const accepted = `${documents.map((name) => `${name}.…`).join(', ')}, ${[...texts, ...transcripts.keys()].join(', ')}`

/** Why a path cannot be a field of a call; undefined if it can. */
export function invalidFieldReason(path: string): { why: string; accepted: string } | undefined {
  const flaw = invalidPathReason(path)
  if (flaw !== undefined) return flaw
  const [root = '', ...rest] = splitPath(path)
  if (transcripts.has(path)) return undefined
  if (documents.includes(root) || (texts.includes(root) && rest.length === 0)) return undefined
  return { why: 'is not a field of a call', accepted }
}

/** The values of a call at the fields of a scorer; undefined if there is none, or null. */
export interface CallValues {
  /** The names of the scorer, with the fields that they lead to. */
  fields: Fields
  /** JSON as it is stored. */
  json(field: string): string | undefined
  /** A string without its quotes, anything else as JSON. */
  text(field: string): string | undefined
}

/** `record` is a call in the form of the API. */
export function callValues(record: Readonly<Record<string, unknown>>, fields: Fields): CallValues {
  let known: { transcript: Transcript | undefined } | undefined
  function transcript(): Transcript | undefined {
    known ??= { transcript: transcriptIn(record) }
    return known.transcript
  }
  function json(field: string): string | undefined {
    const path = Object.hasOwn(fields, field) ? (fields[field] as string) : field
    const wanted = transcripts.get(path)
    if (wanted !== undefined) {
      const text = transcript()?.[wanted]
      return text === undefined ? undefined : JSON.stringify(text)
    }
    const [root = '', ...rest] = splitPath(path)
    const member = record[root]
    if (member instanceof JsonText) {
      const value = valueAt(member.text, rest)
      return isPresent(value) ? value : undefined
    }
    return typeof member === 'string' && rest.length === 0 ? JSON.stringify(member) : undefined
  }
  return {
    fields,
    json,
    text(field) {
      const value = json(field)
      return value?.startsWith('"') ? (JSON.parse(value) as string) : value
    },
  }
}

/**
 * The values of a call whose output is the text of an answer. It is read where a chat completion has it, too, so that the
 * same scorer fits recorded chats and evaluations.
 */
export function answerValues(record: Readonly<Record<string, unknown>>, fields: Fields): CallValues {
  const content = record.output instanceof JsonText ? record.output.text : 'null'
  const message = `{"role":"assistant","content":${content}}`
  const completion = new JsonText(`{"choices":[{"index":0,"message":${message}}]}`)
  const asText = callValues(record, fields)
  const asChat = callValues({ ...record, output: completion }, fields)
  return {
    fields,
    json: (field) => asText.json(field) ?? asChat.json(field),
    text: (field) => asText.text(field) ?? asChat.text(field),
  }
}

function transcriptIn(record: Readonly<Record<string, unknown>>): Transcript | undefined {
  const jsonOf = (name: string) => {
    const value = record[name]
    return value instanceof JsonText ? value.text : undefined
  }
  const [inputs, output, attributes] = [jsonOf('inputs'), jsonOf('output'), jsonOf('attributes')]
  const name = typeof record.op_name === 'string' ? record.op_name : undefined
  const conversation = conversationOf({ inputs, output, attributes, name })
  return conversation && transcriptOf(conversation)
}
