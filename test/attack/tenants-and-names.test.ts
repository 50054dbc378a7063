import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { keys, type Method } from '../support/app.ts'
import { openAppWithoutShedding } from '../support/app-without-shedding.ts'
import { create } from '../support/objects.ts'
import { secret, storeOneOfEach } from '../support/one-of-each.ts'
import { documentOf } from '../support/openapi.ts'
import { dumpOf } from '../support/record-dump.ts'
import { sampleBodies } from '../support/sample-bodies.ts'
import { seededRandom } from '../support/seeded-random.ts'
import { campaign } from './campaign/length.ts'
import { type Target, targetsOf } from './campaign/requests.ts'
import { withoutNamesAndTimes } from './tenant-answers.ts'

const opened = await openAppWithoutShedding(
  { after: (close) => after(close) },
  { settings: { HEDDLE_DOCS: 'on' } },
)
const { send, post, database } = opened
/**
 * Requests to a model name nothing of the record, and public routes answer all callers alike. A list of one's own projects
 * continues after a name, whether or not a project has it.
 */
const ofNoRecord = /^\/(v1\/|tokenize|detokenize|ready|health|metrics|projects$)/
const targets = targetsOf(await documentOf(opened)).filter(({ path }) => !ofNoRecord.test(path))

type Names = Record<string, string>

/** Stores one thing of each kind, and an evaluation run with its contents. */
async function storeAll(): Promise<Names> {
  const project = 'acme/qa'
  const things = await storeOneOfEach(opened, project, keys.alice)
  await create(opened, 'evaluated', { secret })
  const evaluation = `weave:///${project}/object/evaluated:v0`
  const made = async (url: string, body: object, name: string): Promise<string> => {
    const { status, json, text } = await post(`/v2/${project}/${url}`, body)
    assert.equal(status, 200, text)
    return json[name]
  }
  const run = await made('evaluation_runs', { evaluation, model: evaluation }, 'evaluation_run_id')
  const predicted = { model: evaluation, inputs: { secret }, output: secret, evaluation_run_id: run }
  const prediction = await made('predictions', predicted, 'prediction_id')
  const scored = { prediction_id: prediction, scorer: evaluation, value: 1, evaluation_run_id: run }
  return { ...things, run, prediction, score: await made('scores', scored, 'score_id') }
}

/** Names of the same shape, letter for letter, that nothing has. */
function namesOfNothing(names: Names): Names {
  const random = seededRandom(campaign.seed)
  const any = (of: string) => of.charAt(Math.floor(random() * of.length))
  const other = (name: string) => {
    // An id keeps its time and its version.
    if (/^[\da-f]{8}-/.test(name))
      return name.replace(/[\da-f]{12}$/, (end) => end.replace(/./g, () => any('0123456789abcdef')))
    if (/^[\da-f]{32,}$/.test(name)) return name.replace(/./g, () => any('0123456789abcdef'))
    const letters = 'abcdefghijkmnopqrstuvwxyz'
    return name
      .replace(/[a-z]/g, () => any(letters))
      .replace(/[A-Z]/g, () => any(letters).toUpperCase())
      .replace(/\d/g, () => any('0123456789'))
  }
  const made = Object.fromEntries(Object.entries(names).map(([kind, name]) => [kind, other(name)]))
  return { ...made, project: names.project as string }
}

const theirs = await storeAll()
const nothing = namesOfNothing(theirs)
const kinds = Object.keys(theirs).filter((kind) => kind !== 'project')
/** How a name can occur in a text. */
const forms: ((name: string, names: Names) => string)[] = [
  (name) => name,
  (name, { project }) => `weave:///${project}/call/${name}`,
  (name, { project, digest }) => `weave:///${project}/object/${name}:${digest}`,
  (name, { project, object }) => `weave:///${project}/object/${object}:${name}`,
  (name, { project, object, digest }) =>
    `weave:///${project}/object/${object}:${digest}/attr/rows/id/${name}`,
  (name, { project }) => `weave:///${project}/table/${name}`,
]

/** The kind of thing that a path names, by the name of its parameter. */
const inPath: Names = {
  queue_id: 'queue',
  item_id: 'item',
  object_id: 'object',
  digest: 'digest',
  evaluation_run_id: 'run',
  prediction_id: 'prediction',
  score_id: 'score',
}

interface Asked {
  target: Target
  /** The index of the text to replace, modulo their number. */
  at: number
  kind: string
  form: number
  /** Whether the request names the project of the owner, or one of the caller's own. */
  inTheirs: boolean
}

const asked: fc.Arbitrary<Asked> = fc
  .record({
    target: fc.constantFrom(...targets),
    at: fc.nat(60),
    kind: fc.constantFrom(...kinds),
    form: fc.oneof({ arbitrary: fc.constant(0), weight: 3 }, fc.nat(forms.length - 1)),
    inTheirs: fc.boolean(),
  })
  .map((one) => Object.assign(one, { [fc.toStringMethod]: () => shown(one) }))

function shown(one: Asked): string {
  const { method, url, body } = requestOf(one, theirs, 'globex/own')
  return `${method} ${url} ${JSON.stringify(body)} with the ${one.kind}`
}

