import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

/** The layers from the top down. A file imports only from its own room (folder or file) and from the layers below. */
const floors: readonly (readonly string[])[] = [
  ['main.ts', 'command-line', 'server.ts', 'app.ts', 'families.ts', 'body-contracts.ts'],
  ['operations'],
  ['http'],
  ['inference', 'storage', 'schemas'],
  ['config.ts', 'version.ts', 'threads'],
  ['domain'],
]

const root = fileURLToPath(new URL('../../src', import.meta.url))

/** Generated code is left out. */
const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.includes('/generated/'))
  .toSorted()

const text = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]))

const importing =
  /(?:^|\n)(?:import|export)\b[^;'"]*?['"](\.[^'"]+\.ts)['"]|\bimport\(\s*['"](\.[^'"]+\.ts)['"]/g

/** Every file with the files that it imports, type imports included. */
const imports = new Map(
  files.map((file) => {
    const found = (text.get(file) ?? '').matchAll(importing)
    const paths = [...found].map(([, from = '', lazily = '']) =>
      normalize(join(dirname(file), from || lazily)),
    )
    return [file, paths]
  }),
)

/** Those of packages have a test of their own. */
const isPackage = (path: string) => path.startsWith('../packages/')
const every = [...imports].flatMap(([from, paths]) =>
  paths.filter((to) => !isPackage(to)).map((to) => ({ from, to })),
)

const roomOf = (file: string) => file.split('/')[0] as string
const floorOf = (file: string) => floors.findIndex((rooms) => rooms.includes(roomOf(file)))
const listed = (broken: readonly { from: string; to: string }[]) =>
  broken.map(({ from, to }) => `src/${from} imports src/${to}`).join('\n')

test('every file of src belongs to a layer, and every import is found', () => {
  assert.deepEqual(
    files.filter((file) => floorOf(file) === -1),
    [],
    'Name its room in the list of floors in this test, and in the table of CONTRIBUTING.md.',
  )
  const unknown = every.filter(({ to }) => !to.includes('/generated/') && !text.has(to))
  assert.equal(listed(unknown), '')
  assert.ok(every.length > 1_000, `${every.length} imports were found`)
})

test('imports go down the layers', () => {
  const broken = every.filter(({ from, to }) => {
    const [above, below] = [floorOf(from), floorOf(to)]
    return below < above || (below === above && above > 0 && roomOf(from) !== roomOf(to))
  })
  assert.equal(
    listed(broken),
    '',
    'Move the shared part to a layer that both may import, or pass it as an argument. CONTRIBUTING.md has the layers.',
  )
})

test('imports form no cycle, type imports included', () => {
  const done = new Set<string>()
  const open: string[] = []
  const visit = (file: string): void => {
    const at = open.indexOf(file)
    assert.equal(
      at,
      -1,
      `${[...open.slice(at), file].join(' → ')}: move what both need to a file of its own, which imports neither.`,
    )
    if (done.has(file)) return
    open.push(file)
    for (const next of imports.get(file) ?? []) visit(next)
    open.pop()
    done.add(file)
  }
  for (const file of files) visit(file)
})

test('no folder has more than 30 files', () => {
  const sizes = Map.groupBy(files, (file) => dirname(file))
  const large = [...sizes]
    .filter(([, own]) => own.length > 30)
    .map(([folder, own]) => `${folder}: ${own.length}`)
  assert.deepEqual(large, [], 'Give each idea of the folder a folder of its own.')
})

test('docs/architecture.md describes every folder', () => {
  const page = readFileSync(new URL('../../docs/architecture.md', import.meta.url), 'utf8')
  const [, said = ''] = page.split('\n## Every folder\n')
  const folders = [...new Set(files.map((file) => dirname(file)))].filter((folder) => folder !== '.')
  const missing = folders.filter((folder) => !said.includes(`\`${folder}/\``))
  assert.deepEqual(missing, [], 'Add it to the table of docs/architecture.md.')
  const named = [...said.matchAll(/`([a-z/-]+)\/`/g)].map(([, folder = '']) => folder)
  const gone = named.filter((folder) => !existsSync(join(root, folder)))
  assert.deepEqual(gone, [], 'Remove it from the table of docs/architecture.md.')
})

/** These files assemble the routes of all families. */
const composing = new Set(['app.ts', 'families.ts'])

test('chat is one API among others: nothing else imports from it', () => {
  const sideways = every.filter(
    ({ from, to }) =>
      to.startsWith('operations/chat/') && !from.startsWith('operations/chat/') && !composing.has(from),
  )
  assert.equal(listed(sideways), '', 'What two APIs of a model share belongs in operations/generation.')
})

const writesSql = (code: string) =>
  /\bsql(?:<[^>]*>)?`|\brawSql\(|\bSELECT\b[^'`]*\bFROM\b|\bINSERT INTO\b/.test(code)

test('operations have no SQL', () => {
  const broken = files.filter((file) => file.startsWith('operations/') && writesSql(text.get(file) ?? ''))
  assert.deepEqual(broken, [], 'SQL belongs in storage, in a function that is named after what it finds.')
  // The guard finds the SQL of storage, so it would find SQL in operations.
  const found = files.filter((file) => file.startsWith('storage/') && writesSql(text.get(file) ?? ''))
  assert.ok(found.length > 50, `${found.length} files of storage`)
  for (const code of ['rawSql(name)', 'sql`x`', 'tx.run(sql`DELETE`)', "'SELECT a FROM b'"])
    assert.ok(writesSql(code), code)
  assert.match(text.get('storage/sql/sql.ts') ?? '', /export function rawSql\(/)
})

test('packages are imported only where they belong', () => {
  const owners: Record<string, RegExp> = {
    koffi: /^threads\/idle-memory\.ts$/,
    // A download is locked by a database, because that lock ends with its process.
    'better-sqlite3': /^(storage\/|inference\/models\/download\.ts)/,
    pg: /^storage\//,
    fastify: /^(app\.ts|server\.ts|command-line\/|http\/|operations\/)/,
  }
  const broken = files.flatMap((file) =>
    Object.entries(owners)
      .filter(([name, owner]) => new RegExp(`from '${name}'`).test(text.get(file) ?? '') && !owner.test(file))
      .map(([name]) => `src/${file} imports ${name}`),
  )
  assert.deepEqual(broken, [], 'Pass it as an argument, or use what its owner exports.')
})
