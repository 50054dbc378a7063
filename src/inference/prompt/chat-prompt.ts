import { type JsonText, writeJson } from '../../domain/json/text.ts'
import { refuse } from '../../domain/refusals.ts'
import type { AnswerFormat } from '../answer-format.ts'
import type { ServedModel } from '../backend.ts'
import { conversationOf, type GivenMessage } from './conversation.ts'
import { toldTo } from './history.ts'
import type { Prompts } from './prompts.ts'

/** A conversation as a request has it. */
export interface Conversation {
  messages: readonly GivenMessage[]
  /** Instead of the model's own. */
  template?: string | null | undefined
  /** Variables of the template beside those below. */
  variables?: JsonText | null | undefined
  /** The template opens the turn of the assistant. */
  addGenerationPrompt: boolean
  /** The last message stays open. */
  continueFinal: boolean
  tools?: readonly GivenTool[] | null | undefined
  documents?: readonly JsonText[] | null | undefined
  reasoningEffort?: string | null | undefined
  /** Whether the model is to think, where the request says so outright. */
  thinks?: boolean | undefined
}

export interface GivenTool {
  function: {
    name: string
    description?: string | null | undefined
    parameters?: JsonText | null | undefined
    strict?: boolean | null | undefined
  }
}

/** How the answer to a conversation is written: by the model's template, or the one of the request. */
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

/** The messages as the template writes them. */
export async function renderConversation(
  prompts: Prompts,
  served: ServedModel,
  tenant: string,
  conversation: Conversation,
  format: AnswerFormat,
  signal: AbortSignal,
): Promise<string> {
  const template = conversation.template || served.template
  const given = conversationOf(conversation.messages)
  if (template === undefined) throw refuse('no_chat_template', { field: 'chat_template' })
  const tools = conversation.tools?.map(toolOf) ?? []
  const { messages, takesTools } = toldTo(
    format,
    given,
    tools.map(({ function: tool }) => writeJson(tool)),
  )
  const variables = variablesOf(conversation, served, format, takesTools ? tools : [])
  const question = { template, messages, variables, open: conversation.continueFinal }
  return prompts.render(tenant, question, signal, conversation.template ? 'request' : 'model')
}

/**
 * As JSON, because values of the request may be large: they are parsed where they are needed. The fields of the request win
 * over variables of the same name, unless they are null.
 */
function variablesOf(
  given: Conversation,
  { tokens }: ServedModel,
  { reasoning }: AnswerFormat,
  tools: readonly ReturnType<typeof toolOf>[],
): string {
  const { documents, reasoningEffort, variables } = given
  // Templates ask whether tools and documents are none, so they are always there.
  const defaults = { bos_token: tokens.bos, eos_token: tokens.eos, tools: null, documents: null }
  const fields = {
    add_generation_prompt: given.addGenerationPrompt,
    continue_final_message: given.continueFinal,
    ...(tools.length > 0 && { tools }),
    ...(documents && { documents }),
    ...(reasoningEffort != null && { reasoning_effort: reasoningEffort }),
  }
  const switches =
    reasoningEffort == null ? {} : reasoning?.switches[reasoningEffort === 'none' ? 'off' : 'on']
  const texts = [writeJson({ ...defaults, ...switches }), variables?.text ?? '{}', writeJson(fields)]
  // Of a name that is there twice the last one counts.
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
