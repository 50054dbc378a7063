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
  /** What a tokenizer must see of the tail for what comes next. */
  end: string
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
 * take longer than the model does. A thought is closed before it begins.
 */
export async function decisionPrompt(
  prompts: Prompts,
  served: ServedModel,
  { instructions, input, tenant, questions: asked }: DecisionAsked,
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
  if (served.template === undefined) {
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
    thinks: false,
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
  const closed = tail + closingOf(format.reasoning, rendered.text)
  return {
    head,
    tail: closed,
    end: closed.slice(lastName(closed, names)),
    mark,
    isPlain: false,
    hidden: (text) => hiddenText(text, { mark, names }),
  }
}

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
