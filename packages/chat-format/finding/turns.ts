import type { Message } from '../conversation.ts'
import type { ProbeCall } from './probe-calls.ts'

/** Renders a conversation with the template in question; throws what the template raises. */
export type Render = (messages: Message[], variables: Record<string, unknown>) => string

/** Texts that occur nowhere else. */
export const needles = { user: 'qzUser', reply: 'qzSaid', later: 'qzLater', thought: 'qzThought' }

const question: Message = { role: 'user', content: needles.user }
const anyObject = { type: 'object', properties: {}, additionalProperties: true }

export interface TurnProbe {
  /**
   * What the model writes for these calls: from the end of the generation prompt to the end of the turn. Undefined if
   * the template raises an error.
   */
  callsOf(calls: readonly ProbeCall[]): string | undefined
  /** The same after an earlier round of calls with their results. */
  laterCallsOf(earlier: readonly ProbeCall[], calls: readonly ProbeCall[]): string | undefined
  /** The text after the user's message. */
  behindUser(messages: readonly Message[], variables?: Record<string, unknown>): string | undefined
  /** The text after the user's message in a prompt that opens the assistant's turn. */
  opening(variables: Record<string, unknown>): string | undefined
  /** The whole of such a prompt. */
  prompt(variables: Record<string, unknown>): string | undefined
  /** The end of the assistant's turn, after its content. */
  ending: string
}

/** Extracts what a model writes from conversations rendered by a template. */
export function createTurnProbe(render: Render, names: readonly string[]): TurnProbe {
  const tools = names.map((name) => ({
    type: 'function',
    function: { name, description: 'Does it.', parameters: anyObject },
  }))

  function behind(needle: string, messages: readonly Message[], variables: Record<string, unknown>) {
    const text = attempt(() => render([...messages], { tools, add_generation_prompt: false, ...variables }))
    const at = text?.lastIndexOf(needle) ?? -1
    return text === undefined || at === -1 ? undefined : text.slice(at + needle.length)
  }
  const behindUser = (messages: readonly Message[], variables = {}) =>
    behind(needles.user, [question, ...messages], variables)
  const opening = (variables: Record<string, unknown>) =>
    behindUser([], { add_generation_prompt: true, ...variables })

  const { ending, writtenIn } = createTurnCutting(behindUser, opening)
  const single = [{ id: 'qzidAAAAa', name: names[0] ?? '', arguments: {} }]
  const showsTwice = begunCalls(writtenIn(behindUser([turn(single)])) ?? '', single).behind.length === 2
  const shown = (text: string | undefined, calls: readonly ProbeCall[]) =>
    showsTwice ? shownLast(text, calls) : text

  return {
    behindUser,
    opening,
    prompt: (variables) =>
      attempt(() => render([question], { tools, add_generation_prompt: true, ...variables })),
    ending,
    callsOf: (calls) => shown(writtenIn(behindUser([turn(calls)])), calls),
    laterCallsOf(earlier, calls) {
      const results = earlier.map(({ id, name }) => ({
        role: 'tool',
        content: needles.later,
        name,
        tool_call_id: id,
      }))
      // After the user's next message, where the text is cut.
      const messages = [
        { role: 'user', content: 'before' },
        turn(earlier),
        ...results,
        { role: 'assistant', content: 'yes' },
        question,
        turn(calls),
      ]
      return shown(writtenIn(behind(needles.user, messages, {})), calls)
    },
  }
}

/** Finds what the model itself writes of an assistant's turn: what neither the prompt nor the end of the turn has. */
function createTurnCutting(behindUser: TurnProbe['behindUser'], opening: TurnProbe['opening']) {
  const answer: Message = { role: 'assistant', content: needles.reply }
  const [header, ending = ''] = behindUser([answer])?.split(needles.reply) ?? []
  const followed = behindUser([answer, { role: 'user', content: needles.later }])
  const [, untilLater = ''] = /qzSaid(.*)qzLater/s.exec(followed ?? '') ?? []
  const openings = [
    {},
    { enable_thinking: true, thinking: true },
    { enable_thinking: false, thinking: false },
  ].map(opening)
  const headers = [header, ...openings].filter((text) => text !== undefined)
  return {
    ending,
    writtenIn: (text: string | undefined) =>
      text === undefined ? undefined : withoutEnding(text.slice(headerOf(text, headers)), ending, untilLater),
  }
}

