import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../../src/storage/sql/sql.ts'
import { chatUrl } from '../../support/chat.ts'
import { scriptOf, type Turn } from '../../support/scripted-backend.ts'
import { until } from '../../support/wait.ts'
import {
  calling,
  claudeBody,
  claudeHeaders,
  commands,
  open,
  project_id,
  prompt,
  session,
} from './coding-agents.ts'

test('the answers of one prompt of Claude Code are one turn, whatever tools it uses', async (t) => {
  const { post, database, claude, callOf, threadOf, turnsOf, lines } = await open(t)
  const history: object[] = []
  const ids = await claude(history, 'List it', calling('a', 'b'), calling('c'), 'Three files.')
  const [next] = await claude(history, 'And now?', 'Nothing.')
  const calls = await Promise.all(ids.map(callOf))
  const [turn] = calls.map(({ turn_id }) => turn_id)
  assert.deepEqual(
    calls.map(({ parent_id, turn_id, trace_id, thread_id }) => [parent_id, turn_id, trace_id, thread_id]),
    ids.map(() => [turn, turn, ids[0], session]),
  )
  const whole = await callOf(turn)
  assert.deepEqual(
    [whole.op_name, whole.parent_id, whole.turn_id, whole.started_at, whole.ended_at],
    ['heddle.turn', null, turn, calls[0].started_at, calls[2].ended_at],
  )
  // A turn of one answer is the call of that.
  const last = await callOf(next)
  assert.deepEqual([last.parent_id, last.turn_id, last.trace_id], [null, next, next])
  const thread = await threadOf(session)
  assert.deepEqual(
    [thread.turn_count, thread.first_turn_id, thread.last_turn_id, thread.call_count, thread.users],
    [2, turn, next, 5, ['alice']],
  )
  const used = [...calls, last].map(({ summary }) => Object.values(summary.usage)[0])
  assert.equal(
    thread.output_tokens,
    (used as { completion_tokens: number }[]).reduce((sum, usage) => sum + usage.completion_tokens, 0),
  )
  assert.deepEqual([thread.input_preview, thread.output_preview], ['List it', 'Nothing.'])
  const shown = async () => {
    const [{ calls: roots }] = await lines('/views/calls', { filter: { trace_roots_only: true } })
    const { input_preview, output_preview } = roots.find(({ id }: { id: string }) => id === turn)
    return [input_preview, output_preview]
  }
  assert.deepEqual(await shown(), ['List it', 'Three files.'])
  // It has no text of its own: an erasure or a redaction of its answers leaves none.
  assert.deepEqual(
    await database.all(
      sql`SELECT input_preview, output_preview, inputs, output FROM calls WHERE id = ${turn}`,
    ),
    [{ input_preview: null, output_preview: null, inputs: '{}', output: null }],
  )
  assert.deepEqual(await turnsOf(session), [
    ['user: List it', 'assistant: a: done: b: done', 'assistant: c: done', 'assistant: Three files.'],
    ['user: And now?', 'assistant: Nothing.'],
  ])
  assert.equal((await post('/calls/delete', { project_id, call_ids: [ids[2]] })).status, 200)
  assert.deepEqual(await shown(), ['List it', 'Bash({"command":"c"})'])
})

test('a monitor judges the answers of a turn, and not the turn', async (t) => {
  const { post, database, claude } = await open(t)
  const short = { name: 'short', check: { kind: 'length', max: 9 } }
  const { scorer } = (await post(`/v2/${project_id}/scorers`, short)).json
  const watch = { project_id, name: 'watch', scorers: [{ scorer }] }
  assert.equal((await post('/monitors', watch)).status, 200)
  const ids = await claude([], 'List it', calling('a'), 'Three files.')
  const judged = await database.all<{ call_id: string }>(sql`SELECT call_id FROM judgements`)
  assert.deepEqual(judged.map(({ call_id }) => call_id).sort(), ids.sort())
})

test('a monitor of roots judges the last answer of each turn', async (t) => {
  const { post, database, answers, ask, claude } = await open(t, { sweep: true })
  const short = { name: 'short', check: { kind: 'length', max: 9 } }
  const { scorer } = (await post(`/v2/${project_id}/scorers`, short)).json
  const watch = { project_id, name: 'watch', scorers: [{ scorer }], filter: { trace_roots_only: true } }
  assert.equal((await post('/monitors', watch)).status, 200)
  const history: object[] = []
  const first = await claude(history, 'List it', calling('a'), calling('b'), 'Three files.')
  answers.push('Nothing.')
  const helper = { ...claudeHeaders, 'x-claude-code-agent-type': 'Explore' }
  await ask('/v1/messages', helper, claudeBody([prompt('Explore')]))
  const second = await claude(history, 'And now?', 'Nothing.')
  const judged = () =>
    database.all<{ call_id: string; state: string }>(
      sql`SELECT call_id, state FROM judgements ORDER BY call_id`,
    )
  await until('the answers are judged', async () => (await judged()).every(({ state }) => state === 'judged'))
  assert.deepEqual(
    (await judged()).map(({ call_id }) => call_id),
    [first.at(-1), second[0]].sort(),
  )
})

