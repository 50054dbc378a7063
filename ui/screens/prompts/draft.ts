import { type JsonNode, membersOf, nodeAt, sourceOf, stringOf } from '../../value/json-index.ts'
import {
  isJson,
  numberIn,
  type Settings,
  settingsIn,
  settingsText,
  textsIn,
  textsShown,
} from '../play/settings.ts'
import { messagesOf, newTurn, requestIn, type Turn } from '../play/turns.ts'

export const variableTypes = ['string', 'number', 'integer', 'boolean', 'json'] as const

export interface Variable {
  name: string
  type: string
  /** The value without which a request is refused, as it is typed: a text without quotes. */
  fallback: string
  /** The values that it may have, one per line; empty for any. */
  among: string
  /** Its other members, as JSON. */
  rest: Settings
}

/** A version of a prompt, as it is edited. */
export interface PromptDraft {
  /** The whole of a prompt that is one text; undefined for one of messages. */
  text: string | undefined
  /** A placeholder has the role `placeholder`, and its name as text. */
  turns: readonly Turn[]
  variables: readonly Variable[]
  settings: Settings
  /** Members that the editor does not change, as JSON. */
  others: Settings
}

export const placeholder = 'placeholder'

const marksOf = (name: string): Settings =>
  new Map([
    ['_type', `"${name}"`],
    ['_class_name', `"${name}"`],
    ['_bases', '["Prompt","Object","BaseModel"]'],
  ])

export const newDraft = (isText: boolean): PromptDraft => ({
  text: isText ? '' : undefined,
  turns: isText ? [] : [newTurn('system')],
  ...{ variables: [], settings: new Map() },
  others: marksOf(isText ? 'StringPrompt' : 'MessagesPrompt'),
})

/** Another object has neither. */
export const isPrompt = (val: JsonNode): boolean =>
  nodeAt(val, 'messages')?.kind === 'array' || nodeAt(val, 'content')?.kind === 'string'

export function draftOf(val: JsonNode): PromptDraft {
  const turns = requestIn(val)?.turns.map((turn) =>
    turn.rest.type === `"${placeholder}"` && turn.rest.name
      ? newTurn(placeholder, JSON.parse(turn.rest.name) as string)
      : turn,
  )
  const others = new Map(membersOf(val).map(({ name, node }) => [name, sourceOf(node)]))
  for (const name of [turns ? 'messages' : 'content', 'settings', 'variables']) others.delete(name)
  const [declared, settings] = [nodeAt(val, 'variables'), nodeAt(val, 'settings')]
  return {
    text: turns ? undefined : (stringOf(nodeAt(val, 'content')) ?? ''),
    turns: turns ?? [],
    variables: declared === undefined ? [] : membersOf(declared).map(variableOf),
    settings: settings === undefined ? new Map() : settingsIn(sourceOf(settings)),
    others,
  }
}

function variableOf({ name, node }: { name: string; node: JsonNode }): Variable {
  const rest = new Map(settingsIn(sourceOf(node)))
  const fallback = nodeAt(node, 'default')
  const values = rest.get('enum')
  const among = values === undefined ? '' : textsShown(values)
  for (const known of ['type', 'default', 'enum']) rest.delete(known)
  return {
    ...{ name, among, rest, type: stringOf(nodeAt(node, 'type')) ?? 'string' },
    fallback: fallback === undefined ? '' : (stringOf(fallback) ?? sourceOf(fallback)),
  }
}

/** A text in pieces, as the server reads it: each `{name}` is a piece of its own. */
export function piecesOf(text: string): string[] {
  const isFormat = !/[{}]/.test(text.replace(/\{\{|\}\}|\{\w+\}/g, ''))
  return text.split(isFormat ? /(\{\{|\}\}|\{\w+\})/ : /(\{\w+\})/)
}

export const isVariable = (piece: string): boolean => /^\{\w+\}$/.test(piece)

/** Those that it declares, then those that its texts use; the latter are texts. */
export function variablesOf({ text, turns, variables }: PromptDraft): Variable[] {
  const texts = [text ?? '', ...turns.flatMap((turn) => (turn.role === placeholder ? [] : turn.text))]
  const used = texts.flatMap(piecesOf).filter(isVariable)
  const names = new Set(used.map((piece) => piece.slice(1, -1)))
  for (const { name } of variables) names.delete(name)
  const plain = { type: 'string', fallback: '', among: '', rest: new Map() }
  return [...variables, ...[...names].map((name) => ({ name, ...plain }))]
}

/** The prompt as JSON. What the server would refuse when it is asked is refused here. */
export function promptJson({ text, turns, variables, settings, others }: PromptDraft): string {
  const all = new Map(others)
  if (text === undefined) all.set('messages', `[${turns.map(messageJson).join(',')}]`)
  else all.set('content', JSON.stringify(text))
  if (settings.size > 0) all.set('settings', settingsText(settings))
  if (variables.length > 0)
    all.set('variables', settingsText(new Map(variables.map((one) => [one.name, variableJson(one)]))))
  return settingsText(all)
}

function messageJson(turn: Turn, index: number): string {
  if (turn.role !== placeholder) return messagesOf([turn]).slice(1, -1)
  const name = turn.text.trim()
  if (name === '') throw wrong(`messages.${index}.name`, '""', 'the name of a placeholder')
  return JSON.stringify({ type: placeholder, name })
}

function variableJson({ name, type, fallback, among, rest }: Variable): string {
  const value = type === 'string' ? JSON.stringify(fallback) : fallback.trim()
  const isFine =
    type === 'number' || type === 'integer'
      ? numberIn(value) !== undefined && (type === 'number' || Number.isInteger(Number(value)))
      : type === 'boolean'
        ? /^(true|false)$/.test(value)
        : isJson(value)
  if (fallback !== '' && !isFine) throw wrong(`variables.${name}.default`, fallback, accepted[type] ?? type)
  const all = new Map([['type', JSON.stringify(type)], ...rest])
  if (fallback !== '') all.set('default', value)
  if (among.trim() !== '') all.set('enum', textsIn(among))
  return settingsText(all)
}

const accepted: Record<string, string> = {
  ...{ number: 'a number', integer: 'a whole number', boolean: 'true or false', json: 'a JSON value' },
}

const wrong = (field: string, value: string, what: string) =>
  new Error(`${field}: ${value}; accepted: ${what}.`)
