import { randomBytes } from 'node:crypto'
import { parseLossless } from '../../json/index.ts'
import type { AnswerFormat } from '../answer-format.ts'
import type { Message } from '../conversation.ts'
import { findFormat } from '../finding/find-format.ts'
import type { Node } from '../jinja/jinja.ts'
import { parsedTemplate } from '../jinja/syntax.ts'
import { type Bounds, renderBounded, strftime, TemplateLimitError } from './bounded-template.ts'
import { type ContentForm, contentFormOf } from './content-form.ts'
import { hiddenMessage, hiddenValue } from './hidden-names.ts'
import { type RenderQuestion, withCalls } from './render-question.ts'

/** Asks how the model of this template writes thoughts and calls. */
export interface FormatQuestion {
  template: string
  /** The tokens that templates insert. */
  tokens: { bos: string; eos: string }
}

export type Rendering = { kind: 'rendered'; text: string } | Unrendered
export type Found = { kind: 'found'; format: AnswerFormat } | Unrendered

type Unrendered =
  /** The template is broken, or raises an error itself. */
  { kind: 'failed'; why: string } | { kind: 'costly'; limit: string }

export type CompiledTemplate = ReturnType<typeof compile>

/** Templates that stay compiled, by their texts: here only the last. */
function rememberingOne() {
  let last: { template: string; compiled: CompiledTemplate } | undefined
  return {
    memo(template: string, compile: () => CompiledTemplate): CompiledTemplate {
      if (last?.template !== template) last = { template, compiled: compile() }
      return last.compiled
    },
  }
}

export function createRendering(bounds: Bounds, compiled = rememberingOne()) {
  function rendered(text: string, messages: readonly Message[], values: Record<string, unknown>, mark = '') {
    const { program, form, knowsDevelopers, knowsDates } = compiled.memo(text, () => compile(text))
    const shown = messages.map((message, index) => {
      const isOpen = mark !== '' && index === messages.length - 1
      return shownMessage(isOpen ? marked(message, `${mark} `) : message, form, knowsDevelopers)
    })
    const variables = {
      // The templates of Firefunction use it without testing whether it is defined.
      ...(knowsDates && { datetime: strftime(new Date(), '%b %d %Y %H:%M:%S') }),
      ...values,
      messages: shown,
    }
    return renderBounded(program, variables, bounds)
  }

  function render({ template, messages: bare, calls, variables, open, hiding }: RenderQuestion): Rendering {
    const messages = calls === undefined ? bare : withCalls(bare, calls)
    const mark = open ? `[open-${randomBytes(12).toString('hex')}]` : ''
    const parsed = parseLossless(variables) as Record<string, unknown>
    const text =
      hiding === undefined
        ? rendered(template, messages, parsed, mark)
        : rendered(
            template,
            messages.map((message) => hiddenMessage(message, hiding)),
            {
              ...parsed,
              tools: hiddenValue(parsed.tools, hiding),
              documents: hiddenValue(parsed.documents, hiding),
            },
            mark,
          )
    return open ? cutAtMark(text, mark) : { kind: 'rendered', text }
  }

  function find({ template, tokens }: FormatQuestion): Found {
    const since = process.cpuUsage()
    const known = { bos_token: tokens.bos, eos_token: tokens.eos, documents: null }
    const format = findFormat({
      template,
      render: (messages, variables) => rendered(template, messages, { ...known, ...variables }),
      // A proof with fewer calls is better than none.
      hasTime() {
        const { user, system } = process.cpuUsage(since)
        return (user + system) / 1000 < bounds.limitMs / 2
      },
    })
    return { kind: 'found', format }
  }

  return {
    render: (question: RenderQuestion) => answered(() => render(question)),
    find: (question: FormatQuestion) => answered(() => find(question)),
  }
}

function answered<Answer>(work: () => Answer): Answer | Unrendered {
  try {
    return work()
  } catch (error) {
    if (error instanceof TemplateLimitError) return { kind: 'costly', limit: error.limit }
    // The limits of JavaScript itself.
    if (error instanceof RangeError) {
      const isDepth = error.message.includes('stack')
      return { kind: 'costly', limit: isDepth ? 'the depth of nesting' : 'the length of a text' }
    }
    return { kind: 'failed', why: reasonOf(error as Error).slice(0, 1_000) }
  }
}

function compile(text: string) {
  const program = parsed(text)
  return {
    program,
    form: contentFormOf(program),
    knowsDevelopers: text.includes('developer'),
    knowsDates: text.includes('datetime'),
  }
}

/** For a truncated template the library throws a TypeError about its own variables. */
function parsed(text: string): Node {
  try {
    return parsedTemplate(text)
  } catch (error) {
    if (error instanceof TypeError) throw new Error('it ends where more is expected', { cause: error })
    throw error
  }
}

function reasonOf(error: Error): string {
  if (error instanceof TypeError) return 'it uses a value that does not exist'
  return error.message.replace(/\.+$/, '') || `${error.name} outside a loop`
}

/**
 * `developer` is a role of newer models. Other templates may reject it or print it, so they get a system message, as
 * the spec says.
 */
function shownMessage(message: Message, form: ContentForm, knowsDevelopers: boolean) {
  const role = message.role === 'developer' && !knowsDevelopers ? 'system' : message.role
  return { ...message, role, content: shownContent(message.content, form) }
}

function shownContent(content: string | string[], form: ContentForm) {
  if (form === 'text') return typeof content === 'string' ? content : content.join('\n')
  if (typeof content === 'string' && form === 'both') return content
  return [content].flat().map((text) => ({ type: 'text', text }))
}

function marked(message: Message, mark: string): Message {
  const { content } = message
  if (typeof content === 'string') return { ...message, content: content + mark }
  return { ...message, content: [...content.slice(0, -1), (content.at(-1) ?? '') + mark] }
}

/**
 * The end of the last message's content cannot be found by its text, which may be empty or occur several times. So the
 * message is rendered with a mark at its end, and a space after the mark: if that space is missing from the result, the
 * template trims contents, and the space before the mark is removed, too.
 */
function cutAtMark(rendered: string, mark: string): Rendering {
  const at = rendered.lastIndexOf(mark)
  if (at === -1) {
    return {
      kind: 'failed',
      why: 'it does not show the content of the last message, which is to be continued',
    }
  }
  const text = rendered.slice(0, at)
  const trims = rendered[at + mark.length] !== ' '
  return { kind: 'rendered', text: trims ? text.trimEnd() : text }
}