test('a conversation is found by its last answer, and its turn is as long as its answers', async (t) => {
  const { claude, callOf, threadOf } = await open(t)
  const [, last] = await claude([], 'List it', calling('a'), 'One file.')
  const { output_preview, last_updated, turn_count, last_turn_id, status } = await threadOf(session)
  const { turn_id, ended_at } = await callOf(last)
  assert.deepEqual(
    [output_preview, last_updated, turn_count, last_turn_id, status],
    ['One file.', ended_at, 1, turn_id, 'success'],
  )
  const whole = await callOf(turn_id)
  assert.equal(whole.display_name, 'claude-code')
  const agent = { name: 'claude-code', version: '2.1.332', folder: '/home/a b' }
  assert.deepEqual(whole.attributes.heddle, { agent })
})

test('prompts and steps that are answered at once keep to their turns', async (t) => {
  const { answers, backend, ask, claude, callOf, threadOf } = await open(t)
  const history: object[] = []
  const [first] = await claude(history, 'List it', calling('a'))
  // A second prompt of the same session is answered for as long as the first one goes on.
  const holding = Promise.withResolvers<void>()
  const { script } = backend
  const begun = Promise.withResolvers<void>()
  backend.script = async function* (request, signal) {
    begun.resolve()
    await holding.promise
    yield* scriptOf('Later')(request, signal) as Iterable<Turn>
  }
  const held = ask('/v1/messages', claudeHeaders, claudeBody([prompt('Another')]))
  await begun.promise
  backend.script = script
  answers.push('One', 'Two', 'Three')
  const steps = await Promise.all(
    [1, 2, 3].map(() => ask('/v1/messages', claudeHeaders, claudeBody(history))),
  )
  holding.resolve()
  const other = await callOf((await held).id)
  assert.deepEqual([other.parent_id, other.turn_id], [null, other.id])
  const parents = await Promise.all(steps.map(async ({ id }) => (await callOf(id)).parent_id))
  const { turn_id } = await callOf(first)
  assert.deepEqual(parents, [turn_id, turn_id, turn_id])
  assert.deepEqual(
    await threadOf(session).then(({ turn_count, call_count }) => [turn_count, call_count]),
    [2, 6],
  )
})

test('agents below the one that the user talks to are calls of its turn, and do not end it', async (t) => {
  const { ask, answers, claude, callOf, threadOf } = await open(t)
  const history: object[] = []
  answers.push(calling('a'))
  history.push(prompt('Look around'))
  const { id, json } = await ask('/v1/messages', claudeHeaders, claudeBody(history))
  const headers = { ...claudeHeaders, 'x-claude-code-agent-id': 'a-1', 'x-claude-code-agent-type': 'Explore' }
  const body = { ...claudeBody([prompt('Explore the folder')]), system: 'You explore.' }
  const below = await Promise.all(
    ['It is empty.', 'It is large.'].map((answer) => {
      answers.push(answer)
      return ask('/v1/messages', headers, body)
    }),
  )
  history.push({ role: 'assistant', content: json.content })
  const [{ id: tool_use_id }] = json.content
  history.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id, content: 'empty' }] })
  answers.push('Nothing there.')
  const last = await ask('/v1/messages', claudeHeaders, claudeBody(history))
  const calls = await Promise.all([...below, last].map((answer) => callOf(answer.id)))
  const { turn_id } = await callOf(id)
  for (const call of calls) assert.deepEqual([call.parent_id, call.turn_id], [turn_id, turn_id])
  assert.equal((await callOf(below[0]?.id)).attributes.heddle.subagent, 'Explore')
  assert.equal((await threadOf(session)).turn_count, 1)
  // An agent in the background has ended.
  history.push({ role: 'assistant', content: last.json.content })
  history.push({
    role: 'user',
    content: [{ type: 'text', text: '<system-reminder>\nIt is done.\n</system-reminder>' }],
  })
  assert.equal(
    (await callOf((await ask('/v1/messages', claudeHeaders, claudeBody(history))).id)).turn_id,
    turn_id,
  )
  await claude(history, 'Thanks', 'Welcome.')
  assert.equal((await threadOf(session)).turn_count, 2)
})

