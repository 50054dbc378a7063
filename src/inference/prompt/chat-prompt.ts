import { randomInt } from 'node:crypto'
import { type JsonText, writeJson } from '../../domain/json/text.ts'
import { refuse } from '../../domain/refusals.ts'
import type { AnswerFormat } from '../answer-format.ts'
import type { ServedModel } from '../backend.ts'
import { thinkingAsked } from '../reasoning/switches.ts'
import { conversationOf, type GivenMessage } from './conversation.ts'
import { adaptConversation } from './history.ts'
import type { Prompts } from './prompts.ts'
import { withoutCalls } from './rendering.ts'

/** A conversation in a request. */
export interface Conversation {
  messages: readonly GivenMessage[]
  /** Instead of the model's own. */
  template?: string | null | undefined
  /** Variables of the template in addition to those below. */
  variables?: JsonText | null | undefined
  /** The template opens the turn of the assistant. */
  addGenerationPrompt: boolean
  /** The last message stays open. */
  continueFinal: boolean
  /** The field of the request that has its text; absent where it is never reported. */
  continuedField?: string
  tools?: readonly GivenTool[] | null | undefined
  /** False if none of the tools may be called. */
  mayCall?: boolean | undefined
  documents?: readonly JsonText[] | null | undefined
  reasoningEffort?: string | null | undefined
  verbosity?: string | null | undefined
  /** Whether the model is to think, if the request says so explicitly. */
  thinks?: boolean | undefined
}

export interface GivenTool {
  /** Its index among the tools of the request, if some of these are left out. */
  index?: number
  function: {
    name: string
    description?: string | null | undefined
    parameters?: JsonText | null | undefined
    strict?: boolean | null | undefined
  }
}

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
  { template: given }: Pick<Conversation, 'template'>,
  signal: AbortSignal,
): Promise<AnswerFormat> {
  const template = given || own
  if (template === undefined) throw refuse('no_chat_template', { field: 'chat_template' })
  return prompts.formatOf(tenant, template, tokens, signal, given ? 'request' : 'model')
}

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
  const given = conversationOf(conversation.messages)
  if (template === undefined) throw refuse('no_chat_template', { field: 'chat_template' })
  const tools = conversation.tools?.map(toolOf) ?? []
  const { messages, takesTools } = adaptConversation(
    format,
    given,
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

const firstMark = 0x100000
const marks = 0xfffe
const maxTries = 16

/** A private-use character that occurs in none of the texts. Only a text with all of these characters loses one. */
function freeMark(texts: readonly string[]): string {
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
  given: Conversation,
  { tokens }: ServedModel,
  { reasoning }: AnswerFormat,
  tools: readonly ReturnType<typeof toolOf>[],
): string {
  const { documents, reasoningEffort, verbosity, variables } = given
  // Templates test whether tools and documents are none, so they are always set.
  const defaults = { bos_token: tokens.bos, eos_token: tokens.eos, tools: null, documents: null }
  const fields = {
    add_generation_prompt: given.addGenerationPrompt,
    continue_final_message: given.continueFinal,
    ...(tools.length > 0 && { tools }),
    ...(documents && { documents }),
    ...(verbosity != null && { verbosity }),
    // Muse uses another name.
    ...(reasoningEffort != null && {
      reasoning_effort: reasoningEffort,
      reasoning_strength: reasoningEffort,
    }),
  }
  const thinks = thinkingAsked(given)
  const switches = thinks === undefined ? {} : reasoning?.switches[thinks ? 'on' : 'off']
  const texts = [writeJson({ ...defaults, ...switches }), variables?.text ?? '{}', writeJson(fields)]
  // If a name occurs twice, the last one counts.
  return `{${texts.flatMap((text) => (text === '{}' ? [] : [text.slice(1, -1)])).join()}}`
}

function toolOf({ function: { name, description, parameters, strict } }: GivenTool) {
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
