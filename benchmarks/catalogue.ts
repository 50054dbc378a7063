/**
 * What a catalogue of tools costs before an answer begins: `npx node benchmarks/catalogue.ts`. Each figure is the median
 * of nine; the first time is measured with a compiler whose cache is empty.
 */

import type { OfferedTool } from '../packages/chat-format/index.ts'
import { createMatcher, sizeOfGrammar } from '../packages/constraints/index.ts'
import { createConstraintCompiler } from '../src/inference/constraints/compile.ts'
import { callFormats } from '../test/support/call-formats.ts'

const kinds: readonly Record<string, unknown>[] = [
  { type: 'string', description: 'The path of a file, from the root of the project on.' },
  { type: 'integer', minimum: 0, maximum: 100_000, description: 'How many.' },
  { type: 'boolean', default: false },
  { type: 'string', enum: ['open', 'closed', 'merged', 'all'], default: 'open' },
  { type: 'array', items: { type: 'string' }, maxItems: 100, description: 'Labels.' },
  { type: ['string', 'null'], format: 'date-time' },
  {
    type: 'object',
    properties: { key: { type: 'string', maxLength: 200 }, value: { type: 'number' } },
    required: ['key'],
  },
  { anyOf: [{ type: 'string', format: 'uri' }, { type: 'integer' }] },
  { type: 'string', pattern: '^[a-z0-9-]+/[a-z0-9-]+$', description: 'Owner and repository.' },
]

function catalogue(count: number): OfferedTool[] {
  return Array.from({ length: count }, (_, at) => {
    const names = Array.from({ length: 3 + (at % 5) }, (_, part) => `field_${part}_${at % 7}`)
    const properties = Object.fromEntries(
      names.map((name, part) => [name, kinds[(at + part) % kinds.length]]),
    )
    return {
      name: `service_${at % 16}_operation_${at}`,
      parameters: { type: 'object', properties, required: names.slice(0, 1 + (at % 3)) },
      strict: false,
    }
  })
}

function median(run: () => number): number {
  const times = Array.from({ length: 9 }, run).sort((one, other) => one - other)
  return times[4] ?? 0
}

function timed(run: () => void): number {
  const begun = performance.now()
  run()
  return performance.now() - begun
}

for (const name of ['hermes', 'lists of calls behind a token', 'tags of XML']) {
  const format = callFormats[name]
  if (format === undefined) continue
  for (const count of [16, 64, 128, 256]) {
    const tools = catalogue(count)
    const asked = (offered: readonly OfferedTool[]) =>
      ({
        kind: 'turn',
        thought: 'over',
        calls: { format, tools: offered, choice: 'auto', isParallel: true },
      }) as const
    const compile = (
      compiler: ReturnType<typeof createConstraintCompiler>,
      offered: readonly OfferedTool[],
    ) => compiler.compile(asked(offered), { whitespace: 'bounded' }, 'tools')
    const first = median(() => {
      const compiler = createConstraintCompiler()
      return timed(() => compile(compiler, tools))
    })
    const compiler = createConstraintCompiler()
    const { grammar } = compile(compiler, tools)
    const again = median(() => timed(() => compile(compiler, tools)))
    let without = 0
    const changed = median(() => timed(() => compile(compiler, tools.toSpliced(without++, 1))))
    const following = createMatcher(grammar)
    const text = 'This is what an answer without calls looks like, <b>bold</b> and all. '.repeat(20)
    const follow = () => {
      let at = following.start
      for (const character of text) at = following.after(at, character.codePointAt(0) ?? 0) ?? at
    }
    follow()
    const free = median(() => timed(follow)) / text.length
    const kb = Math.round(JSON.stringify(tools).length / 1000)
    console.log(
      `${name}, ${count} tools (${kb} kB): first ${first.toFixed(0)} ms, again ${again.toFixed(1)} ms, ` +
        `without one tool ${changed.toFixed(0)} ms, grammar ${Math.round(sizeOfGrammar(grammar) / 1024)} KiB, ` +
        `free text ${(free * 1e6).toFixed(0)} ns per character`,
    )
  }
}
