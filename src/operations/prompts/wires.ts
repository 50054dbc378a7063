import { membersOf, objectText } from '../../../packages/json/index.ts'
import { described } from '../../domain/described.ts'
import { JsonText } from '../../domain/json/text.ts'
import { wrong } from '../../domain/refusals.ts'
import { Value } from '../objects/values.ts'
import type { FilledPrompt } from './filling.ts'
import { itemsIn, joinedTexts, listText, messagesAround, messageText, systemFirst } from './messages.ts'

/** The members of a request, as JSON by their names. */
type Members = Map<string, string>

/** Fields with one meaning: where a request gives one of them, the others of its prompt do not count. */
const alternatives: readonly (readonly string[])[] = [
  ['max_tokens', 'max_completion_tokens', 'max_output_tokens'],
  ['tools', 'functions'],
  ['tool_choice', 'function_call'],
  ['response_format', 'structured_outputs', 'output_config', 'output_format', 'format'],
  ['stop', 'stop_sequences'],
]
/** A choice among tools is one of the request's own. */
const choices = ['tool_choice', 'function_call']

const isGiven = (own: Members, name: string) => (own.get(name) ?? 'null') !== 'null'

/** The settings that the request leaves to its prompt. */
function settingsLeft({ settings }: FilledPrompt, own: Members): Members {
  const hasTools = isGiven(own, 'tools') || isGiven(own, 'functions')
  const isReplaced = (name: string) =>
    (hasTools && choices.includes(name)) ||
    alternatives.some((names) => names.includes(name) && names.some((other) => isGiven(own, other)))
  return new Map([...settings].filter(([name]) => !isGiven(own, name) && !isReplaced(name)))
}

/** Moves a setting to the name and the form that it has in an API. */
function rename(
  settings: Members,
  name: string,
  to: string,
  formOf: (json: string) => string = (json) => json,
): void {
  const json = settings.get(name)
  if (json === undefined) return
  settings.delete(name)
  settings.set(to, formOf(json))
}

/** The request with what it leaves to its prompt. */
const withSettings = (settings: Members, own: Members): Members =>
  new Map([...settings, ...[...own].filter(([name]) => isGiven(own, name) || !settings.has(name))])

/** Puts a prompt into a request, in the form of an API. What the request gives itself wins. */
export type PromptWire = (prompt: FilledPrompt, own: Members) => Members

export const chatWire: PromptWire = (prompt, own) => {
  const all = withSettings(settingsLeft(prompt, own), own)
  const messages = own.get('messages')
  // Of a wrong type, which the contract refuses.
  if (isGiven(own, 'messages') && !messages?.startsWith('[')) return all
  const sent = itemsIn(messages)
  const { before, after } = messagesAround(prompt, sent.length > 0)
  return all.set('messages', listText([...before, ...sent, ...after]))
}

export const completionsWire: PromptWire = (prompt, own) => {
  if (prompt.text === undefined) {
    throw wrong('prompt', 'a prompt of messages', 'a StringPrompt, because a completion has no messages')
  }
  const settings = settingsLeft(prompt, own)
  rename(settings, 'max_completion_tokens', 'max_tokens')
  const sent = isGiven(own, 'prompt') ? new Value(own.get('prompt') as string).string : ''
  if (sent === undefined) throw wrong('prompt', 'no text', 'a text, which follows that of the prompt')
  return withSettings(settings, own).set('prompt', JSON.stringify(prompt.text + sent))
}

/** A tool of chat completions in the form of other APIs. */
function toolsAs(json: string, parameters: string, head: Members): string {
  const tools = itemsIn(json).map((tool) => {
    const definition = new Map(membersOf(membersOf(tool).get('function') ?? '{}'))
    rename(definition, 'parameters', parameters)
    return objectText([...head, ...definition])
  })
  return listText(tools)
}

const namedTool = (choice: string) => new Value(choice).member('function')?.member('name')?.text

/** The schema that the answer fits, with what belongs to it; undefined for other forms. */
function schemaOf(format: string): Members | undefined {
  const value = new Value(format)
  const schema = value.member('json_schema')?.text
  return value.member('type')?.string === 'json_schema' && schema?.startsWith('{')
    ? membersOf(schema)
    : undefined
}

export const responsesWire: PromptWire = (prompt, own) => {
  const settings = settingsLeft(prompt, own)
  rename(settings, 'max_tokens', 'max_output_tokens')
  rename(settings, 'max_completion_tokens', 'max_output_tokens')
  rename(settings, 'tools', 'tools', (json) => toolsAs(json, 'parameters', new Map([['type', '"function"']])))
  rename(settings, 'tool_choice', 'tool_choice', (json) => {
    const name = namedTool(json)
    return name === undefined
      ? json
      : objectText([
          ['type', '"function"'],
          ['name', name],
        ])
  })
  rename(settings, 'response_format', 'text', (json) => {
    const schema = schemaOf(json)
    const format = schema ? objectText([['type', '"json_schema"'], ...schema]) : json
    return objectText([['format', format], ...memberText(own, 'text')])
  })
  rename(settings, 'reasoning_effort', 'reasoning', (json) =>
    objectText([['effort', json], ...memberText(own, 'reasoning')]),
  )
  const all = withSettings(settings, own)
  for (const name of ['text', 'reasoning'])
    if (settings.has(name)) all.set(name, settings.get(name) as string)

  const input = new Value(own.get('input') ?? 'null')
  const sent = input.string === undefined ? itemsIn(input.text) : [messageText('user', input.string)]
  const { before, after } = messagesAround(prompt, sent.length > 0)
  const first = systemFirst(before)
  // A continued conversation has them already; `instructions` are not inherited.
  const isContinued = isGiven(own, 'previous_response_id')
  const items = isContinued ? sent : [...first.rest, ...sent, ...systemFirst(after).rest]
  const instructions = joinedTexts([...first.system, new Value(own.get('instructions') ?? 'null').string])
  if (instructions !== undefined) all.set('instructions', instructions)
  if (prompt.before.length + items.length > sent.length || !isGiven(own, 'input'))
    all.set('input', listText(items))
  return all
}

