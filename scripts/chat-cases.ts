// Runs Heddle's reader on the answers in llama.cpp's chat tests: `node scripts/chat-cases.ts [--out FILE] [--show]`.
// The tests come from the bundle in node-llama-cpp and are not part of this repository.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual, parseArgs } from 'node:util'
import {
  alternativeSpellings,
  createAnswerReader,
  firstMarker,
  loadRendering,
  resolved,
  thoughtStartOf,
} from '../packages/chat-format/index.ts'
import { type ChatCase, casesOf } from './chat-cases/cases.ts'

const { values: options } = parseArgs({
  options: { out: { type: 'string' }, show: { type: 'boolean', default: false } },
})
const bounds = { limitMs: 10_000, maxTextLength: 10_000_000, maxListLength: 1_000_000 }
const bundle = fileURLToPath(
  new URL('../node_modules/node-llama-cpp/llama/gitRelease.bundle', import.meta.url),
)
const { createRendering } = await loadRendering()
const rendering = createRendering(bounds)
const formats = new Map<string, ReturnType<typeof rendering.find>>()
const clone = mkdtempSync(join(tmpdir(), 'heddle-chat-cases-'))

try {
  execFileSync('git', ['clone', '--quiet', '-c', 'advice.detachedHead=false', bundle, clone], {
    stdio: 'inherit',
  })
  const { cases, unread } = casesOf(readFileSync(join(clone, 'tests/test-chat.cpp'), 'utf8'))
  if (options.out !== undefined) {
    writeFileSync(options.out, cases.map((one) => `${JSON.stringify(one)}\n`).join(''))
  }
  report(cases, unread)
} finally {
  rmSync(clone, { recursive: true, force: true })
}

interface Told {
  content: string
  reasoning: string
  calls: ChatCase['calls']
}

function report(cases: readonly ChatCase[], unread: number): void {
  const counts = new Map<string, number>()
  for (const one of cases) {
    const outcome = outcomeOf(one)
    counts.set(outcome.kind, (counts.get(outcome.kind) ?? 0) + 1)
    if (outcome.kind === 'differs' && options.show) {
      const { content, reasoning, calls } = one
      console.log(one.template.split('/').at(-1), JSON.stringify(one.text))
      console.log('  wanted', JSON.stringify({ content, reasoning, calls }))
      console.log('  told  ', JSON.stringify(outcome.told))
    }
  }
  console.log(`${cases.length} cases, ${unread} more could not be read`)
  for (const [kind, count] of counts) console.log(`${count}\t${kind}`)
}

function outcomeOf(one: ChatCase): { kind: string; told?: Told } {
  if (one.isContinued) return { kind: 'continues a message that the request has begun' }
  const template = readFileSync(join(clone, one.template), 'utf8')
  const found = formats.get(template) ?? rendering.find({ template, tokens: { bos: '', eos: '' } })
  formats.set(template, found)
  if (found.kind !== 'found') return { kind: `has a template without a format: ${found.kind}` }
  const { format, markers } = resolved(found.format, controlTokensOf(template))
  const { reasoning } = format
  const tools = one.tools.map(({ name, parameters }) => ({
    type: 'function',
    function: { name, description: 'Does it.', parameters },
  }))
  const rendered = rendering.render({
    template,
    messages: [{ role: 'user', content: 'Hey' }],
    variables: JSON.stringify({
      add_generation_prompt: true,
      ...(tools.length > 0 && { tools }),
      enable_thinking: one.isThinking,
      ...(one.isThinking ? reasoning?.switches.on : reasoning?.switches.off),
    }),
    open: false,
  })
  if (rendered.kind !== 'rendered') return { kind: `has a template that does not render: ${rendered.kind}` }
  const offered = one.tools.map((tool) => ({ ...tool, strict: false }))
  const told = toldOf(
    createAnswerReader({
      ...(reasoning && { reasoning }),
      thought: thoughtStartOf(found.format.reasoning, rendered.text),
      ...(format.closings && { closings: format.closings }),
      ...('own' in format.calls && { own: format.calls }),
      ...(one.tools.length > 0 &&
        one.choice !== 'none' && {
          calls: {
            format: format.calls,
            tools: offered,
            second: alternativeSpellings({ calls: { format: format.calls, tools: offered, choice: 'auto' } }),
            newId: String,
            // llama.cpp reads further calls even without it.
            isParallel: true,
          },
        }),
    }),
    drawn(one.text, template, markers),
  )
  if (isRight(one, told)) return { kind: 'passes' }
  if (!one.hasReasoning && told.reasoning !== '') return { kind: 'wants the thought in the content' }
  return { kind: 'differs', told }
}

/** Models have tokens for marks of this form, and the engine writes those that the format knows as markers. */
function controlTokensOf(template: string): string[] {
  return [...new Set(template.match(/<[|｜][^|｜<>\s]+[|｜]>|<[|][a-z_]+>|<[a-z_]+[|]>/g))]
}

function drawn(text: string, template: string, markers: readonly string[]): string {
  return controlTokensOf(template)
    .sort((a, b) => b.length - a.length)
    .reduce((all, name) => {
      const marker = markers.indexOf(name)
      return all.replaceAll(name, marker === -1 ? '' : String.fromCharCode(firstMarker + marker))
    }, text)
}

function toldOf(reader: ReturnType<typeof createAnswerReader>, text: string): Told {
  const told: Told = { content: '', reasoning: '', calls: [] }
  for (const part of [...reader.push(text), ...reader.end()]) {
    if (part.kind === 'content' || part.kind === 'reasoning') told[part.kind] += part.text
    else if (part.kind === 'call') told.calls.push({ name: part.name, arguments: '' })
    else if (part.kind === 'arguments')
      (told.calls[part.index] as { arguments: string }).arguments += part.text
  }
  return told
}

/** White space at the ends of texts and inside JSON is not compared. */
function isRight(one: ChatCase, told: Told): boolean {
  if (one.content.trim() !== told.content.trim() || one.reasoning.trim() !== told.reasoning.trim())
    return false
  const plain = (calls: ChatCase['calls']) => calls.map((call) => [call.name, parsedOr(call.arguments)])
  return isDeepStrictEqual(plain(one.calls), plain(told.calls))
}

function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text.replaceAll(/\s/g, '')
  }
}
