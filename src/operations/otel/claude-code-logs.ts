import { idOf, messageId } from '../../domain/ids.ts'
import { textOf } from './attribute-values.ts'
import { type Described, failed, lasting, messages, type Texts, toolRun } from './log-calls.ts'
import type { Logged } from './log-record.ts'
import { wholeNumber } from './span.ts'

export const isClaudeCode = ({ record: { body }, scope }: Logged): boolean =>
  scope.name.startsWith('com.anthropic.claude_code') ||
  (typeof body === 'string' && body.startsWith('claude_code.'))

/**
 * The calls that an event of Claude Code is about. A turn is everything with one prompt id. With tracing on, each record
 * names a span of the turn, and the spans have the requests and tools: then the record only adds what they lack.
 */
export function claudeCodeCalls(
  logged: Logged,
  span: { id: string; trace: string } | undefined,
): Described[] {
  const { attributes } = logged.record
  const text = (...names: string[]) => textOf(attributes, ...names)
  const session = text('session.id') ?? ''
  const key = `claude_code ${session} ${text('prompt.id') ?? ''}`
  const event = logged.name.replace(/^claude_code\./, '')
  const common = [
    ['gen_ai.conversation.id', session],
    ['gen_ai.provider.name', 'anthropic'],
    ['user.id', text('user.id')],
  ] as const
  if (text('prompt.id') === undefined && span === undefined) {
    const id = idOf(`${key} session`)
    return [{ id, trace: id, name: 'claude_code.session', attributes: common, isOutside: true }]
  }
  const origin = span ?? { id: idOf(`${key} turn`), trace: idOf(`${key} trace`) }
  const turn: Described = {
    ...origin,
    name: 'claude_code.turn',
    turn: origin.id,
    attributes: [
      ...common,
      ['gen_ai.operation.name', 'invoke_agent'],
      ['gen_ai.agent.name', 'claude-code'],
      ['gen_ai.agent.version', text('app.version')],
      ['gen_ai.input.messages', event === 'user_prompt' ? messages('user', text('prompt')) : undefined],
      [
        'gen_ai.output.messages',
        event === 'assistant_response' ? messages('assistant', text('response')) : undefined,
      ],
    ],
  }
  const child = (kind: string, id: string | undefined): Described => ({
    id: idOf(`${key} ${kind} ${id ?? text('event.sequence') ?? ''}`),
    trace: turn.trace,
    parent: turn.id,
    turn: turn.id,
    name: '',
    attributes: common,
  })
  if (span !== undefined) return [turn]
  const asked = text('request_id')
  const request = () => ({
    ...child('request', asked),
    request: asked === undefined ? undefined : messageId(asked),
    name: `chat ${text('model') ?? 'claude'}`,
    attributes: [
      ...common,
      ['gen_ai.operation.name', 'chat'],
      ['gen_ai.request.model', text('model')],
      ['gen_ai.response.id', asked],
    ] as Described['attributes'],
  })
  switch (event) {
    case 'assistant_response': {
      const { attributes: own, ...call } = request()
      return [
        turn,
        {
          ...call,
          attributes: [...own, ['gen_ai.output.messages', messages('assistant', text('response'))]],
        },
      ]
    }
    case 'api_request': {
      const { attributes: own, ...call } = request()
      return [{ ...call, attributes: [...own, ...usage(text)], fields: lasting(logged, text('duration_ms')) }]
    }
    case 'api_error':
    case 'api_refusal': {
      const status = failed(text('error', 'error_message', 'status_code') ?? event)
      return [{ ...request(), fields: { ...lasting(logged, text('duration_ms')), ...status } }]
    }
    case 'tool_decision':
    case 'tool_result':
      return [{ ...child('tool', text('tool_use_id')), ...toolRun(logged, common) }]
  }
  return [turn]
}

/** Its count of input tokens leaves out those of the cache. */
function usage(text: Texts): Described['attributes'] {
  const count = (name: string) => BigInt(/^\d{1,15}$/.exec(text(name) ?? '')?.[0] ?? 0)
  const [read, written] = [count('cache_read_tokens'), count('cache_creation_tokens')]
  return [
    ['gen_ai.usage.input_tokens', wholeNumber(count('input_tokens') + read + written)],
    ['gen_ai.usage.output_tokens', wholeNumber(count('output_tokens'))],
    ['gen_ai.usage.cache_read.input_tokens', wholeNumber(read)],
    ['gen_ai.usage.cache_creation.input_tokens', wholeNumber(written)],
    ['gen_ai.usage.cost', text('cost_usd')],
  ]
}