/** The request with the name in it. Each set of names has its own project of the caller, with the same history. */
function requestOf({ target, at, kind, form, inTheirs }: Asked, names: Names, own: string) {
  const project = inTheirs ? (names.project as string) : own
  const [entity = '', name = ''] = project.split('/')
  const text = (forms[form] as (typeof forms)[number])(names[kind] as string, names)
  const parameters = target.operation.parameters ?? []
  const sampleOf = target.operation.requestBody && sampleBodies[target.path.replace(/\{(\w+)\}/g, ':$1')]
  const body = sampleOf?.(project)
  const queries = parameters.filter((one) => one.in === 'query').map((one) => one.name)
  const paths = parameters.filter((one) => one.in === 'path').map((one) => one.name)
  const inBody = body === undefined ? [] : textsIn(body)
  const places = [...inBody, ...queries, ...paths]
  const place = places[at % Math.max(places.length, 1)]
  const put = (parameter: string, usual: string) => encodeURIComponent(parameter === place ? text : usual)
  const usual = (parameter: string) =>
    ({ entity, project: name, model: 'scripted' })[parameter] ?? names[inPath[parameter] ?? kind] ?? text
  const path = target.path.replace(/\{(\w+)\}/g, (_, parameter) => put(parameter, usual(parameter)))
  const query = queries.map(
    (one) => `${one}=${put(one, one === 'project_id' ? project : one === 'limit' ? '5' : '0')}`,
  )
  return {
    method: target.method as Method,
    url: query.length === 0 ? path : `${path}?${query.join('&')}`,
    body: body && replaced(body, typeof place === 'object' ? place : [], text),
  }
}

type Path = (string | number)[]

function textsIn(value: unknown, path: Path = []): Path[] {
  if (typeof value === 'string') return path.at(-1) === 'project_id' ? [] : [path]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([step, inner]) => textsIn(inner, [...path, step]))
}

function replaced(value: unknown, [step, ...rest]: Path, text: string): unknown {
  if (step === undefined) return typeof value === 'string' ? text : value
  if (Array.isArray(value)) return value.with(Number(step), replaced(value[Number(step)], rest, text))
  return { ...(value as object), [step]: replaced((value as Record<string, unknown>)[step], rest, text) }
}

/** What must be the same: the answer without names, digests of what contains names, and its order. */
function comparable(answer: { status: number; text: string }, names: Names, own: string) {
  const { status, text } = withoutNamesAndTimes(answer, { ...names, own, ownName: own.replace(/^.*\//, '') })
  // A message shows only the beginning of a long name.
  const beginnings = Object.values(names).filter(({ length }) => length > 20)
  const whole = beginnings.reduce(
    (left, name) => left.replaceAll(new RegExp(`${name.slice(0, 8)}[\\w-]*`, 'g'), '<part>'),
    text.replace(/[\w-]*…/g, '…'),
  )
  // The result of a model depends on the text, and the names are different texts.
  const made = whole.replace(
    /"(relevance_score|score|embedding)":(?:"[^"]*"|\[[^\]]*\]|[^,}]+)/g,
    '"$1":"<made>"',
  )
  const vectors = made.replace(/"embeddings":(?:\[\[.*?\]\]|\{.*?\})/g, '"embeddings":"<made>"')
  const timed = vectors.replace(/"(\w+_duration|created(?:_at)?)":\d+/g, '"$1":"<time>"')
  // A file may be a digest of what contains names.
  const files = timed.replace(/"base64":"[^"]*"/g, '"base64":"<bytes>"')
  // Each endpoint of alerts has a secret of its own.
  const secrets = files.replace(/"secret":"whsec_[^"]*"/g, '"secret":"<made>"')
  const conversations = secrets.replace(/"conv_[\da-f]{32}"/g, '"<made>"')
  // The order of a reranking follows the scores, and with `top_n` so does the selection.
  const ranked = conversations.replace(/"results":\[\{"index":.*\}\](?=,"usage")/, '"results":"<ranked>"')
  // Saved views are sorted by name.
  const inOrder = ranked.replace(/(?<="views":\[).*(?=\]\}$)/, (views) =>
    views
      .split(/(?<=\}),(?=\{)/)
      .sort()
      .join(),
  )
  // So are aliases and tags.
  const sorted = inOrder.replace(
    /"(aliases|tags)":\[([^\]]*)\]/g,
    (_, member, names) => `"${member}":[${names.split(',').sort().join()}]`,
  )
  const plain = sorted.replace(/\b(?:[\da-f]{64}|[\da-f]{32}|[\w-]{43})\b/g, '<digest>')
  return { status, lines: plain.split('\n').sort() }
}

test(`P6: on every route the things of another tenant look as if they did not exist (seed ${campaign.seed})`, async () => {
  const isBobs = (project: string) => project.startsWith('globex/')
  const before = await dumpOf(database, isBobs)
  const projects = ['globex/ofthem', 'globex/ofnone']
  let found = 0
  const property = fc.asyncProperty(asked, async (one) => {
    const told = []
    for (const [index, names] of [theirs, nothing].entries()) {
      const own = projects[index] as string
      const { method, url, body } = requestOf(one, names, own)
      const answer = await send(method, url, body, keys.bob)
      assert.ok(answer.status < 500, answer.text)
      assert.ok(!answer.text.includes(secret), answer.text)
      if (answer.status === 200) found += 1
      told.push(comparable(answer, names, own))
    }
    assert.deepEqual(told[0], told[1])
  })
  await fc.assert(property, { seed: campaign.seed, numRuns: campaign.names })
  assert.deepEqual(await dumpOf(database, isBobs), before)
  assert.ok(found >= campaign.names / 10, `only ${found} requests were answered`)
})
