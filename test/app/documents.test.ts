import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { before, test } from 'node:test'
import { formats, keywords, numberFormats } from '../../packages/constraints/index.ts'
import { settings, variableOf } from '../../src/config.ts'
import { refusals } from '../../src/domain/refusals.ts'
import { someFields } from '../../src/inference/upstream/kinds.ts'
import { MessagesBody } from '../../src/operations/messages/contract.ts'
import { openAppWithRoutes } from '../support/routes.ts'

const root = new URL('../..', import.meta.url)

test('the generated pages in docs are up to date', () => {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/generate-docs.ts', '--check'], {
    cwd: root,
    encoding: 'utf8',
  })
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' })
})

/** The names in the first cells of the tables of a section. */
function namesIn(page: string, heading: string): Set<string> {
  const [, section = ''] = page.split(`\n## ${heading}\n`)
  const [tables = ''] = section.split('\n## ')
  return new Set(
    [...tables.matchAll(/^\| (`[^|]+`) \|/gm)].flatMap(([, names = '']) =>
      names.split(', ').map((name) => name.slice(1, -1)),
    ),
  )
}

test('docs/errors.md lists every code under its status', () => {
  const page = readFileSync(new URL('docs/errors.md', root), 'utf8')
  for (const [status, codes] of Map.groupBy(Object.entries(refusals), ([, refusal]) => refusal.status)) {
    assert.deepEqual([...namesIn(page, String(status))].toSorted(), codes.map(([code]) => code).toSorted())
  }
})

test('docs/structured-output.md lists every keyword and format that the compiler knows', () => {
  const page = readFileSync(new URL('docs/structured-output.md', root), 'utf8')
  const honoured = namesIn(page, 'Keywords')
  for (const [name, { standing }] of Object.entries(keywords)) {
    assert.ok(standing === 'annotation' ? page.includes(`\`${name}\``) : honoured.has(name), name)
  }
  const known = [...Object.keys(formats), ...Object.keys(numberFormats)]
  assert.deepEqual([...namesIn(page, 'Formats')].toSorted(), known.toSorted())
})

test('docs/gateway.md names every field that some servers take, and none of them is without effect in Messages', () => {
  const page = readFileSync(new URL('docs/gateway.md', root), 'utf8')
  const [, section = ''] = page.split('\n## What goes there\n')
  const [table = ''] = section.split('\n## ')
  const named = new Set(table.match(/\w+/g))
  if (table.includes('beam search')) named.add('use_beam_search').add('length_penalty')
  assert.deepEqual(
    Object.keys(someFields).filter((name) => !named.has(name)),
    [],
  )
  // Anthropic's own: it reaches a model of Anthropic.
  assert.equal(MessagesBody.shape.cache_control.meta()?.['x-effect'], undefined)
})

const markdownIn = (folder: string) =>
  readdirSync(new URL(folder, root))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}${name}`)

/** The pages about this version, without the CHANGELOG, which is about earlier ones. */
const pages = new Map(
  ['./', 'docs/', 'docs/decisions/', 'models/builtin/']
    .flatMap(markdownIn)
    .filter((name) => name !== './CHANGELOG.md')
    .map((name) => [name, readFileSync(new URL(name, root), 'utf8')]),
)

/** The anchors that GitHub gives to the headings of a page. */
function anchorsOf(page: string): string[] {
  return Array.from(page.replace(/^```.*?^```/gms, '').matchAll(/^#+ (.*)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

test('every link in the documentation leads to an existing file and heading', () => {
  const broken: string[] = []
  for (const [name, text] of pages) {
    for (const [link, target = '', anchor] of text.matchAll(/\]\(([^)#\s]*)(?:#([^)\s]*))?\)/g)) {
      if (/^https?:/.test(target)) continue
      const file = new URL(target, new URL(name, root))
      if (!existsSync(file)) broken.push(`${name}: ${link}`)
      else if (
        anchor &&
        !anchorsOf(readFileSync(target ? file : new URL(name, root), 'utf8')).includes(anchor)
      )
        broken.push(`${name}: ${link}`)
    }
  }
  assert.deepEqual(broken, [])
})

test('every file of src that the documentation names exists', () => {
  const missing: string[] = []
  let named = 0
  for (const [name, text] of pages) {
    for (const [, file = ''] of text.matchAll(/`(src\/[^`\s<{*]+)`/g)) {
      named++
      if (!existsSync(new URL(file, root))) missing.push(`${name}: ${file}`)
    }
  }
  assert.ok(named > 40, `${named} files`)
  assert.deepEqual(missing, [])
})

/** Read by docker compose, benchmarks, Kubernetes and the attack tests, but not by the server. */
const ofOthers = /^HEDDLE_(PUBLISH|SERVICE_HOST|ATTACK_[A-Z]+)$/

test('every setting that the documentation names exists', () => {
  const known = new Set(Object.keys(settings).map(variableOf))
  const unknown: string[] = []
  for (const [name, text] of pages) {
    for (const [variable] of text.matchAll(/\bHEDDLE_[A-Z_]*[A-Z]\b/g))
      if (!known.has(variable) && !ofOthers.test(variable)) unknown.push(`${name}: ${variable}`)
  }
  assert.deepEqual(unknown, [])
})

let declared: Set<string>

before(async () => {
  const cleaning: (() => unknown)[] = []
  const { routes } = await openAppWithRoutes({ after: (clean: () => unknown) => void cleaning.push(clean) })
  declared = new Set(routes.map(({ method, url }) => `${method} ${url}`))
  for (const clean of cleaning.reverse()) await clean()
})

test('every route that the documentation names exists', () => {
  const unknown: string[] = []
  let named = 0
  for (const [name, text] of pages) {
    for (const [route, methods = '', url = ''] of text.matchAll(
      /`((?:GET|POST|PUT|DELETE)(?:, (?:GET|POST|PUT|DELETE))*) (\/[^`\s?]*)/g,
    )) {
      const path = url.replace(/\{(\w+)\}/g, ':$1')
      // A page about one family of routes may leave out their common prefix.
      const isThere = (method: string) =>
        [path, `/v2/:entity/:project${path}`].some((one) =>
          [...declared].some(
            (known) => known.replace(/:\w+/g, ':') === `${method} ${one}`.replace(/:\w+/g, ':'),
          ),
        )
      named++
      if (!url.includes('…') && !methods.split(', ').every(isThere)) unknown.push(`${name}: ${route}`)
    }
  }
  assert.ok(named > 40, `${named} routes`)
  assert.deepEqual(unknown, [])
})