/** The members that the request gives in an object; they win over those of the prompt. */
function memberText(own: Members, name: string): Members {
  const json = own.get(name)
  return json?.startsWith('{') ? membersOf(json) : new Map()
}

export const messagesWire: PromptWire = (prompt, own) => {
  const settings = settingsLeft(prompt, own)
  rename(settings, 'max_completion_tokens', 'max_tokens')
  rename(settings, 'stop', 'stop_sequences', (json) => (json.startsWith('"') ? listText([json]) : json))
  rename(settings, 'tools', 'tools', (json) => toolsAs(json, 'input_schema', new Map()))
  rename(settings, 'tool_choice', 'tool_choice', (json) => {
    const name = namedTool(json)
    if (name !== undefined)
      return objectText([
        ['type', '"tool"'],
        ['name', name],
      ])
    return objectText([['type', json === '"required"' ? '"any"' : json]])
  })
  const schema = schemaOf(settings.get('response_format') ?? 'null')?.get('schema')
  if (schema !== undefined) {
    rename(settings, 'response_format', 'output_config', () =>
      objectText([
        [
          'format',
          objectText([
            ['type', '"json_schema"'],
            ['schema', schema],
          ]),
        ],
      ]),
    )
  }
  const all = withSettings(settings, own)
  const messages = itemsIn(own.get('messages'))
  const { before, after } = messagesAround(prompt, messages.length > 0)
  const { system, rest } = systemFirst(before)
  all.set('messages', listText([...rest, ...messages, ...systemFirst(after).rest]))
  if (system.length === 0) return all
  const sent = own.get('system') ?? 'null'
  const joined = joinedTexts([...system, new Value(sent).string]) as string
  // Blocks may carry marks of the client.
  if (!sent.startsWith('[')) return all.set('system', joined)
  const block = objectText([
    ['type', '"text"'],
    ['text', joined],
  ])
  return all.set('system', listText([block, ...itemsIn(sent)]))
}

const ollamaOptions: readonly (readonly [name: string, option: string])[] = [
  ['max_tokens', 'num_predict'],
  ['max_completion_tokens', 'num_predict'],
  ['repetition_penalty', 'repeat_penalty'],
  ...['temperature', 'top_p', 'top_k', 'min_p', 'seed', 'presence_penalty', 'frequency_penalty', 'stop'].map(
    (name) => [name, name] as const,
  ),
]

function ollamaSettings(prompt: FilledPrompt, own: Members): Members {
  const settings = settingsLeft(prompt, own)
  const options: Members = new Map()
  for (const [name, option] of ollamaOptions) {
    const json = settings.get(name)
    if (json === undefined) continue
    settings.delete(name)
    options.set(option, json)
  }
  rename(settings, 'response_format', 'format', (json) => schemaOf(json)?.get('schema') ?? '"json"')
  const sent = memberText(own, 'options')
  const all = withSettings(settings, own)
  return options.size === 0 ? all : all.set('options', objectText(withSettings(options, sent)))
}

/** A request without messages only loads the model. */
export const ollamaChatWire: PromptWire = (prompt, own) => {
  const messages = itemsIn(own.get('messages'))
  if (messages.length === 0) return own
  const { before, after } = messagesAround(prompt, true)
  const inText = (json: readonly string[]) => {
    const { system, rest } = systemFirst(json)
    return [...system.map((text) => messageText('system', text)), ...rest]
  }
  return ollamaSettings(prompt, own).set(
    'messages',
    listText([...inText(before), ...messages, ...inText(after)]),
  )
}

export const ollamaPromptWire: PromptWire = (prompt, own) => {
  if (!isGiven(own, 'prompt') || own.get('prompt') === '""') return own
  const { before, after } = messagesAround(prompt, true)
  const { system, rest } = systemFirst([...before, ...after])
  if (rest.length > 0) {
    const what = described(new JsonText(listText(rest)))
    throw wrong(
      'model',
      `a prompt with more than system messages (${what})`,
      'one that has only these, or /api/chat',
    )
  }
  const all = ollamaSettings(prompt, own)
  const joined = joinedTexts([...system, new Value(own.get('system') ?? 'null').string])
  return joined === undefined ? all : all.set('system', joined)
}

/** Through which a shadow can be asked what a client asked. */
export const shadowedWires = {
  chat: chatWire,
  completions: completionsWire,
  messages: messagesWire,
  responses: responsesWire,
} as const satisfies Record<string, PromptWire>
export type ShadowedApi = keyof typeof shadowedWires

export const shadowedApiOf = (wire: PromptWire): ShadowedApi | undefined =>
  (Object.keys(shadowedWires) as ShadowedApi[]).find((api) => shadowedWires[api] === wire)