/** The beginning of the first call, and the text after each occurrence of it. */
function begunCalls(text: string, [first]: readonly ProbeCall[]): { begun: string; behind: string[] } {
  const at = first === undefined ? -1 : text.indexOf(first.name)
  const begun = at <= 0 ? '' : text.slice(0, at + (first?.name.length ?? 0))
  return { begun, behind: begun === '' ? [] : text.split(begun).slice(1) }
}

/** For a template that shows all calls twice: the second time they are as they would be alone. */
function shownLast(text: string | undefined, calls: readonly ProbeCall[]): string | undefined {
  if (text === undefined) return undefined
  const { begun, behind } = begunCalls(text, calls)
  return ['', ...behind.slice(behind.length / 2)].join(begun)
}

export const turn = (calls: readonly ProbeCall[], more: Partial<Message> = {}): Message => ({
  role: 'assistant',
  content: '',
  tool_calls: calls.map(({ id, name, arguments: args }) => ({
    id,
    type: 'function' as const,
    function: { name, arguments: args },
  })),
  ...more,
})

export function attempt<Value>(work: () => Value): Value | undefined {
  try {
    return work()
  } catch (error) {
    // A template that raises an error or uses undefined values cannot show this; exceeded limits are left to the
    // caller.
    if (error instanceof Error && error.name !== 'BudgetExceededError' && !(error instanceof RangeError)) {
      return undefined
    }
    throw error
  }
}

/** How much of a turn the prompt has written already: as much as possible of what precedes contents and answers. */
function headerOf(text: string, headers: readonly string[]): number {
  const whole = headers.filter((header) => text.startsWith(header)).map(({ length }) => length)
  if (whole.length > 0) return Math.max(...whole)
  return Math.max(0, ...headers.map((header) => outsideMarks(text, commonStart(text, header))))
}

const mark = /^\s*(<[^<>]*>|\[[^[\]]*\])/
const onlyMark = /^\s*(<[^<>]*>|\[[^[\]]*\])\s*$/
const lastMark = /(<[^<>/]*>)\s*$/

/** Without the end of the turn, which the model does not write as text. */
function withoutEnding(text: string, ending: string, untilLater: string): string {
  const single = onlyMark.exec(ending)?.[1] ?? (ending.trim() === '' ? mark.exec(untilLater)?.[1] : undefined)
  if (single !== undefined && text.includes(single)) return text.slice(0, text.indexOf(single))
  if (ending.trim() === '') return text
  const at = outsideMarksFrom(ending, ending.length - commonEnd(text, ending))
  if (at < ending.length) return text.slice(0, text.length - (ending.length - at))
  // Turns with calls have their own ending.
  return text.replace(lastMark, '')
}

export function commonStart(a: string, b: string): number {
  let length = 0
  while (length < a.length && length < b.length && a[length] === b[length]) length++
  return length
}

function commonEnd(a: string, b: string): number {
  let length = 0
  while (length < a.length && length < b.length && a.at(-1 - length) === b.at(-1 - length)) length++
  return length
}

/** The last position up to `at` that is not inside a mark such as `<|this|>`. */
export function outsideMarks(text: string, at: number): number {
  const open = text.lastIndexOf('<', at - 1)
  return open > text.lastIndexOf('>', at - 1) ? open : at
}

/** The first position from `at` on that is not inside a mark. */
function outsideMarksFrom(text: string, at: number): number {
  if (outsideMarks(text, at) === at) return at
  const close = text.indexOf('>', at)
  return close === -1 ? at : close + 1
}
