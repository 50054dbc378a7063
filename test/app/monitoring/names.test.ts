import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { before, test } from 'node:test'
import { type Metric, Registry } from '@prometheus-io/client'
import { parse } from 'yaml'
import { refuse } from '../../../src/domain/refusals.ts'
import { localModels } from '../../../src/inference/local-model.ts'
import { registerRecord } from '../../../src/operations/recording/events.ts'
import type { Database } from '../../../src/storage/database.ts'
import { keys, openApp } from '../../support/app.ts'
import { prefilled, scriptedBackend, scriptOf } from '../../support/scripted-backend.ts'
import { until } from '../../support/wait.ts'
import { type Exposed, namedIn, type Sample, unknownIn } from './metric-expressions.ts'

const textOf = (name: string) => readFileSync(new URL(`../../../docker/${name}`, import.meta.url), 'utf8')

interface Panel {
  id: number
  type: string
  title: string
  description?: string
  gridPos: { x: number; y: number; w: number; h: number }
  datasource?: { uid: string }
  targets?: { refId: string; expr: string; legendFormat: string; datasource: { uid: string } }[]
}
const dashboard = JSON.parse(textOf('grafana/heddle.json')) as {
  panels: Panel[]
  templating: { list: { name: string; type: string; query: string | { query: string } }[] }
}
const charts = dashboard.panels.filter(({ type }) => type !== 'row')

interface Rule {
  alert: string
  expr: string
  for: string
  labels: { severity: string }
  annotations: { summary: string }
}
const { groups } = parse(textOf('prometheus/heddle-rules.yml')) as { groups: { rules: Rule[] }[] }
const rules = groups.flatMap((group) => group.rules)

let exposed: Exposed

/** The metrics that a server with models declares, and an answer of it after requests of each kind that rules name. */
before(async () => {
  const closing: (() => Promise<void>)[] = []
  const t = { after: (close: () => Promise<void>) => void closing.push(close) }
  const labels = new Map<string, readonly string[]>()
  const { registerMetric } = Registry.prototype
  // What a metric declares is not in the answer while nothing was counted.
  Registry.prototype.registerMetric = function (metric) {
    const { name, labelNames = [] } = metric as unknown as { name: string; labelNames?: string[] }
    labels.set(name, labelNames)
    registerMetric.call(this, metric as unknown as Metric<string>)
  }
  const backend = scriptedBackend(scriptOf('ab'))
  const list = () => ({
    ...{ file: 'models.json', read_at: '2026-01-01T00:00:00.000Z', fault: null },
    memory: { used: 1, bound: 2 },
    loads: new Map([['scripted', { loaded: 1, unloaded: 0, failed: 0 }]]),
  })
  // On either storage engine, what the one has to tell.
  registerRecord(new Registry(), { connections: () => ({}) } as unknown as Database)
  const { get, post } = await openApp(t, { models: { ...localModels(backend), list } }).finally(() => {
    Registry.prototype.registerMetric = registerMetric
  })
  for (const probe of ['/health', '/ready', '/metrics']) await get(probe, keys.root)
  await post('/v1/completions', { prompt: 'x' })
  backend.script = function* (request) {
    yield prefilled(request)
    throw refuse('engine_failed', { why: 'killed' })
  }
  await post('/v1/completions', { prompt: 'x' })
  let text = ''
  await until('the answers are recorded', async () => {
    text = (await get('/metrics', keys.root)).text
    return text.includes('heddle_recorded_total{outcome="written"}')
  })
  await Promise.all(closing.map((close) => close()))
  for (const [, name = '', type] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    if (type !== 'histogram') continue
    const own = labels.get(name) ?? []
    labels.set(`${name}_bucket`, [...own, 'le'])
    for (const end of ['sum', 'count']) labels.set(`${name}_${end}`, own)
  }
  exposed = { labels, samples: samplesOf(text) }
})

const samplesOf = (text: string): Sample[] =>
  Array.from(text.matchAll(/^([a-z]\w*)(?:\{(.*)\})? \S+$/gm), ([, metric = '', labels = '']) => ({
    metric,
    labels: Object.fromEntries(
      Array.from(labels.matchAll(/(\w+)="([^"]*)"/g), ([, label = '', value = '']) => [label, value]),
    ),
  }))

