import { refuse } from '../../domain/refusals.ts'
import type { ServedModel } from '../../inference/backend.ts'
import { conversationOf, type Message, wholeText } from '../../inference/prompt/conversation.ts'
import type { Prompts } from '../../inference/prompt/prompts.ts'
import type { ChatBody, ToolGiven } from './contract.ts'

/** The fields that shape a prompt. */
export type PromptFields = Pick<
  ChatBody,
  | 'messages'
  | 'add_generation_prompt'
  | 'continue_final_message'
  | 'echo'
  | 'chat_template'
  | 'chat_template_kwargs'
  | 'documents'
  | 'reasoning_effort'
  | 'tools'
>

export interface ChatPrompt {
  text: string
  /** Who speaks in the answer. */
  role: string
  /** What the answer begins with, because the request asked to have it back. */
  echo: string
}

/** The messages as the model's template, or the one of the request, writes them. */
export async function promptOf(
  prompts: Prompts,
  model: ServedModel,
  tenant: string,
  fields: PromptFields,
  signal: AbortSignal,
): Promise<ChatPrompt> {
  const template = fields.chat_template || model.template
  const messages = conversationOf(fields.messages)
  if (template === undefined) throw refuse('no_chat_template', { field: 'chat_template' })
  const open = fields.continue_final_message ?? false
  const text = await prompts.render(
    tenant,
    { template, messages, variables: variablesOf(fields, model), open },
    signal,
  )
  const last = messages.at(-1) as Message
  const role = (fields.add_generation_prompt ?? true) ? 'assistant' : last.role
  return { text, role, echo: fields.echo && last.role === role ? wholeText(last) : '' }
}

/** The fields of the request win over variables of the same name, unless they are null. */
function variablesOf(fields: PromptFields, { tokens }: ServedModel): Record<string, unknown> {
  const given = (fields.chat_template_kwargs?.value ?? {}) as Record<string, unknown>
  const { tools, documents, reasoning_effort } = fields
  return {
    bos_token: tokens.bos,
    eos_token: tokens.eos,
    // Templates ask whether these are none, so they are always there.
    tools: null,
    documents: null,
    ...given,
    add_generation_prompt: fields.add_generation_prompt ?? true,
    continue_final_message: fields.continue_final_message ?? false,
    ...(tools?.length && { tools: tools.map(toolOf) }),
    ...(documents && { documents: documents.map(({ value }) => value) }),
    ...(reasoning_effort != null && { reasoning_effort }),
  }
}

function toolOf({ function: { name, description, parameters, strict } }: ToolGiven) {
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
