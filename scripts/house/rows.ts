import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

/** A figure of the house: smaller is better, and at the aim it is good enough. */
export interface Row {
  readonly name: string
  readonly aim: number
  readonly value: number
}

/** Words that say nothing about the thing that they name; docs/glossary.md has the words of the field. */
const vagueNames = /^(given|one|said|places?|kept|parts?|trouble|takeUp|goOn)$/

/** Where TypeScript introduces a name: declarations, parameters and destructured fields. */
const declarations =
  /\b(?:const|let|function|type|interface)\s+(\w+)|[({,]\s*(\w+)\s*[?]?\s*[:,)=}]|\b(\w+)\s*=>/g
const vagueBounds = /\bconst (?:most|least|longest)[A-Z]\w*/g
const imports =
  /(?:^|\n)(?:import|export)\b[^;'"]*?['"](\.[^'"]+\.tsx?)['"]|\bimport\(\s*['"](\.[^'"]+\.tsx?)['"]/g

type Sources = ReadonlyMap<string, string>

function sourcesOf(root: string, folder: string, ending: RegExp): Sources {
  const skipped = /(^|\/)(node_modules|generated|fixtures|dist)\//
  let names: string[] = []
  try {
    names = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const files = names.filter((name) => ending.test(name) && !skipped.test(name)).toSorted()
  return new Map(files.map((name) => [join(folder, name), readFileSync(join(root, folder, name), 'utf8')]))
}

const linesOf = (sources: Sources) =>
  [...sources.values()].reduce((sum, text) => sum + text.split('\n').length - 1, 0)

const wordsOf = (text: string) => text.split(/\s+/).filter((word) => word !== '').length

/** Comments and strings say what they like. */
const withoutProse = (text: string) =>
  text
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/(^|[^:])\/\/.*$/gm, '$1')
    .replace(/'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g, "''")

function countInCode(sources: Sources, count: (code: string) => number): number {
  return [...sources.values()].reduce((sum, text) => sum + count(withoutProse(text)), 0)
}

const vagueNamesIn = (code: string) =>
  [...code.matchAll(declarations)].filter(([, ...names]) =>
    names.some((name) => name && vagueNames.test(name)),
  ).length

/** A small file with a single importer is an idea that was cut in two. Threads load contracts, too, by their names. */
function fragments(sources: Sources): number {
  const importers = new Map<string, number>()
  for (const [file, text] of sources) {
    const imported = [...text.matchAll(imports)].map(([, path = '', lazily = '']) =>
      normalize(join(dirname(file), path || lazily)),
    )
    for (const path of new Set(imported)) importers.set(path, (importers.get(path) ?? 0) + 1)
  }
  const isFragment = ([file, text]: [string, string]) =>
    text.split('\n').length <= 60 && importers.get(file) === 1 && !file.endsWith('contract.ts')
  return [...sources].filter(isFragment).length
}

/** The files of the server that a reader of a chat completion is led through, each named once. */
function chatWalk(architecture: string): number {
  const [, walk = ''] = architecture.split('\n## A chat completion\n')
  const [steps = ''] = walk.split('\nVariations:\n')
  return new Set(steps.match(/[\w./-]+\.ts\b/g)).size
}

/** What can be counted of how much a maintainer must read, below the checkout in `root`. */
export function measureHouse(root: string): readonly Row[] {
  const server = sourcesOf(root, 'src', /\.ts$/)
  // Their tests and benchmarks lie beside them.
  const packages = sourcesOf(root, 'packages', /^(?!.*\/(test|benchmark)\/).*\.ts$/)
  const page = sourcesOf(root, 'ui', /\.tsx?$/)
  const docs = sourcesOf(root, 'docs', /\.md$/)
  const code = new Map([...server, ...packages])
  const decisions = [...docs].filter(([file]) => file.includes('decisions/'))
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  return [
    { name: 'lines of the server (src)', aim: 56_000, value: linesOf(server) },
    { name: 'lines of the server and its packages', aim: 82_000, value: linesOf(code) },
    { name: 'lines of the page (ui)', aim: 25_000, value: linesOf(page) },
    { name: 'files under 60 lines with one importer', aim: 60, value: fragments(code) },
    {
      name: 'files that the walk of a chat completion names',
      aim: 19,
      value: chatWalk(docs.get('docs/architecture.md') ?? ''),
    },
    { name: 'places that introduce a vague name', aim: 0, value: countInCode(code, vagueNamesIn) },
    {
      name: 'bounds named most, least or longest',
      aim: 0,
      value: countInCode(code, (text) => [...text.matchAll(vagueBounds)].length),
    },
    {
      name: 'words of documentation',
      aim: 55_000,
      value: [...docs.values()].reduce((sum, text) => sum + wordsOf(text), 0),
    },
    { name: 'words of README', aim: 1_000, value: wordsOf(readme) },
    {
      name: 'decisions of more than 400 words',
      aim: 0,
      value: decisions.filter(([, text]) => wordsOf(text) > 400).length,
    },
    {
      name: 'lines of test/support',
      aim: 10_000,
      value: linesOf(sourcesOf(root, 'test/support', /\.(ts|mjs)$/)),
    },
  ]
}