test('a turn of Codex has the requests that name it', async (t) => {
  const { ask, answers, callOf, threadOf, turnsOf } = await open(t)
  const thread = '0199b4a2-6d3c-7cc1-a2d4-3f5b6c7d8e9f'
  const input: object[] = [
    { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be brief.' }] },
    {
      ...{ type: 'message', role: 'user' },
      content: [
        { type: 'input_text', text: '<environment_context>\n  <cwd>/home/c</cwd>\n</environment_context>' },
      ],
    },
  ]
  const send = (turn_id: string | undefined) =>
    ask(
      '/v1/responses',
      {
        'user-agent': 'codex_exec/0.171.0 (linux)',
        originator: 'codex_exec',
        'x-heddle-record': 'on',
        'session-id': thread,
        'thread-id': thread,
        ...(turn_id && {
          'x-codex-turn-metadata': JSON.stringify({ session_id: thread, thread_id: thread, turn_id }),
        }),
      },
      {
        model: 'scripted',
        input,
        store: false,
        prompt_cache_key: thread,
        tools: [{ type: 'function', name: 'Bash', parameters: commands, strict: false }],
      },
    )
  const spoken = (text: string) => ({
    type: 'message',
    role: 'user',
    content: [{ type: 'input_text', text }],
  })
  async function codex(text: string, turn: string | undefined, ...replies: string[]): Promise<string[]> {
    answers.push(...replies)
    input.push(spoken(text))
    const ids: string[] = []
    for (const _ of replies) {
      const { id, json } = await send(turn)
      ids.push(id)
      const items = json.output.map(({ id: _id, status: _status, ...item }: Record<string, unknown>) => item)
      const used = items.filter(({ type }: { type: string }) => type === 'function_call')
      input.push(...items)
      for (const { call_id } of used) input.push({ type: 'function_call_output', call_id, output: 'done' })
    }
    await Promise.all(ids.map(callOf))
    return ids
  }
  const first = await codex('List it', 'turn-1', calling('a', 'b'), calling('c'), 'Three files.')
  // Something is said to the agent while it works.
  const second = await codex('Sort it', 'turn-1', calling('d'), 'Sorted.')
  const third = await codex('Again', 'turn-2', calling('e'), 'Again.')
  const old = await codex('Without names', undefined, calling('f'), 'Done.')
  const turnOfAll = async (ids: string[]) => [
    ...new Set(await Promise.all(ids.map(async (id) => (await callOf(id)).turn_id))),
  ]
  const turns = await Promise.all([[...first, ...second], third, old].map(turnOfAll))
  assert.deepEqual(
    turns.map(({ length }) => length),
    [1, 1, 1],
  )
  assert.equal(new Set(turns.flat()).size, 3)
  assert.equal((await threadOf(thread)).turn_count, 3)
  assert.equal((await callOf(third[0])).attributes.heddle.agent.folder, '/home/c')
  assert.deepEqual(await turnsOf(thread), [
    [
      ...[
        'user: List it',
        'assistant: a: done',
        'assistant: b: done',
        'assistant: c: done',
        'assistant: Three files.',
      ],
      ...['user: Sort it', 'assistant: d: done', 'assistant: Sorted.'],
    ],
    ['user: Again', 'assistant: e: done', 'assistant: Again.'],
    ['user: Without names', 'assistant: f: done', 'assistant: Done.'],
  ])
})

test('a step of chat completions goes on with the turn of its thread, and only there', async (t) => {
  const { ask, callOf } = await open(t)
  const call = { id: 'call_1', type: 'function', function: { name: 'Bash', arguments: '{"command":"a"}' } }
  const asked = [{ role: 'user', content: 'List it' }]
  const answered = [
    ...asked,
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_1', content: 'done' },
  ]
  const send = async (messages: object[], headers = {}) =>
    callOf((await ask(chatUrl, headers, { model: 'scripted', messages })).id)
  const thread = { 'x-heddle-thread': 'a thread' }
  const first = await send(asked, thread)
  const step = await send(answered, thread)
  const { turn_id } = await callOf(first.id)
  assert.deepEqual([step.parent_id, step.turn_id, step.trace_id], [turn_id, turn_id, first.trace_id])
  // A conversation may begin with results here.
  const alone = await send(answered, { 'x-heddle-thread': 'another' })
  assert.deepEqual([alone.parent_id, alone.turn_id], [null, alone.id])
  // What names its place keeps it.
  const below = await send(answered, { ...thread, 'x-heddle-parent': first.id })
  assert.deepEqual([below.parent_id, below.turn_id], [first.id, null])
  for (const messages of [asked, answered]) {
    const { parent_id, turn_id, trace_id, id } = await send(messages)
    assert.deepEqual([parent_id, turn_id, trace_id], [null, null, id])
  }
})
