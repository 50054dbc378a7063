import { type JsonNode, jsonNode, membersOf, sourceOf, stringOf } from '../../value/json-index.ts'

interface Asked {
  origin: string
  project: string
  thread: string
  /** The body of the request. */
  body: string
}

export const forms = ['curl', 'JavaScript', 'Python'] as const
export type Form = (typeof forms)[number]

/** The same question for a terminal or a program. No key is in it. */
export function copyAs(form: Form, { origin, project, thread, body }: Asked): string {
  const headers = [['x-heddle-project', project], ...(thread ? [['x-heddle-thread', thread]] : [])]
  switch (form) {
    case 'curl':
      return [
        `curl ${origin}/v1/chat/completions`,
        '-H "Authorization: Bearer $HEDDLE_KEY"',
        "-H 'Content-Type: application/json'",
        ...headers.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
        `-d ${quoted(laidOut(jsonNode(body), jsonWords))}`,
      ].join(' \\\n  ')
    case 'JavaScript':
      return `import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: '${origin}/v1',
  apiKey: process.env.HEDDLE_KEY,
  defaultHeaders: { ${headers.map(([name, value]) => `'${name}': ${JSON.stringify(value)}`).join(', ')} },
})
const answer = await client.chat.completions.create(${laidOut(withModel(body), jsonWords)})
console.log(answer.choices[0].message)
`
    case 'Python': {
      const members = [...membersOf(withModel(body))]
      const own = members.filter(({ name }) => openAiFields.has(name))
      const others = members.filter(({ name }) => !openAiFields.has(name))
      const given = own.map(({ name, node }) => `    ${name}=${laidOut(node, pythonWords, '    ')},`)
      if (others.length > 0) {
        const extra = others.map(
          ({ name, node }) => `        ${JSON.stringify(name)}: ${laidOut(node, pythonWords, '        ')},`,
        )
        given.push(`    extra_body={\n${extra.join('\n')}\n    },`)
      }
      return `import os
from openai import OpenAI

client = OpenAI(
    base_url="${origin}/v1",
    api_key=os.environ["HEDDLE_KEY"],
    default_headers={${headers.map(([name, value]) => `"${name}": ${JSON.stringify(value)}`).join(', ')}},
)
answer = client.chat.completions.create(
${given.join('\n')}
)
print(answer.choices[0].message)
`
    }
  }
}

/** The SDKs want a model; the first one answers to an empty name. */
function withModel(body: string): JsonNode {
  const node = jsonNode(body)
  for (const { name } of membersOf(node)) if (name === 'model') return node
  return jsonNode(`{"model":"",${sourceOf(node).slice(1)}`)
}

/** Of a shell: what is between single quotes is as it is written. */
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

interface Words {
  true: string
  false: string
  null: string
}

const jsonWords: Words = { true: 'true', false: 'false', null: 'null' }
const pythonWords: Words = { true: 'True', false: 'False', null: 'None' }

/** Indented, with the digits that its numbers have. */
function laidOut(node: JsonNode, words: Words, indent = ''): string {
  const source = sourceOf(node)
  const text = stringOf(node)
  if (text !== undefined) return JSON.stringify(text)
  if (node.kind === 'boolean' || node.kind === 'null') return words[source as keyof Words]
  if (node.kind === 'number') return source
  const deeper = `${indent}  `
  const isObject = node.kind === 'object'
  const members = [...membersOf(node)].map(
    ({ name, node: value }) =>
      `${deeper}${isObject ? `${JSON.stringify(name)}: ` : ''}${laidOut(value, words, deeper)}`,
  )
  const [open, close] = isObject ? ['{', '}'] : ['[', ']']
  return members.length === 0 ? open + close : `${open}\n${members.join(',\n')}\n${indent}${close}`
}

/** Those that the SDK of Python takes by name; it sends the others from extra_body. */
const openAiFields = new Set(
  'messages model audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens metadata modalities n parallel_tool_calls presence_penalty reasoning_effort response_format seed service_tier stop store stream stream_options temperature tool_choice tools top_logprobs top_p user web_search_options'.split(
    ' ',
  ),
)
