import { z } from 'zod'
import { answer, flag, plainText, projectId } from '../../domain/fields.ts'
import { agentName, page, startedRange, unsupported } from './contract.ts'

export const defaultConversations = 20

export const AgentSearchBody = z
  .strictObject({
    project_id: projectId,
    query: plainText(1_000).nullish().meta({
      default: '',
      description: 'Words, "a phrase", -excluded, as in /views/search. Empty: lists by the filters.',
    }),
    trace_id: plainText(128).nullish(),
    conversation_id: plainText(512).nullish(),
    agent_name: agentName.nullish().describe('Only calls that name this agent.'),
    provider_name: plainText(512).nullish(),
    request_model: plainText(512).nullish(),
    roles: unsupported('the index does not know who said a word'),
    ...startedRange,
    truncate_content: flag(true).describe('Only true: matches are excerpts.'),
    ...page(1_000, defaultConversations),
  })
  .refine(({ truncate_content }) => truncate_content !== false, {
    path: ['truncate_content'],
    error: 'expected true: matches are excerpts',
  })
export type AgentSearchBody = z.output<typeof AgentSearchBody>

const text = z.string().nullable()

export const AgentSearchAnswer = answer(
  'Conversations with the newest calls that match, at most 200 calls in all.',
  {
    results: z.array(
      z.object({
        conversation_id: z.string().describe('__NO_CONVERSATION__ of calls outside of any.'),
        conversation_name: text,
        agent_name: text,
        matched_messages: z.array(
          z.object({
            span_id: z.string(),
            trace_id: z.string(),
            role: z.enum(['', 'user', 'assistant']).describe('user of inputs, assistant of outputs.'),
            content_preview: z.string(),
            content_digest: z.string(),
            started_at: z.iso.datetime(),
          }),
        ),
        last_activity: z.iso.datetime(),
      }),
    ),
    total_conversations: z.int().min(0),
  },
)
