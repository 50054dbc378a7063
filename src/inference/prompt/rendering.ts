import { randomBytes } from 'node:crypto'
import { type Bounds, renderBounded, TooCostly } from './bounded-template.ts'
import { type ContentForm, contentFormOf } from './content-form.ts'
import type { Message } from './conversation.ts'
import { type CompiledTemplate, Template } from './jinja.ts'

export interface RenderQuestion {
  template: string
  messages: Message[]
  /** Everything else that the template sees. */
  variables: Record<string, unknown>
  /** Leaves the last message open, so that the model goes on with it. */
  open: boolean
}

export type Rendering =
  | { kind: 'rendered'; text: string }
  /** The template is broken, or says no itself. */
  | { kind: 'failed'; why: string }
  | { kind: 'costly'; limit: string }

interface Compiled {
  template: CompiledTemplate
  form: ContentForm
  knowsDevelopers: boolean
}

/** Templates that stay compiled: the model's own, and what one client sends again and again. */
const mostCompiled = 8

export function createRendering(bounds: Bounds): (question: RenderQuestion) => Rendering {
  const compiled = new Map<string, Compiled>()

  function compile(text: string): Compiled {
    const known = compiled.get(text)
    if (known) return known
    const template = parsed(text)
    const made = {
      template,
      form: contentFormOf(template.parsed),
      knowsDevelopers: text.includes('developer'),
    }
    if (compiled.size >= mostCompiled) compiled.delete(compiled.keys().next().value as string)
    compiled.set(text, made)
    return made
  }

  function render({ template: text, messages, variables, open }: RenderQuestion): Rendering {
    const { template, form, knowsDevelopers } = compile(text)
    const mark = open ? `[open-${randomBytes(12).toString('hex')}]` : ''
    const shown = messages.map((message, index) => {
      const isOpen = open && index === messages.length - 1
      return shownMessage(isOpen ? marked(message, `${mark} `) : message, form, knowsDevelopers)
    })
    const rendered = renderBounded(template, { ...variables, messages: shown }, bounds)
    return open ? cutAtMark(rendered, mark) : { kind: 'rendered', text: rendered }
  }

  return (question) => {
    try {
      return render(question)
    } catch (error) {
      if (error instanceof TooCostly) return { kind: 'costly', limit: error.limit }
      // What JavaScript itself bounds.
      if (error instanceof RangeError) {
        const isDepth = error.message.includes('stack')
        return { kind: 'costly', limit: isDepth ? 'the depth of nesting' : 'the length of a text' }
      }
      return { kind: 'failed', why: reasonOf(error as Error).slice(0, 1_000) }
    }
  }
}

/** A template that is cut off makes the library trip over what is not there, and say so in the words of JavaScript. */
function parsed(text: string): CompiledTemplate {
  try {
    return new Template(text)
  } catch (error) {
    if (error instanceof TypeError) throw new Error('it ends where something has to follow', { cause: error })
    throw error
  }
}

function reasonOf(error: Error): string {
  if (error instanceof TypeError) return 'it uses a value that is not there'
  return error.message.replace(/\.+$/, '') || `${error.name} outside of a loop`
}

/** A role of newer models: what the template does not know, it may refuse or print (the spec calls it a system message). */
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
 * Where the content of the last message ends cannot be told from its text alone: it may be empty, or stand at several
 * places. So it is rendered with a mark behind it, and the mark has a space behind it, which says whether the template
 * trims; then the content has lost its own space as well.
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
