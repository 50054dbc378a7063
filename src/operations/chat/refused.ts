import { refuse } from '../../domain/refusals.ts'
import type { ChatBody } from './contract.ts'

export interface ChatSettings {
  /** Requests may say how urgent they are. */
  priority: boolean
  /** Requests may bring a template of their own. */
  requestTemplates: boolean
}

/** Fields that are refused by name rather than ignored, because this server, or this version, cannot honour them. */
export function refuseWhatIsNotThere(body: ChatBody, settings: ChatSettings): void {
  const { tool_choice, priority = 0 } = body
  if (tool_choice != null && tool_choice !== 'none') {
    const given = typeof tool_choice === 'string' ? JSON.stringify(tool_choice) : 'a function'
    throw refuse('not_available', { field: 'tool_choice', given, accepted: '"none"' })
  }
  if (priority !== 0 && !settings.priority) {
    throw refuse('priority_off', { field: 'priority', given: priority })
  }
  refuseTemplates(body, settings)
}

function refuseTemplates(body: ChatBody, { requestTemplates }: ChatSettings): void {
  const kwargs = (body.chat_template_kwargs?.value ?? {}) as Record<string, unknown>
  if (!requestTemplates) {
    if (body.chat_template != null) throw refuse('request_templates_off', { field: 'chat_template' })
    if (kwargs.chat_template != null) {
      throw refuse('request_templates_off', { field: 'chat_template_kwargs.chat_template' })
    }
  }
  for (const name of ['chat_template', 'tokenize']) {
    if (Object.hasOwn(kwargs, name)) {
      throw refuse('invalid_value', {
        field: `chat_template_kwargs.${name}`,
        given: 'a name that is no variable of templates',
        accepted: name === 'tokenize' ? 'other names' : 'the field chat_template',
      })
    }
  }
}
