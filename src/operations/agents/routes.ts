import { family, operation } from '../parts.ts'
import { queryAgents, queryVersions } from './agents.ts'
import { findAttributes } from './attributes.ts'
import { readConversationChat, readTraceChat } from './chat.ts'
import {
  ConversationChatAnswer,
  ConversationChatBody,
  TraceChatAnswer,
  TraceChatBody,
} from './chat-contract.ts'
import * as contract from './contract.ts'
import { readSpansOfConversations } from './conversation-spans.ts'
import { searchAgents } from './search.ts'
import { AgentSearchAnswer, AgentSearchBody } from './search-contract.ts'
import { readSpanFigures } from './span-stats.ts'
import { querySpans } from './spans.ts'
import { ConversationSpansAnswer, ConversationSpansBody, SpansAnswer, SpansBody } from './spans-contract.ts'
import { SpanStatsAnswer, SpanStatsBody } from './stats-contract.ts'

const common = { right: 'read', tags: ['agents'], refusals: ['invalid_value', 'query_too_slow'] } as const

export const agentRoutes = family(
  operation('POST', '/agents/query', {
    ...common,
    summary: 'List the agents of a project with what they did and used',
    body: contract.AgentsBody,
    answer: contract.AgentsAnswer,
    rule: ({ db }, { caller, body }) => queryAgents(db, caller, body),
  }),
  operation('POST', '/agents/agent-versions/query', {
    ...common,
    summary: 'List the versions of an agent',
    body: contract.AgentVersionsBody,
    answer: contract.AgentVersionsAnswer,
    rule: ({ db }, { caller, body }) => queryVersions(db, caller, body),
  }),
  operation('POST', '/agents/spans/query', {
    ...common,
    summary: 'List spans, or groups of them with sums',
    body: SpansBody,
    answer: SpansAnswer,
    rule: ({ db }, { caller, body }) => querySpans(db, caller, body),
  }),
  operation('POST', '/agents/spans/stats', {
    ...common,
    summary: 'Add up values of spans by time and group',
    body: SpanStatsBody,
    answer: SpanStatsAnswer,
    rule: ({ db }, { caller, body }) => readSpanFigures(db, caller, body),
  }),
  operation('POST', '/agents/spans/custom-attrs/schema', {
    ...common,
    summary: 'Find the attributes that spans have beside those of conventions',
    body: contract.AttributesBody,
    answer: contract.AttributesAnswer,
    rule: ({ db }, { caller, body }) => findAttributes(db, caller, body),
  }),
  operation('POST', '/agents/search', {
    ...common,
    summary: 'Find conversations by words',
    refusals: ['invalid_value', 'search_off', 'query_too_slow'],
    body: AgentSearchBody,
    answer: AgentSearchAnswer,
    rule: (services, { caller, body }) => searchAgents(services, caller, body),
  }),
  operation('POST', '/agents/traces/chat', {
    ...common,
    summary: 'Read a trace as a chat',
    body: TraceChatBody,
    answer: TraceChatAnswer,
    rule: ({ db }, { caller, body }) => readTraceChat(db, caller, body),
  }),
  operation('POST', '/agents/conversations/chat', {
    ...common,
    summary: 'Read the newest turns of a conversation as a chat',
    body: ConversationChatBody,
    answer: ConversationChatAnswer,
    rule: ({ db }, { caller, body }) => readConversationChat(db, caller, body),
  }),
  operation('POST', '/agents/conversations/spans', {
    ...common,
    summary: 'List the spans of conversations in brief',
    body: ConversationSpansBody,
    answer: ConversationSpansAnswer,
    rule: ({ db }, { caller, body }) => readSpansOfConversations(db, caller, body),
  }),
)
