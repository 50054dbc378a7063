import { idOf } from '../../domain/ids.ts'
import { textOf } from './attribute-values.ts'
import { type Described, failed, lasting, messages, type Texts, toolRun } from './log-calls.ts'
import { type Logged, timeOf } from './log-record.ts'

export const isCodex = ({ name, scope }: Logged): boolean =>
  name.startsWith('codex.') || scope.name.startsWith('codex_otel')

/**
 * Of the stream of an answer only its end and its errors say something; the rest may be hundreds of records. What Codex
 * logs of its own telemetry is of no conversation.
 */
export function isCodexNoise({ name, record: { attributes } }: Logged): boolean {
  const has = (...names: string[]) => textOf(attributes, ...names) !== undefined
  return name === 'codex.sse_event' ? !has('input_token_count', 'error.message') : !name.startsWith('codex.')
}

/**
 * The calls that an event of Codex is about. Its records name no turn: they belong to the last prompt before them. A
 * span in a record is one of the inside of Codex, which becomes the parent. `isTraced` says that spans are sent, too:
 * these count the tokens.
 */
export function codexCalls(
  logged: Logged,
  span: { id: string; trace: string } | undefined,
  isTraced: boolean,
): Described[] {
  const { attributes } = logged.record
  const text: Texts = (...names) => textOf(attributes, ...names)
  const conversation = text('conversation.id') ?? ''
  const session = idOf(`codex ${conversation} session`)
  const time = timeOf(logged.record)
  const common: Described['attributes'] = [
    ['gen_ai.conversation.id', conversation],
    ['gen_ai.provider.name', 'openai'],
  ]
  const facts: Described = {
    id: session,
    trace: session,
    name: 'codex.session',
    attributes: common,
    isOutside: true,
  }
  const child = (key: string): Described => ({
    id: idOf(`codex ${conversation} ${key}`),
    ...(span ? { trace: span.trace, parent: span.id } : { trace: session, parent: session, findsTurn: true }),
    name: '',
    attributes: common,
  })
  const request = (): Described => ({
    ...child(`request ${time}`),
    ...(text('input_token_count') !== undefined && { request: '' }),
    name: `chat ${text('model') ?? 'codex'}`,
    attributes: [
      ...common,
      ['gen_ai.operation.name', 'chat'],
      ['gen_ai.request.model', text('model')],
      ['gen_ai.usage.input_tokens', text('input_token_count')],
      ['gen_ai.usage.output_tokens', text('output_token_count')],
      ['gen_ai.usage.cache_read.input_tokens', text('cached_token_count')],
      ['gen_ai.usage.cache_creation.input_tokens', text('cache_write_token_count')],
      ['gen_ai.usage.reasoning.output_tokens', text('reasoning_token_count')],
    ],
  })
  const error = text('error.message') ?? httpError(text('http.response.status_code'))
  switch (logged.name) {
    case 'codex.user_prompt': {
      const id = idOf(`codex ${conversation} turn ${time}`)
      const origin = span ? { trace: span.trace, parent: span.id } : { trace: idOf(`${id} trace`) }
      const asked = messages('user', text('prompt'))
      return [
        {
          id,
          ...origin,
          name: 'codex.turn',
          turn: id,
          attributes: [
            ...common,
            ['gen_ai.operation.name', 'invoke_agent'],
            ['gen_ai.agent.name', 'codex'],
            ['gen_ai.agent.version', text('app.version')],
            ['gen_ai.input.messages', asked],
          ],
        },
      ]
    }
    case 'codex.tool_decision':
    case 'codex.tool_result':
      return [{ ...child(`tool ${text('call_id') ?? time}`), ...toolRun(logged, common) }]
    case 'codex.sse_event':
    case 'codex.api_request':
      if (error !== undefined) {
        return [{ ...request(), fields: { ...lasting(logged, text('duration_ms')), ...failed(error) } }]
      }
      return [text('input_token_count') !== undefined && !isTraced ? request() : facts]
  }
  return [facts]
}

const httpError = (status: string | undefined) =>
  status !== undefined && Number(status) >= 400 ? `HTTP ${status}` : undefined