test('the dashboard and the rules name only metrics, labels and values that the server has', () => {
  const unknown = [
    ...charts.flatMap(({ title, targets = [] }) =>
      targets.flatMap(({ expr, legendFormat }) =>
        unknownIn(expr, legendFormat, exposed).map((name) => `${title}: ${name}`),
      ),
    ),
    ...rules.flatMap(({ alert, expr, annotations }) =>
      unknownIn(expr, annotations.summary, exposed).map((name) => `${alert}: ${name}`),
    ),
  ]
  assert.deepEqual(unknown, [])
})

test('a name that the server does not have is found, wherever an expression has it', () => {
  const unknown = (expression: string, text = '') => unknownIn(expression, text, exposed)
  assert.deepEqual(unknown('rate(heddle_requests_total[5m])'), ['heddle_requests_total'])
  assert.deepEqual(unknown('sum by (code) (rate(heddle_http_requests_total{state="x"}[5m]))'), [
    'heddle_http_requests_total{state}',
    'by (code)',
  ])
  assert.deepEqual(unknown('heddle_completions_total{outcome!="done"} > 1'), [
    'heddle_completions_total{outcome="done"}',
  ])
  assert.deepEqual(unknown('up == 0 and heddle_model_ready{job="a"} > bool 1', '{{ $labels.model }}'), [
    '{{model}}',
  ])
  assert.deepEqual(unknown('sum by (model) (heddle_model_state)', '{{model}} {{state}}'), ['{{state}}'])
  assert.deepEqual(unknown('histogram_quantile(0.9, heddle_http_request_seconds_buckets)'), [
    'heddle_http_request_seconds_buckets',
  ])
})

test('each expression is read to its last name', () => {
  for (const { expr } of [...charts.flatMap(({ targets = [] }) => targets), ...rules]) {
    const { selectors } = namedIn(expr)
    const names = expr.match(/\b(?:heddle|process|nodejs)_\w+|\bup\b/g) ?? []
    assert.deepEqual(
      selectors.map(({ metric }) => metric),
      names,
      expr,
    )
  }
})

test('each panel has a question of its own, the chosen data source, and a place that no other has', () => {
  const taken = new Map<string, string>()
  for (const { title, description, datasource, gridPos, targets = [] } of charts) {
    assert.ok(description && targets.length > 0, title)
    for (const { uid } of [datasource, ...targets.map((target) => target.datasource)].flatMap(
      (one) => one ?? [],
    )) {
      assert.equal(uid, '$' + '{datasource}', title)
    }
    assert.ok(gridPos.x + gridPos.w <= 24, title)
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        assert.equal(taken.get(`${x},${y}`), undefined, title)
        taken.set(`${x},${y}`, title)
      }
    }
  }
  const unique = (values: unknown[]) => assert.equal(new Set(values).size, values.length)
  unique(dashboard.panels.map(({ id }) => id))
  unique(charts.map(({ title }) => title))
  const variables = dashboard.templating.list
  assert.deepEqual(
    variables.map(({ name }) => name),
    ['datasource', 'job', 'instance'],
  )
  for (const { query } of variables.slice(1)) {
    const [, expression = ''] = /^label_values\((.*), \w+\)$/.exec((query as { query: string }).query) ?? []
    assert.deepEqual(unknownIn(expression, '', exposed), [])
    assert.equal(namedIn(expression).selectors.length, 1)
  }
})

test('each rule waits before it alerts, has a severity, and says where and what to do', () => {
  assert.ok(rules.length >= 8)
  assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length)
  for (const rule of rules) {
    assert.match(rule.alert, /^Heddle[A-Z]\w+$/)
    assert.match(rule.for, /^[1-9]\d*m$/, rule.alert)
    assert.ok(['critical', 'warning'].includes(rule.labels.severity), rule.alert)
    assert.match(rule.annotations.summary, /\{\{ \$labels\.instance \}\}.*: .{20,}/, rule.alert)
  }
})
