import { type Conversation, hiddenText, thoughtStartOf } from '../../../packages/chat-format/index.ts'
import type { ServedModel } from '../../../packages/engine/index.ts'
import { refuse } from '../../domain/refusals.ts'
import { formatOf, freeMark, renderConversation } from '../prompt/chat-prompt.ts'
import type { Prompts } from '../prompt/prompts.ts'
import type { DecisionAsked } from './decision.ts'
import { decisionSystem, divider } from './wording.ts'

/** The text around a question. */
export interface DecisionPrompt {
  /** With the input: the same for all questions. */
  head: string
  /** From the end of the question to where the answer begins. */
  tail: string
  /** What a tokenizer must see, of the tail or of what closes a thought, for what comes next. */
  end: string
  /** If the model is to think behind the tail: the mark that ends its thought, and what closes it before the answer. */
  thought?: { mark: string; close: string }
  /** Removed by the tokenizer, which reads no name of a control token across it. */
  mark: string
  /** The tokenizer adds what the model wants around a text. */
  isPlain: boolean
  /** A text of the request in which control tokens stay letters. */
  hidden(text: string): string
}

/** How often another mark is tried if the one of the renderer occurs in a question. */
const maxTries = 16

/**
 * The template is rendered once, with a mark for the question: to render a long input for each of many questions would
 * take longer than the model does. A thought is closed before it begins, or left open for the model to think.
 */
export async function decisionPrompt(
  prompts: Prompts,
  served: ServedModel,
  { instructions, input, tenant, questions: asked, thinking }: DecisionAsked,
  signal: AbortSignal,
): Promise<DecisionPrompt> {
  const system = [decisionSystem, ...instructions].join('\n\n')
  const questions = asked.flatMap(({ text, options }) => [
    text,
    ...options.flatMap(({ name, description = '' }) => [name, description]),
  ])
  const texts = [system, input, ...questions]
  const slot = freeMark(texts)
  const user = `${input.trimEnd()}${divider}${slot}`
  const names = served.controlTokens
  const thinks = thinking !== undefined
  if (served.template === undefined) {
    if (thinks) throw noThoughts(thinking)
    const mark = freeMark([...texts, slot])
    const hidden = (text: string) => hiddenText(text, { mark, names })
    const [head = ''] = hidden(`${system}\n\n${user}`).split(slot)
    const tail = '\nAnswer:'
    return { head, tail, end: tail, mark, isPlain: true, hidden }
  }
  const conversation: Conversation = {
    messages: [
      { role: 'system', content: system },
      { role: 'user', content: user },
    ],
    addGenerationPrompt: true,
    continueFinal: false,
    thinks,
  }
  const format = await formatOf(prompts, served, tenant, conversation, signal)
  const render = () => renderConversation(prompts, served, tenant, conversation, format, signal)
  let rendered = await render()
  for (let tries = 1; tries < maxTries && occurs(rendered.mark, questions); tries++) rendered = await render()
  const [head, tail, ...others] = rendered.text.split(slot)
  if (head === undefined || tail === undefined || others.length > 0) {
    throw refuse('template_failed', { field: 'model', why: 'it does not show the last message once' })
  }
  const mark = rendered.mark ?? freeMark([...texts, rendered.text])
  const around = { head, mark, isPlain: false, hidden: (text: string) => hiddenText(text, { mark, names }) }
  const fromLastName = (text: string) => text.slice(lastName(text, names))
  if (thinks) {
    const start = thoughtStartOf(format.reasoning, rendered.text)
    if (format.reasoning === undefined || start === 'over') throw noThoughts(thinking)
    const { open, close } = format.reasoning
    const closing = `\n${close.trim()}\n\n`
    const opened = start === 'open' ? tail : `${tail}${open.trim()}\n`
    return {
      ...around,
      tail: opened,
      end: fromLastName(closing),
      thought: { mark: close.trim(), close: closing },
    }
  }
  const closed = tail + closingOf(format.reasoning, rendered.text)
  return { ...around, tail: closed, end: fromLastName(closed) }
}

const noThoughts = (tokens: number) =>
  refuse('not_available', {
    field: 'thinking_token_budget',
    received: `${tokens} for a template without thoughts`,
    accepted: 'no such field',
  })

const occurs = (mark: string | undefined, texts: readonly string[]) =>
  mark !== undefined && texts.some((text) => text.includes(mark))

/** What ends a thought that has begun, or that the model would begin because its template has no switch. */
function closingOf(reasoning: Reasoning, text: string): string {
  if (reasoning === undefined) return ''
  const thought = thoughtStartOf(reasoning, text)
  if (thought === 'over') return ''
  const { open, close, switches } = reasoning
  if (thought === 'open') return `\n${close.trim()}\n\n`
  return Object.keys(switches.off).length > 0 ? '' : `${open.trim()}\n\n${close.trim()}\n\n`
}

type Reasoning = Awaited<ReturnType<typeof formatOf>>['reasoning']

/** Where the last control token begins: how text behind it is tokenized does not depend on what precedes it. */
function lastName(text: string, names: readonly string[]): number {
  return Math.max(0, ...names.map((name) => text.lastIndexOf(name)))
}
