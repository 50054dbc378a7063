import { type JsonNode, jsonNode, membersOf, nodeAt, sourceOf, stringOf } from '../../value/json-index.ts'
import { quoted } from '../../value/shell.ts'

interface Asked {
  origin: string
  project: string
  thread: string
  /** The body of the request. */
  body: string
}

export const forms = ['curl', 'JavaScript', 'Python'] as const
export type Form = (typeof forms)[number]

/** The request as a command or a program. It contains no key. */
export function copyAs(form: Form, { origin, project, thread, body }: Asked): string {
  const headers = [
    ['x-heddle-project', project],
    ...(thread ? [['x-heddle-thread', thread]] : []),
  ] as Header[]
  const stream = nodeAt(jsonNode(body), 'stream')
  const isStream = stream !== undefined && sourceOf(stream) === 'true'
  const copied = { origin, headers, body, isStream }
  if (form === 'curl') return curl(copied)
  return form === 'JavaScript' ? javaScript(copied) : python(copied)
}

type Header = [name: string, value: string]

interface Copied {
  origin: string
  headers: Header[]
  body: string
  isStream: boolean
}

/** Linux allows 128 KiB for one argument of a command; a picture in a message is longer. */
const longestArgument = 100_000

function curl({ origin, headers, body, isStream }: Copied): string {
  const json = laidOut(jsonNode(body), ofJson)
  const isLong = new TextEncoder().encode(json).length > longestArgument
  const command = [
    `curl ${isStream ? '-N ' : ''}${quoted(`${origin}/v1/chat/completions`)}`,
    '-H "Authorization: Bearer $HEDDLE_KEY"',
    "-H 'Content-Type: application/json'",
    ...headers.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    isLong ? "--data-binary @- <<'END'" : `-d ${quoted(json)}`,
  ].join(' \\\n  ')
  // No line of the JSON can equal this one, because line breaks inside its texts are escaped.
  return isLong ? `${command}\n${json}\nEND\n` : command
}

function javaScript({ origin, headers, body, isStream }: Copied): string {
  const given = headers.map(([name, value]) => `'${name}': ${headerInJavaScript(value)}`)
  const shown = isStream
    ? 'for await (const { choices } of answer) console.log(choices[0]?.delta)'
    : 'console.log(answer.choices[0].message)'
  return `import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: '${origin}/v1',
  apiKey: process.env.HEDDLE_KEY,
  defaultHeaders: { ${given.join(', ')} },
})
const answer = await client.chat.completions.create(${laidOut(withModel(body), ofJavaScript)})
${shown}
`
}

function python({ origin, headers, body, isStream }: Copied): string {
  const members = [...membersOf(withModel(body))]
  const own = members.filter(({ name }) => openAiFields.has(name))
  const others = members.filter(({ name }) => !openAiFields.has(name))
  const given = own.map(({ name, node }) => `    ${name}=${laidOut(node, ofPython, '    ')},`)
  if (others.length > 0) {
    const extra = others.map(
      ({ name, node }) => `        ${JSON.stringify(name)}: ${laidOut(node, ofPython, '        ')},`,
    )
    given.push(`    extra_body={\n${extra.join('\n')}\n    },`)
  }
  const shown = isStream
    ? `for chunk in answer:
    if chunk.choices:
        print(chunk.choices[0].delta)`
    : 'print(answer.choices[0].message)'
  return `import os
from openai import OpenAI

client = OpenAI(
    base_url="${origin}/v1",
    api_key=os.environ["HEDDLE_KEY"],
    default_headers={${headers.map(([name, value]) => `"${name}": ${headerInPython(value)}`).join(', ')}},
)
answer = client.chat.completions.create(
${given.join('\n')}
)
${shown}
`
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: whatever is beyond ASCII
const isAscii = (text: string) => /^[\x00-\x7f]*$/.test(text)

/** Headers hold bytes. Those of UTF-8 are passed as `fetch` accepts them, one character each. */
const headerInJavaScript = (value: string) =>
  isAscii(value) ? JSON.stringify(value) : `Buffer.from(${JSON.stringify(value)}).toString('latin1')`

const headerInPython = (value: string) => `${JSON.stringify(value)}${isAscii(value) ? '' : '.encode()'}`

/** The SDKs require a model; an empty name means the first one. */
function withModel(body: string): JsonNode {
  const node = jsonNode(body)
  for (const { name } of membersOf(node)) if (name === 'model') return node
  return jsonNode(`{"model":"",${sourceOf(node).slice(1)}`)
}

/** How a language writes JSON values. */
interface Language {
  word: Readonly<Record<'true' | 'false' | 'null', string>>
  number(source: string): string
  name(name: string): string
}

const ofJson: Language = {
  word: { true: 'true', false: 'false', null: 'null' },
  number: (source) => source,
  name: (name) => JSON.stringify(name),
}

const ofJavaScript: Language = {
  ...ofJson,
  // A JavaScript number would lose digits.
  number: (source) => (isExact(source) ? source : `JSON.rawJSON('${source}')`),
  // Without brackets it would set the prototype.
  name: (name) => (name === '__proto__' ? '["__proto__"]' : JSON.stringify(name)),
}

const ofPython: Language = { ...ofJson, word: { true: 'True', false: 'False', null: 'None' } }

function isExact(source: string): boolean {
  const value = Number(source)
  return /^-?\d+$/.test(source) ? Number.isSafeInteger(value) : Number.isFinite(value)
}

/** Indented, with the digits of its numbers. */
function laidOut(node: JsonNode, language: Language, indent = ''): string {
  const source = sourceOf(node)
  const text = stringOf(node)
  if (text !== undefined) return JSON.stringify(text)
  if (node.kind === 'boolean' || node.kind === 'null') return language.word[source as keyof Language['word']]
  if (node.kind === 'number') return language.number(source)
  const deeper = `${indent}  `
  const isObject = node.kind === 'object'
  const members = [...membersOf(node)].map(
    ({ name, node: value }) =>
      `${deeper}${isObject ? `${language.name(name)}: ` : ''}${laidOut(value, language, deeper)}`,
  )
  const [open, close] = isObject ? ['{', '}'] : ['[', ']']
  return members.length === 0 ? open + close : `${open}\n${members.join(',\n')}\n${indent}${close}`
}

/** Fields that the Python SDK accepts as named arguments; it sends the others from extra_body. */
const openAiFields = new Set(
  'messages model audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens metadata modalities n parallel_tool_calls presence_penalty reasoning_effort response_format seed service_tier stop store stream stream_options temperature tool_choice tools top_logprobs top_p user web_search_options'.split(
    ' ',
  ),
)
