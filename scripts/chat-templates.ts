import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { AnswerFormat, CallFormat, Literal } from '../packages/chat-format/index.ts'
import { loadRendering } from '../packages/chat-format/index.ts'
import { cell } from './pages.ts'

/**
 * Collects the chat templates of public models from the engine's own repository. They are not ours to store here: the
 * engine's package contains that repository as a bundle, which git reads. `node scripts/chat-templates.ts` writes
 * docs/tool-formats.md.
 */

const modules = fileURLToPath(new URL('../node_modules', import.meta.url))
const bundle = join(modules, 'node-llama-cpp/llama/gitRelease.bundle')
const kept = join(modules, '.cache/heddle-chat-templates')
const ending = '.jinja'

export interface PublicTemplate {
  name: string
  text: string
}

/** Returns the reason if they are not available. */
export function publicTemplates(): PublicTemplate[] | string {
  if (!existsSync(kept)) {
    const trouble = bring()
    if (trouble !== undefined) return trouble
  }
  return readdirSync(kept)
    .filter((file) => file.endsWith(ending))
    .toSorted()
    .map((file) => ({ name: file.slice(0, -ending.length), text: readFileSync(join(kept, file), 'utf8') }))
}

function bring(): string | undefined {
  if (!existsSync(bundle)) return 'the package of the engine has no bundle of its repository'
  const folder = mkdtempSync(join(tmpdir(), 'chat-templates-'))
  const git = (...given: string[]) =>
    spawnSync('git', given, { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' })
  try {
    for (const step of [
      ['clone', '--quiet', '--no-checkout', bundle, folder],
      ['-C', folder, 'checkout', '--quiet', 'HEAD', '--', 'models/templates'],
    ]) {
      const { error, status, stderr } = git(...step)
      if (error !== undefined) return `git cannot be run: ${error.message}`
      if (status !== 0) return `git ${step[0]} fails: ${stderr.trim()}`
    }
    mkdirSync(join(modules, '.cache'), { recursive: true })
    // Another process may be doing the same, so the file appears complete or not at all.
    const made = `${kept}-${process.pid}`
    cpSync(join(folder, 'models/templates'), made, { recursive: true })
    if (existsSync(kept)) rmSync(made, { recursive: true })
    else renameSync(made, kept)
    return undefined
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const { createRendering } = await loadRendering()
const bounds = { limitMs: 60_000, maxTextLength: 8_000_000, maxListLength: 1_000_000 }

/** The format as a server would detect it, with the usual names of tokens. */
export function formatOfTemplate({ name, text }: PublicTemplate): AnswerFormat {
  const answer = createRendering(bounds).find({ template: text, tokens: { bos: '<s>', eos: '</s>' } })
  if (answer.kind === 'found') return answer.format
  throw new Error(`${name}: ${answer.kind === 'failed' ? answer.why : answer.limit}`)
}

/** The results for each template, for docs/tool-formats.md. */
export function formatsPage(templates: readonly PublicTemplate[]): string {
  const found = templates.map((template) => ({ name: template.name, format: formatOfTemplate(template) }))
  const count = (proof: AnswerFormat['proof']) => found.filter(({ format }) => format.proof === proof).length
  const byFormat = Map.groupBy(found, ({ format }) =>
    [callsShown(format), thoughtShown(format)].map((text) => cell(text)).join(' | '),
  )
  const nameShown = ({ name, format }: (typeof found)[number]) =>
    format.proof === 'proven' ? `\`${name}\`` : `\`${name}\` (${format.proof})`
  const rows = [...byFormat].map(([format, ofFormat]) => `${ofFormat.map(nameShown).join(', ')} | ${format}`)
  return `# Formats of calls and thoughts

<!-- Written by \`node scripts/chat-templates.ts\`. -->

When a model is loaded, the format of its tool calls and thoughts is found by rendering its chat template with probes; \`tools\` in
\`/v1/models\` says which one. These are the ${found.length} templates of public models that the engine's repository collects:

- ${count('proven')} are proven: random calls, with texts that are hard to tell from the marks, were rendered and read back as the same.
- **own** (${count('own')}): Heddle has code for it, because data cannot describe it, or the template shows no calls but its models' format
  is known.
- **generic** (${count('generic')}): the template shows no calls, or none that can be read back. Tools are in the system message, calls
  between \`<tool_call>\` marks, results in messages of the user.

| Template | First call begins | Thought |
| --- | --- | --- |
${rows.map((row) => `| ${row} |`).join('\n')}

## llama.cpp's own cases

\`node scripts/chat-cases.ts\` reads the texts of \`tests/test-chat.cpp\` as the server does. Of 456 cases, 362 apply, and 349 pass. Most of the
13 others differ on purpose: a whole call inside a thought ends it, a call of a tool that nobody offered is shown as text. \`--show\` prints
them.
`
}

function callsShown({ calls }: AnswerFormat): string {
  if ('own' in calls) return calls.own
  return shownCode(`${literal(calls.open)}NAME${literal(calls.mid)}${argumentsShown(calls)}`)
}

function argumentsShown({ arguments: given }: CallFormat): string {
  if (given.kind === 'json') return given.isQuoted ? '"{…}"' : '{…}'
  if (given.kind === 'python') return "KEY='VALUE'"
  if (given.kind === 'elements') return `${given.prefix}<KEY>VALUE${given.prefix}</KEY>`
  const { before, mid, after } = given.values.string
  return `${before}KEY${mid}VALUE${after}`
}

const literal = (parts: Literal) =>
  parts.map((part) => (typeof part === 'string' ? part : `{${part.hole}}`)).join('')
const thoughtShown = ({ reasoning }: AnswerFormat) =>
  reasoning === undefined ? '' : `${shownCode(reasoning.open)} … ${shownCode(reasoning.close)}`
const shownCode = (text: string) => `\`${text.replaceAll('\n', '⏎').replaceAll('`', 'ˋ')}\``

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const templates = publicTemplates()
  if (typeof templates === 'string') throw new Error(templates)
  writeFileSync(new URL('../docs/tool-formats.md', import.meta.url), formatsPage(templates))
}
