import { createReader, type Token, tokensOf, type Value } from './cpp.ts'

export interface ChatCase {
  template: string
  text: string
  tools: { name: string; parameters: unknown }[]
  /** Thoughts are told apart; else they stay in the content. */
  hasReasoning: boolean
  isThinking: boolean
  isParallel: boolean
  choice: string
  isPartial: boolean
  isContinued: boolean
  content: string
  reasoning: string
  calls: { name: string; arguments: string }[]
}

interface Message {
  content: string
  reasoning: string
  calls: ChatCase['calls']
}

/** A tester has one template, or those of the loop that it is made in or called from. */
function templatesAt(tokens: readonly Token[], at: number): string[] {
  const isTemplate = (token: Token | undefined) => token?.text.startsWith('models/templates/') === true
  const textsFrom = (from: number, to: number) =>
    tokens.slice(from, to).flatMap((token) => (isTemplate(token) ? [token.text] : []))
  const around = textsFrom(Math.max(0, at - 12), at + 1)
  if (isTemplate(tokens[at]) || around.length > 0) return isTemplate(tokens[at]) ? around.slice(-1) : around
  const list = tokens.findIndex(
    (token, index) => index > at && isTemplate(token) && tokens[index - 1]?.text === '{',
  )
  return list === -1 ? [] : textsFrom(list, list + 6)
}

/** The cases of llama.cpp's `tests/test-chat.cpp`, and how many of them could not be read. */
export function casesOf(source: string): { cases: ChatCase[]; unread: number } {
  const tokens = tokensOf(source)
  const known = new Map<string, Value>()
  const cases: ChatCase[] = []
  let templates: string[] = []
  let unread = 0

  function resolve(value: Value | undefined): Value | undefined {
    return value?.kind === 'name' ? (known.get(value.name) ?? value) : value
  }
  const textOf = (value: Value | undefined): string => {
    const found = resolve(value)
    if (found?.kind === 'text') return found.text
    if (found?.kind === 'list' && found.items.length === 0) return ''
    throw new Error('this is not a text')
  }
  const itemsOf = (value: Value | undefined): Value[] => {
    const found = resolve(value)
    if (found?.kind !== 'list') throw new Error('this is not a list')
    return found.items
  }

  function toolOf(value: Value): ChatCase['tools'][number] {
    const [name, , parameters] = itemsOf(value)
    return { name: textOf(name), parameters: JSON.parse(textOf(parameters)) as unknown }
  }

  const callOf = (value: Value) => {
    const [name, given] = itemsOf(value)
    return { name: textOf(name), arguments: textOf(given) }
  }

  function messageOf(value: Value | undefined): Message {
    const found = resolve(value)
    if (found?.kind !== 'call') throw new Error('this is not a message')
    const args = found.args
    const [a = '', b = '', c = '', d = ''] = args.map((one) =>
      resolve(one)?.kind === 'text' ? textOf(one) : '',
    )
    const called = (name: string, given: string) => (name === '' ? [] : [{ name, arguments: given }])
    switch (found.name) {
      case 'simple_assist_msg':
        return { content: a, reasoning: b, calls: called(c, d) }
      case 'message_with_tool_calls':
        return { content: '', reasoning: '', calls: called(a, b) }
      case 'message_with_tool_calls_and_reasoning':
        return { content: '', reasoning: c, calls: called(a, b) }
      case 'message_with_content_and_tool_call':
        return { content: a, reasoning: '', calls: called(b, c) }
      case 'message_with_reasoning_and_tool_call':
        return { content: '', reasoning: a, calls: called(b, c) }
      case 'message_with_reasoning_content_and_multiple_tool_calls':
        return { content: b, reasoning: a, calls: itemsOf(args[2]).map(callOf) }
      default:
        throw new Error(`${found.name} does not make a message`)
    }
  }

  function caseOf(links: { name: string; args: Value[] }[]): ChatCase {
    const made: ChatCase = {
      template: '',
      text: '',
      tools: [],
      hasReasoning: false,
      isThinking: true,
      isParallel: false,
      choice: 'auto',
      isPartial: false,
      isContinued: false,
      content: '',
      reasoning: '',
      calls: [],
    }
    for (const { name, args } of links) {
      const [first] = args
      const word = first?.kind === 'name' ? first.name : ''
      if (name === 'test') made.text = textOf(first)
      else if (name === 'tools') made.tools = itemsOf(first).map(toolOf)
      else if (name === 'reasoning_format') made.hasReasoning = !word.endsWith('_NONE')
      else if (name === 'enable_thinking') made.isThinking = word === 'true'
      else if (name === 'parallel_tool_calls') made.isParallel = word === 'true'
      else if (name === 'tool_choice') made.choice = word.split('_').at(-1)?.toLowerCase() ?? ''
      else if (name === 'is_partial') made.isPartial = word === 'true'
      else if (name === 'continue_final_message') made.isContinued = true
      else if (name === 'expect') Object.assign(made, messageOf(first))
      else if (name === 'expect_content') made.content = textOf(first)
      else if (name === 'expect_reasoning') made.reasoning = textOf(first)
      else if (name === 'expect_tool_calls') made.calls = itemsOf(first).map(callOf)
      else if (
        !['run', 'messages', 'add_generation_prompt', 'json_schema', 'expect_reconstruction'].includes(name)
      ) {
        throw new Error(`${name} is unknown`)
      }
    }
    return made
  }

  for (let at = 0; at < tokens.length; at++) {
    const here = (offset: number) => tokens[at + offset]?.text
    try {
      if (here(0) === 'peg_tester' && here(1) === '(') templates = templatesAt(tokens, at + 2)
      else if (here(0) === 'common_chat_tool' && here(2) === '{') {
        known.set(here(1) ?? '', createReader(tokens, at + 2).value())
      } else if (
        here(1) === '=' &&
        tokens[at]?.kind === 'word' &&
        (tokens[at + 2]?.kind === 'text' || here(3) === '(')
      ) {
        known.set(here(0) ?? '', createReader(tokens, at + 2).value())
      }
    } catch {
      // Other things look like definitions, too.
    }
    if (here(0) !== 'tst' || here(1) !== '.' || here(2) !== 'test') continue
    try {
      const made = caseOf(createReader(tokens, at + 1).chain())
      cases.push(...templates.map((template) => ({ ...made, template })))
    } catch {
      unread++
    }
  }
  return { cases, unread }
}
