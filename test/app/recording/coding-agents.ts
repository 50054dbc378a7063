import assert from 'node:assert/strict'
import { nothingBefore, type TurnCall, turnOf } from '../../../packages/conversations/index.ts'
import { basic, keys, openApp, type TestParts } from '../../support/app.ts'
import { scriptedBackend, scriptOf, type Turn } from '../../support/scripted-backend.ts'

export const project_id = 'acme/default'
export const session = '3f0c0a52-5c0b-4c5c-9f6e-7a6b1f2f3c4d'

/** Requests as Claude Code sends them: each repeats what was said before. */
export const claudeHeaders = {
  'user-agent': 'claude-cli/2.1.332 (external, sdk-cli)',
  'x-app': 'cli',
  'x-claude-code-session-id': session,
}
export const reminder = {
  type: 'text',
  text: '<system-reminder>\nThe date is a Tuesday.\n</system-reminder>',
}
export const prompt = (text: string) => ({ role: 'user', content: [reminder, { type: 'text', text }] })
export const commands = { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] }
export const claudeBody = (messages: readonly object[]) => ({
  model: 'scripted',
  max_tokens: 1_000,
  system: [
    { type: 'text', text: 'You are Claude Code.\n - Primary working directory: /home/a b\n - Shell: sh' },
  ],
  messages,
  tools: [{ name: 'Bash', input_schema: commands }],
  metadata: { user_id: JSON.stringify({ device_id: 'd', account_uuid: '', session_id: session }) },
})

/** What the model writes that calls the tool with each of these. */
export const calling = (...names: string[]) =>
  names
    .map(
      (command) => `<tool_call>\n${JSON.stringify({ name: 'Bash', arguments: { command } })}\n</tool_call>`,
    )
    .join('\n')

export async function open(t: Parameters<typeof openApp>[0], parts: TestParts = {}) {
  /** What the model answers, one after the other. */
  const answers: string[] = []
  const backend = scriptedBackend(function* (request, signal) {
    yield* scriptOf(answers.shift() ?? 'Bye')(request, signal) as Iterable<Turn>
  })
  const { app, post, database } = await openApp(t, { backend, ...parts })
  async function ask(url: string, headers: Record<string, string>, body: object) {
    const response = await app.inject({
      method: 'POST',
      url,
      headers: { authorization: basic(keys.alice), 'content-type': 'application/json', ...headers },
      payload: JSON.stringify(body),
    })
    assert.equal(response.statusCode, 200, response.body)
    const id = String(response.headers['x-heddle-call-id'])
    return { id, json: response.json(), request: String(response.headers['request-id']) }
  }
  const read = async (path: string, body: object) => {
    const { status, json } = await post(path, { project_id, ...body })
    assert.equal(status, 200, JSON.stringify(json))
    return json
  }
  const callOf = async (id: string | undefined) => (await read('/call/read', { id })).call
  const lines = async (path: string, body: object) => {
    const response = await app.inject({
      method: 'POST',
      url: path,
      headers: { authorization: basic(keys.alice), 'content-type': 'application/json' },
      payload: JSON.stringify({ project_id, ...body }),
    })
    assert.equal(response.statusCode, 200, response.body)
    return response.body
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
  }
  const threadOf = async (id: string) =>
    (await lines('/threads/stream_query', { filter: { thread_ids: [id] }, include_details: true }))[0]
  /** The turns of a conversation, and what each says. */
  async function turnsOf(thread: string) {
    const calls = await lines('/calls/stream_query', {
      filter: { thread_ids: [thread] },
      sort_by: [{ field: 'started_at', direction: 'asc' }],
    })
    const asTurnCall = (call: Record<string, unknown>): TurnCall => ({
      inputs: JSON.stringify(call.inputs),
      output: JSON.stringify(call.output),
      attributes: JSON.stringify(call.attributes),
      children: calls.filter(({ parent_id }) => parent_id === call.id).map(asTurnCall),
    })
    let before = nothingBefore
    return calls
      .filter(({ parent_id }) => parent_id === null)
      .map((call) => {
        const { asked, answered, after } = turnOf(asTurnCall(call), before)
        before = after
        return [...asked, ...answered]
          .filter(({ role }) => role !== 'system' && role !== 'developer')
          .map(({ role, blocks }) =>
            [
              role,
              ...blocks.flatMap((block) =>
                block.kind === 'text' && !block.text.startsWith('<')
                  ? [block.text]
                  : block.kind === 'call'
                    ? [
                        `${JSON.parse(block.input).command}`,
                        ...(block.result?.content ?? []).flatMap((part) =>
                          part.kind === 'text' ? [part.text] : [],
                        ),
                      ]
                    : [],
              ),
            ].join(': '),
          )
          .filter((line) => line !== 'user')
      })
  }
  /** Sends a prompt in the words of Claude Code, and uses tools until there is an answer. Returns the ids of its calls. */
  async function claude(history: object[], text: string, ...replies: string[]): Promise<string[]> {
    answers.push(...replies)
    history.push(prompt(text))
    const ids: string[] = []
    for (const _ of replies) {
      const { id, json } = await ask('/v1/messages', claudeHeaders, claudeBody(history))
      ids.push(id)
      history.push({ role: 'assistant', content: json.content })
      const used = (json.content as Record<string, string>[]).filter(({ type }) => type === 'tool_use')
      const results = used.map(({ id: tool_use_id }) => ({
        type: 'tool_result',
        tool_use_id,
        content: 'done',
      }))
      if (used.length > 0) history.push({ role: 'user', content: [...results, reminder] })
    }
    // What was answered may wait to be written.
    await Promise.all(ids.map(callOf))
    return ids
  }
  return { post, database, backend, answers, ask, claude, callOf, threadOf, turnsOf, lines }
}
