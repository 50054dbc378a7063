import type { JsonText } from '../../domain/json/text.ts'
import { refuse } from '../../domain/refusals.ts'
import type { ServedModel } from '../backend.ts'
import { conversationOf, type GivenMessage } from './conversation.ts'
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
}

export interface GivenTool {
  function: {
    name: string
    description?: string | null | undefined
    parameters?: JsonText | null | undefined
    strict?: boolean | null | undefined
  }
}

/** The messages as the model's template, or the one of the request, writes them. */
export async function renderConversation(
  prompts: Prompts,
  served: ServedModel,
  tenant: string,
  conversation: Conversation,
  signal: AbortSignal,
): Promise<string> {
  const template = conversation.template || served.template
  const messages = conversationOf(conversation.messages)
  if (template === undefined) throw refuse('no_chat_template', { field: 'chat_template' })
  const variables = variablesOf(conversation, served)
  const question = { template, messages, variables, open: conversation.continueFinal }
  return prompts.render(tenant, question, signal, conversation.template ? 'request' : 'model')
}

/** The fields of the request win over variables of the same name, unless they are null. */
function variablesOf(given: Conversation, { tokens }: ServedModel): Record<string, unknown> {
  const { tools, documents, reasoningEffort } = given
  return {
    bos_token: tokens.bos,
    eos_token: tokens.eos,
    // Templates ask whether these are none, so they are always there.
    tools: null,
    documents: null,
    ...((given.variables?.value ?? {}) as Record<string, unknown>),
    add_generation_prompt: given.addGenerationPrompt,
    continue_final_message: given.continueFinal,
    ...(tools?.length && { tools: tools.map(toolOf) }),
    ...(documents && { documents: documents.map(({ value }) => value) }),
    ...(reasoningEffort != null && { reasoning_effort: reasoningEffort }),
  }
}

function toolOf({ function: { name, description, parameters, strict } }: GivenTool) {
  return {
    type: 'function',
    function: {
      name,
      ...(description != null && { description }),
      ...(parameters != null && { parameters: parameters.value }),
      ...(strict != null && { strict }),
    },
  }
}
