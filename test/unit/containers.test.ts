import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'
import { readConfig, settings, variableOf } from '../../src/config.ts'
import { version } from '../../src/version.ts'

const textOf = (name: string) => readFileSync(new URL(`../../docker/${name}`, import.meta.url), 'utf8')

interface Service {
  image?: string
  environment?: Record<string, string | null>
  read_only?: boolean
  cap_drop?: string[]
  security_opt?: string[]
  mem_limit?: string
  stop_grace_period?: string
  deploy?: { replicas: number }
  depends_on?: Record<string, { condition: string }>
  volumes?: string[]
  tmpfs?: string[]
}
const servicesOf = (name: string) => (parse(textOf(name)) as { services: Record<string, Service> }).services

/** Settings that are fixed in a container: where it listens and writes. */
const fixed = ['host', 'port', 'data']

for (const name of ['compose.yaml', 'compose.scale.yaml']) {
  const heddle = servicesOf(name).heddle as Service

  test(`docker/${name}: every setting is passed on, and no other variable`, () => {
    const wanted = Object.keys(settings)
      .filter((setting) => !fixed.includes(setting))
      .map((setting) => (setting.startsWith('hf_') ? setting.toUpperCase() : variableOf(setting)))
    assert.deepEqual(new Set(Object.keys(heddle.environment ?? {})), new Set([...wanted, 'TMPDIR']))
  })

  test(`docker/${name}: the server accepts the values that it sets`, () => {
    const given = Object.entries(heddle.environment ?? {}).flatMap(([variable, value]) => {
      if (value === null || variable === 'TMPDIR') return []
      const filled = value.replace(/\$\{\w+:-([^}]*)\}/g, '$1').replace(/\$\{\w+:\?[^}]*\}/g, 'secret')
      return [[variable, filled] as const]
    })
    assert.doesNotThrow(() => readConfig(Object.fromEntries(given)))
  })

  test(`docker/${name}: the server writes to its data folder only, has limits and has time to stop`, () => {
    assert.equal(heddle.read_only, true)
    assert.deepEqual(heddle.cap_drop, ['ALL'])
    assert.deepEqual(heddle.security_opt, ['no-new-privileges:true'])
    assert.ok(heddle.mem_limit)
    const places = [...(heddle.volumes ?? []), ...(heddle.tmpfs ?? [])].map((place) =>
      place.replace(/^data:/, ''),
    )
    assert.ok(places.every((place) => place.startsWith('/data')) && places.length === 1)
    assert.equal(heddle.environment?.TMPDIR, '/data')
    assert.ok(Number.parseInt(heddle.stop_grace_period ?? '0', 10) * 1000 > readConfig({}).grace + 30_000)
  })
}

test('docker/compose.scale.yaml: three servers wait for their database, behind a balancer that checks the record', () => {
  const { heddle, balancer, database, model } = servicesOf('compose.scale.yaml')
  assert.equal(heddle?.deploy?.replicas, 3)
  assert.deepEqual(heddle?.depends_on, { database: { condition: 'service_healthy' } })
  assert.deepEqual(balancer?.depends_on, { heddle: { condition: 'service_healthy' } })
  assert.ok(database?.image?.startsWith('postgres:') && model?.image)
  const proxy = textOf('haproxy.cfg')
  assert.match(proxy, /server-template heddle 3 heddle:8080/)
  assert.match(proxy, /option httpchk GET \/ready\?part=record/)
  assert.doesNotMatch(proxy, /^\s*(cookie|stick)/m)
})

test('the health check of the image does not start Node', () => {
  const [, check = ''] =
    /^HEALTHCHECK [^[]*(\[.*\])$/m.exec(textOf('Dockerfile').replace(/\\\n\s*/g, '')) ?? []
  assert.equal((JSON.parse(check) as string[])[0], 'bash')
})

interface Manifest {
  kind: string
  metadata: { name: string }
  data?: Record<string, string>
  spec?: Record<string, unknown>
}

test('docker/kubernetes/heddle.yaml: probes, a disruption budget, no sticky sessions and no secrets', () => {
  const manifests = parseAllDocuments(textOf('kubernetes/heddle.yaml')).map((one) => {
    assert.deepEqual(one.errors, [])
    return one.toJS() as Manifest
  })
  const of = (kind: string) => manifests.find((one) => one.kind === kind) as Manifest
  assert.deepEqual(
    manifests.map(({ kind }) => kind),
    ['ConfigMap', 'Deployment', 'Service', 'PodDisruptionBudget'],
  )
  assert.ok(manifests.every(({ metadata }) => metadata.name === 'heddle'))
  const config = of('ConfigMap').data ?? {}
  assert.doesNotThrow(() => readConfig(config))
  assert.ok(!Object.keys(config).some((name) => /USERS|KEY|TOKEN|URL/.test(name)))
  const labels = { 'app.kubernetes.io/name': 'heddle' }
  assert.deepEqual(of('Service').spec?.selector, labels)
  assert.equal(of('Service').spec?.sessionAffinity, 'None')
  assert.deepEqual(of('PodDisruptionBudget').spec, { maxUnavailable: 1, selector: { matchLabels: labels } })
  const { replicas, selector, template } = of('Deployment').spec as {
    replicas: number
    selector: { matchLabels: object }
    template: {
      metadata: { labels: object }
      spec: {
        terminationGracePeriodSeconds: number
        containers: Record<string, never>[]
        securityContext: object
      }
    }
  }
  assert.deepEqual([replicas, selector.matchLabels, template.metadata.labels], [3, labels, labels])
  const [container] = template.spec.containers as unknown as [
    {
      image: string
      startupProbe: { httpGet: object }
      livenessProbe: { httpGet: object }
      readinessProbe: { httpGet: object }
      securityContext: object
      lifecycle: { preStop: { sleep: { seconds: number } } }
    },
  ]
  assert.equal(container.image, `heddle:${version}`)
  assert.deepEqual(container.startupProbe.httpGet, { path: '/health', port: 'http' })
  assert.deepEqual(container.livenessProbe.httpGet, { path: '/health', port: 'http' })
  assert.deepEqual(container.readinessProbe.httpGet, { path: '/ready?part=record', port: 'http' })
  assert.deepEqual(container.securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  })
  const pause = container.lifecycle.preStop.sleep.seconds + Number(config.HEDDLE_GRACE) / 1000
  assert.ok(template.spec.terminationGracePeriodSeconds > pause + 30)
})
