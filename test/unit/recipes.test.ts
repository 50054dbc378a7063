import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { namesOf } from '../../src/storage/calls/columns.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const contributing = read('CONTRIBUTING.md')

interface Recipe {
  /** An older thing of its kind, under each name that it has in the files that know it. */
  example: RegExp
  /** Most files, without those that are generated. */
  maxFiles: number
  /** Where its names mean nothing else. */
  folders?: readonly string[]
}

const everywhere = ['src', 'packages', 'ui', 'docs', 'scripts', 'migrations', 'docker']

const recipes: Record<string, Recipe> = {
  'A field of chat completions': { example: /\b(?:length_penalty|lengthPenalty)\b/, maxFiles: 6 },
  'A setting': {
    example: /\bHEDDLE_MCP\b|\bmcp: setting\b|\bconfig\.mcp\b|\bConfig\['mcp'\]|\bmcp ===/,
    maxFiles: 5,
  },
  'A limit of each project': { example: /\bretention[_-]days\b|\bHEDDLE_RETENTION_DAYS\b/, maxFiles: 7 },
  'A refusal': { example: /\bsearch_off\b/, maxFiles: 4 },
  'A column of calls': { example: /\b(?:svc_|wb_)?run_step_end\b/, maxFiles: 8 },
  'A column of the list of calls': { example: /\bColumnName\b/, maxFiles: 2 },
  'A screen of the page': {
    example: /'prices'|\bPricesScreen\b|\bprices of models\b/,
    maxFiles: 6,
    folders: ['ui', 'docs'],
  },
  'An operator of filters': {
    example: /\$size\b|\bop: 'size'|\bcase 'size'/,
    maxFiles: 6,
    folders: ['src', 'docs'],
  },
  'A check of a judge': { example: /\bmax_ms\b/, maxFiles: 4 },
  'A log line': { example: /\bresponseTime\b/, maxFiles: 3 },
  'A call format': { example: /\bgigachat\b/i, maxFiles: 3 },
}

/** Files that a maintainer reads: no tests, and no decisions of the past. */
const filesIn = (folder: string) =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(?:ts|tsx|md|sql|ya?ml)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length))
    .filter((file) => !/\/(?:test|decisions|node_modules)\//.test(file))

const texts = new Map(everywhere.flatMap(filesIn).map((file) => [file, read(file)]))

/** The paths in the numbered lines of a section, and whether they are generated. */
function listed(title: string) {
  const [, rest] = contributing.split(`\n### ${title}\n`)
  assert.ok(rest !== undefined, `CONTRIBUTING.md has no section "${title}"`)
  const [section = ''] = rest.split(/\n##+ /)
  const items = section.match(/^\d+\. .*(?:\n {3}.*)*/gm) ?? []
  const paths = items.join('\n').matchAll(/`([\w.-]+\/[\w/.-]+\.\w+)`( \(g\))?/g)
  return [...paths].map(([, file = '', mark]) => ({ file, isGenerated: mark !== undefined }))
}

const generated = [...read('scripts/generate-docs.ts').matchAll(/^ {2}'([\w/.-]+)':/gm)].map(
  ([, file = '']) => file,
)

for (const [title, { example, maxFiles, folders = everywhere }] of Object.entries(recipes)) {
  test(`the recipe "${title}" lists exactly the files that name its example`, () => {
    const files = listed(title)
    const naming = [...texts].filter(
      ([file, text]) => folders.some((folder) => file.startsWith(`${folder}/`)) && example.test(text),
    )
    assert.deepEqual(
      files.map(({ file }) => file).toSorted(),
      naming.map(([file]) => file).toSorted(),
      `the list of CONTRIBUTING.md, and the files that match ${example}: a new one belongs into the list, or is not needed`,
    )
    for (const { file, isGenerated } of files)
      if (isGenerated) assert.ok(generated.includes(file), `${file} is not generated`)
    const written = files.filter(({ isGenerated }) => !isGenerated)
    assert.ok(written.length <= maxFiles, `${written.length} files; accepted: ${maxFiles}`)
  })
}

test('every recipe about a thing of a kind is one that this test knows, and every path is there', () => {
  const [, section = ''] = contributing.split('\n## Recipes\n')
  const [all = ''] = section.split('\n## ')
  const titles = [...all.matchAll(/^### (.*)\n\n(?:As `|`ColumnName|As the |A format that )/gm)]
  assert.deepEqual(titles.map(([, title]) => title).toSorted(), Object.keys(recipes).toSorted())
  for (const [, path = ''] of contributing.matchAll(
    /`((?:src|ui|docs|packages|scripts|migrations|test)\/[\w/.-]+)`/g,
  ))
    assert.ok(existsSync(join(root, path)), `${path}, of CONTRIBUTING.md`)
  // The columns of W&B are written without their prefix in their table.
  assert.ok(namesOf('run_step_end').includes('svc_run_step_end'))
})
