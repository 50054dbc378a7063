import { randomInt } from 'node:crypto'
import type { AnswerFormat } from '../../../packages/chat-format/index.ts'
import {
  adaptConversation,
  type Conversation,
  conversationOf,
  type GivenTool,
  type Message,
  MessageError,
  thinkingAsked,
  withoutCalls,
} from '../../../packages/chat-format/index.ts'
import type { ServedModel } from '../../../packages/engine/index.ts'
import { writeJson } from '../../domain/json/text.ts'
import { refuse, wrong } from '../../domain/refusals.ts'
import type { Prompts } from './prompts.ts'

/** A rendered conversation. No name of a control token is read across the mark, if there is one. */
interface ChatPrompt {
  text: string
  mark?: string
}

/** The format of the answer to a conversation: that of the model's template, or of the one in the request. */
export async function formatOf(
  prompts: Prompts,
  { template: own, tokens }: ServedModel,
  tenant: string,
  { template: requested }: Pick<Conversation, 'template'>,
  signal: AbortSignal,
): Promise<AnswerFormat> {
  const template = requested || own
  if (template === undefined) throw lacksTemplate()
  return prompts.formatOf(tenant, template, tokens, signal, requested ? 'request' : 'model')
}

/** It fits any model that continues texts. */
const plainTemplate = '{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:'

const lacksTemplate = () => refuse('no_chat_template', { field: 'chat_template', example: plainTemplate })

/** The messages as rendered by the template. */
export async function renderConversation(
  prompts: Prompts,
  served: ServedModel,
  tenant: string,
  conversation: Conversation,
  format: AnswerFormat,
  signal: AbortSignal,
): Promise<ChatPrompt> {
  const template = conversation.template || served.template
  const original = messagesOf(conversation)
  if (template === undefined) throw lacksTemplate()
  const tools = conversation.tools?.map(toolOf) ?? []
  const { messages, takesTools } = adaptConversation(
    format,
    original,
    tools.map(({ function: tool }) => writeJson(tool)),
    conversation.mayCall,
  )
  const variables = variablesOf(conversation, served, format, takesTools ? tools : [])
  const mark = freeMark([variables, ...messages.flatMap(({ content }) => content)])
  const hiding = { mark, names: served.controlTokens }
  const question = {
    template,
    ...withoutCalls(messages),
    variables,
    open: conversation.continueFinal,
    hiding,
  }
  const text = await prompts.render(tenant, question, signal, conversation.template ? 'request' : 'model')
  return text.includes(mark) ? { text, mark } : { text }
}

/** Refuses what templates cannot take. */
function messagesOf({ messages }: Conversation): Message[] {
  try {
    return conversationOf(messages)
  } catch (error) {
    if (!(error instanceof MessageError)) throw error
    const { field, received, accepted } = error
    throw wrong(field, received, accepted)
  }
}

const firstMark = 0x100000
const marks = 0xfffe
const maxTries = 16

/** A private-use character that occurs in none of the texts. Only a text with all of these characters loses one. */
export function freeMark(texts: readonly string[]): string {
  for (let tries = 1; ; tries++) {
    const mark = String.fromCodePoint(firstMark + randomInt(marks))
    if (tries === maxTries || !texts.some((text) => text.includes(mark))) return mark
  }
}

/**
 * As JSON, because values of the request may be large: they are parsed where they are needed. Fields of the request
 * take precedence over variables of the same name, unless they are null.
 */
function variablesOf(
  conversation: Conversation,
  { tokens }: ServedModel,
  { reasoning }: AnswerFormat,
  tools: readonly ReturnType<typeof toolOf>[],
): string {
  const { documents, reasoningEffort, verbosity, variables } = conversation
  // Templates test whether tools and documents are none, so they are always set.
  const defaults = { bos_token: tokens.bos, eos_token: tokens.eos, tools: null, documents: null }
  const fields = {
    add_generation_prompt: conversation.addGenerationPrompt,
    continue_final_message: conversation.continueFinal,
    ...(tools.length > 0 && { tools }),
    ...(documents && { documents }),
    ...(verbosity != null && { verbosity }),
    // Muse uses another name.
    ...(reasoningEffort != null && {
      reasoning_effort: reasoningEffort,
      reasoning_strength: reasoningEffort,
    }),
  }
  const thinks = thinkingAsked(conversation)
  const switches = thinks === undefined ? {} : reasoning?.switches[thinks ? 'on' : 'off']
  const texts = [writeJson({ ...defaults, ...switches }), variables?.text ?? '{}', writeJson(fields)]
  // If a name occurs twice, the last one counts.
  return `{${texts.flatMap((text) => (text === '{}' ? [] : [text.slice(1, -1)])).join()}}`
}

export function toolOf({ function: { name, description, parameters, strict } }: GivenTool) {
  return {
    type: 'function',
    function: {
      name,
      ...(description != null && { description }),
      ...(parameters != null && { parameters }),
      ...(strict != null && { strict }),
    },
  }
}
