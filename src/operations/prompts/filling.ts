import { itemsOf, objectText } from '../../../packages/json/index.ts'
import { shortened } from '../../domain/described.ts'
import { nearestName } from '../../domain/nearest.ts'
import { wrong } from '../../domain/refusals.ts'
import type { Models } from '../../inference/registry.ts'
import { Value } from '../objects/values.ts'
import {
  isBlocks,
  type PromptMessage,
  requestMessages,
  type StoredPrompt,
  segmentsIn,
  templatesIn,
} from './stored-prompt.ts'
import { filledText, literalText, type Segments } from './template.ts'
import { expectedOf, fieldOf, textOfValue } from './variables.ts'

/** A prompt with the values of its variables. Messages are JSON in the form of chat completions. */
export interface FilledPrompt {
  /** That of a StringPrompt. */
  text?: string
  /** Those before the messages of the request, and those after them. */
  before: readonly string[]
  after: readonly string[]
  settings: ReadonlyMap<string, string>
}

type ServedModels = Pick<Models, 'all'>

export const controlTokensOf = ({ all }: ServedModels): string[] =>
  all.flatMap((model) => model.served()?.controlTokens ?? [])

/** Characters that values add, wherever they stand: as many as a request may have. */
const maxAdded = 4 << 20

/** `values`: JSON by the names of the variables. None may add a name of a control token of the models. */
export function filledPrompt(
  prompt: StoredPrompt,
  values: ReadonlyMap<string, string>,
  models: ServedModels,
): FilledPrompt {
  checkNames(prompt, values)
  const textFor = valuesOf(prompt, values)
  checkSize(prompt, values, textFor)
  const { text, messages, settings } = prompt
  if (text !== undefined) checkControlTokens(text, textFor, models)
  const at = messages.findIndex(
    (message) => 'placeholder' in message && message.placeholder === requestMessages,
  )
  const fill = (message: PromptMessage): string[] => {
    if ('placeholder' in message) return messagesAt(message.placeholder, values.get(message.placeholder))
    // Templates look for marks in the text of the assistant, where names of control tokens therefore count.
    if (message.role === 'assistant') {
      for (const template of templatesIn(message)) checkControlTokens(template, textFor, models)
    }
    return [filledMessage(message, textFor)]
  }
  return {
    ...(text !== undefined && { text: filledText(text, textFor) }),
    before: messages.slice(0, at === -1 ? undefined : at).flatMap(fill),
    after: at === -1 ? [] : messages.slice(at + 1).flatMap(fill),
    settings,
  }
}

function checkNames({ variables, placeholders }: StoredPrompt, values: ReadonlyMap<string, string>): void {
  for (const name of values.keys()) {
    if (variables.has(name) || placeholders.has(name)) continue
    const names = [...variables.keys(), ...placeholders]
    const nearest = nearestName(name, names)
    const accepted =
      names.length === 0 ? 'none: the prompt has no variables' : shortened(names.join(', '), 400)
    throw wrong(
      fieldOf(name),
      'an unknown variable',
      nearest === undefined ? accepted : `${nearest}, or ${accepted}`,
    )
  }
}

function checkSize(
  { text = [], messages }: StoredPrompt,
  values: ReadonlyMap<string, string>,
  textFor: (variable: string) => string,
): void {
  let size = 0
  for (const segment of [...text, ...messages.flatMap(segmentsIn)])
    if ('variable' in segment) size += textFor(segment.variable).length
  for (const message of messages)
    if ('placeholder' in message) size += values.get(message.placeholder)?.length ?? 0
  if (size > maxAdded)
    throw wrong('prompt.variables', `${size} characters where they are used`, `at most ${maxAdded}`)
}

function valuesOf({ variables }: StoredPrompt, values: ReadonlyMap<string, string>) {
  const texts = new Map<string, string>()
  for (const [name, type] of variables) {
    const json = values.get(name) ?? (type.default as string | undefined)
    const text = json === undefined ? undefined : textOfValue(type, json)
    if (text === undefined) throw wrong(fieldOf(name), shownValue(json), expectedOf(type))
    texts.set(name, text)
  }
  return (name: string) => texts.get(name) as string
}

const shownValue = (json: string | undefined) => (json === undefined ? 'nothing' : shortened(json))

function messagesAt(name: string, json: string | undefined): string[] {
  const items = json?.startsWith('[') ? itemsOf(json) : undefined
  if (items?.every((item) => new Value(item).member('role')?.string !== undefined)) return items
  throw wrong(fieldOf(name), shownValue(json), 'a list of messages')
}

function filledMessage(
  { members, content }: Exclude<PromptMessage, { placeholder: string }>,
  textFor: (variable: string) => string,
): string {
  if (content === null) return objectText(new Map([...members, ['content', 'null']]))
  if (!isBlocks(content)) {
    return objectText(new Map([...members, ['content', JSON.stringify(filledText(content, textFor))]]))
  }
  const blocks = content.map(({ members: own, text }) =>
    objectText(
      text === undefined ? own : new Map([...own, ['text', JSON.stringify(filledText(text, textFor))]]),
    ),
  )
  return objectText(new Map([...members, ['content', `[${blocks.join(',')}]`]]))
}

/** Several values may spell a name together, so the whole text is compared with what the prompt has itself. */
function checkControlTokens(
  segments: Segments,
  textFor: (variable: string) => string,
  models: ServedModels,
): void {
  const variable = segments.find((segment) => 'variable' in segment)
  if (variable === undefined || 'text' in variable) return
  const [filled, own] = [filledText(segments, textFor), literalText(segments)]
  const added = controlTokensOf(models).find((name) => filled.split(name).length > own.split(name).length)
  if (added === undefined) return
  const accepted = 'a text without names of control tokens, which would count as such here'
  throw wrong(fieldOf(variable.variable), `a text with ${JSON.stringify(added)}`, accepted)
}
