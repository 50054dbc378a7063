import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { copyAs, type Form } from '../../../ui/screens/play/copy-as.ts'
import { keys, openApp } from '../../support/app.ts'
import { modelsOfUpstream, startFakeUpstream, streamWords } from '../../support/fake-upstream.ts'
import { digestOf, pngOf } from '../../support/pictures.ts'

const run = promisify(execFile)
const file = { after }

// An upstream that accepts images and every field.
const upstream = await startFakeUpstream(file, streamWords('Hel', 'lo'), {
  models: [{ id: 'far', object: 'model', owned_by: 'vllm' }],
})
const { app, post } = await openApp(file, { models: await modelsOfUpstream([upstream.url]) })
const origin = await app.listen({ host: '127.0.0.1', port: 0 })

const project = 'acme/größe 🧵'.replaceAll(' ', '-')
const thread = `it's "ours", 20 % — מבחן`

/** Runs in a folder from which the OpenAI package can be imported. */
const options = {
  cwd: new URL('..', import.meta.url),
  env: { ...process.env, HEDDLE_KEY: keys.alice },
  encoding: 'utf8',
} as const

/** Fed through standard input, like text pasted into a terminal, because the length of an argument is limited. */
function fed(text: string, command: string, ...args: string[]) {
  const running = run(command, args, options)
  running.child.stdin?.end(text)
  return running
}

const runs: Record<Form, (text: string) => Promise<{ stdout: string }>> = {
  curl: (text) => fed(text.replace(/^curl /, 'curl --silent --show-error '), 'bash', '-s'),
  JavaScript: (text) => fed(text, process.execPath, '--input-type=module', '-'),
  Python: (text) => fed(text, 'python3', '-c', 'import ast, sys; ast.parse(sys.stdin.buffer.read())'),
}

const messages = [{ role: 'user', content: 'It\'s $HOME `ls` \\ "so"\nEND\n\u2028' }]
const schema = {
  type: 'object',
  properties: JSON.parse('{"__proto__": {"type": "string"}}'),
  required: ['__proto__'],
}
const png = pngOf(4, 3, 180_000)
const picture = `data:image/png;base64,${png.toString('base64')}`
const pngDigest = digestOf(png)

/** The record has a picture as a file, which its digest names. */
const withDigests = (body: object) =>
  JSON.parse(JSON.stringify(body), (_, value) =>
    value === picture ? pngDigest : value?._type === 'CustomWeaveType' ? value.files.content : value,
  )

const bodies: Record<string, object> = {
  'a plain question': { messages },
  'a stream': { messages, stream: true, stream_options: { include_usage: true } },
  'calls of tools': {
    messages: [
      ...messages,
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":"\'"}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: '7' },
    ],
    tools: [{ type: 'function', function: { name: 'f', parameters: schema } }],
    tool_choice: 'auto',
  },
  'structured output': {
    messages,
    response_format: { type: 'json_schema', json_schema: { name: 'thing', schema, strict: true } },
  },
  'a picture longer than an argument of a command may be': {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is it?' },
          { type: 'image_url', image_url: { url: picture } },
        ],
      },
    ],
  },
  'fields of sampling': {
    messages,
    temperature: 0.5,
    seed: 42,
    stop: ["'", '\n'],
    logprobs: true,
    top_logprobs: 2,
    top_k: 7,
  },
}

async function lastInputs(): Promise<string> {
  const { text } = await post('/calls/stream_query', {
    project_id: project,
    filter: { thread_ids: [thread] },
    sort_by: [{ field: 'started_at', direction: 'desc' }],
    columns: ['inputs'],
    limit: 1,
  })
  return text
}

for (const form of ['curl', 'JavaScript'] as const) {
  for (const [what, body] of Object.entries(bodies)) {
    test(`${form} copied from the page sends the same request and shows the answer: ${what}`, async () => {
      const { stdout } = await runs[form](
        copyAs(form, { origin, project, thread, body: JSON.stringify(body) }),
      )
      assert.match(stdout, /Hel/)
      const { model = '', ...inputs } = JSON.parse(await lastInputs()).inputs
      assert.equal(model, '')
      assert.deepEqual(withDigests(inputs), withDigests(body))
    })
  }

  test(`${form} copied from the page keeps the digits of a number`, async () => {
    const body = '{"messages":[{"role":"user","content":"Hi"}],"seed":9007199254740993}'
    await runs[form](copyAs(form, { origin, project, thread, body }))
    assert.match(await lastInputs(), /"seed":9007199254740993[,}]/)
  })
}

const hasPython = await run('python3', ['--version']).then(
  () => true,
  () => false,
)

test('Python copied from the page is valid Python', {
  skip: hasPython ? false : 'there is no python3 here',
}, async () => {
  for (const body of Object.values(bodies))
    await runs.Python(copyAs('Python', { origin, project, thread, body: JSON.stringify(body) }))
})
