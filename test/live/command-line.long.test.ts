import assert from 'node:assert/strict'
import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { basic } from '../support/app.ts'
import { completeOf, endOf, project, startOf } from '../support/calls.ts'
import { runCommand } from '../support/commands.ts'
import { heddle, newFolder, runHeddle, startServer, type TestScope } from '../support/server.ts'
import { until } from '../support/wait.ts'

const keyLine = /^hdl_[\w-]{43}\n$/

/** Parses lines of JSON. */
function entriesOf<Entry>(out: string): Entry[] {
  return out
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Entry)
}

interface UserLine {
  name: string
  role: string
  entities: string[]
  created_at: string
}

interface KeyLine {
  id: string
  created_at: string
  revoked_at: string | null
}

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3,6})?Z$/

/** A folder, and commands on it that must exit with the expected code. */
async function inFolder(t: TestScope) {
  const folder = await newFolder(t)
  const run = async (line: string, expected = 0) => {
    const result = await runCommand(line.split(' '), { HEDDLE_DATA: folder })
    assert.equal(result.code, expected, `${line}: ${result.err}`)
    if (expected !== 0) {
      assert.equal(result.out, '', line)
      assert.match(result.err, /^[^\n]+\n$/, `${line} explains itself in one line`)
    }
    return result
  }
  return { folder, run }
}

describe('users', () => {
  test('can be added with a key, listed and removed', async (t) => {
    const { folder, run } = await inFolder(t)
    // As a user runs it; the other tests of this file start no process for a command.
    const add = ['user', 'add', 'ann', '--entities', 'acme,globex', '--role', 'admin', '--new']
    const { code, out, err } = await runHeddle(add, { HEDDLE_DATA: folder })
    assert.deepEqual([code, err], [0, ''])
    assert.match(out, keyLine)
    assert.match((await run('user add bob')).out, keyLine)

    const users = entriesOf<UserLine>((await run('user list')).out)
    assert.deepEqual(
      users.map(({ name, role, entities }) => ({ name, role, entities })),
      [
        { name: 'ann', role: 'admin', entities: ['acme', 'globex'] },
        { name: 'bob', role: 'member', entities: ['*'] },
      ],
    )
    for (const user of users) assert.match(user.created_at, time)

    assert.equal((await run('user remove ann')).out, '')
    const left = entriesOf<UserLine>((await run('user list')).out)
    assert.deepEqual(
      left.map((user) => user.name),
      ['bob'],
    )
  })

  test('that are invalid are refused', async (t) => {
    const { run } = await inFolder(t)
    await run('user add ann --new')
    assert.match((await run('user add ann', 1)).err, /already a user ann/)
    assert.match((await run('user remove nobody', 1)).err, /no user nobody/)
    const wrong = [
      'user add',
      'user add ann bob',
      'user add api',
      'user add a/b',
      'user add zoe --role owner',
      'user add zoe --entities acme/qa',
      'user add zoe --entities a,,b',
      'user add zoe --entities a,..',
      'user add ..',
      'user add zoe --colour red',
      'user remove',
      'user remove ann bob',
    ]
    await Promise.all(wrong.map((line) => run(line, 2)))
    assert.equal(entriesOf((await run('user list')).out).length, 1)
  })
})

describe('limits of users', () => {
  test('can be set, shown and removed, and apply on a running server', async (t) => {
    const { folder, run } = await inFolder(t)
    const key = (await run('user add ann --new')).out.trim()
    const server = await startServer(t, { HEDDLE_DATA: folder })
    const statuses = async (count: number) => {
      const found: number[] = []
      for (let i = 0; i < count; i++) found.push((await server.get('/server_info', key)).status)
      return found
    }
    assert.deepEqual(await statuses(3), [200, 200, 200])
    const set = await run('user set ann --requests-per-minute 1 --at-once 5')
    assert.deepEqual(JSON.parse(set.out), { name: 'ann', requests_per_minute: 1, requests_at_once: 5 })
    assert.deepEqual(await statuses(2), [200, 429])
    const [line] = entriesOf<Record<string, unknown>>((await run('user list')).out)
    assert.deepEqual([line?.requests_per_minute, line?.requests_at_once], [1, 5])
    const left = await run('user set ann --requests-per-minute none')
    assert.deepEqual(JSON.parse(left.out), { name: 'ann', requests_at_once: 5 })
    assert.deepEqual(await statuses(2), [200, 200])
    assert.equal(await server.end('SIGTERM'), 0)
    const moved = await run('user set ann --default-project acme/qa')
    assert.deepEqual(JSON.parse(moved.out), { name: 'ann', requests_at_once: 5, default_project: 'acme/qa' })
    assert.deepEqual(JSON.parse((await run('user set ann --default-project none')).out), {
      name: 'ann',
      requests_at_once: 5,
    })
  })

  test('that are invalid are refused', async (t) => {
    const { folder, run } = await inFolder(t)
    await run('user add ann --new')
    assert.match((await run('user set bob --at-once 1', 1)).err, /no user bob, neither in the record nor in/)
    const known = { HEDDLE_DATA: folder, HEDDLE_USERS: 'bob:the-secret-key-of-bob' }
    assert.equal((await runCommand(['user', 'set', 'bob', '--at-once', '1'], known)).code, 0)
    await Promise.all(
      [
        '',
        ' --at-once',
        ' --at-once 0',
        ' --at-once 1.5',
        ' --tokens-per-minute 9999999999',
        ' --colour 1',
        ' --default-project acme',
      ].map((options) => run(`user set ann${options}`, 2)),
    )
  })
})

describe('keys', () => {
  test('work at once on a running server, and stop at once when they are revoked', async (t) => {
    const { folder, run } = await inFolder(t)
    const first = (await run('user add ann --entities acme --new')).out.trim()
    const server = await startServer(t, { HEDDLE_DATA: folder, HEDDLE_USERS: '' })
    const statusOf = async (key: string, scheme: 'basic' | 'bearer') => {
      const authorization = scheme === 'basic' ? basic(key, 'ann') : `Bearer ${key}`
      const answer = await fetch(`${server.address}/call/start`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify({ start: startOf() }),
      })
      await answer.text()
      return answer.status
    }
    const second = (await run('key add ann')).out
    assert.match(second, keyLine)
    assert.notEqual(second.trim(), first)
    for (const key of [first, second.trim()]) {
      assert.equal(await statusOf(key, 'basic'), 200)
      assert.equal(await statusOf(key, 'bearer'), 200)
    }

    const [older, newer] = entriesOf<KeyLine>((await run('key list ann')).out) as [KeyLine, KeyLine]
    assert.deepEqual([older.revoked_at, newer.revoked_at], [null, null])
    assert.equal((await run(`key revoke ${older.id}`)).out, '')
    assert.equal(await statusOf(first, 'basic'), 401)
    assert.equal(await statusOf(first, 'bearer'), 401)
    assert.equal(await statusOf(second.trim(), 'basic'), 200)
    const [revoked] = entriesOf<KeyLine>((await run('key list ann')).out)
    assert.match(revoked?.revoked_at ?? '', time)

    await run('user remove ann')
    assert.equal(await statusOf(second.trim(), 'bearer'), 401)
    assert.match((await run('key list ann', 1)).err, /no user ann/)
    assert.equal(await server.end('SIGTERM'), 0)
  })

  test('that are invalid are refused', async (t) => {
    const { run } = await inFolder(t)
    await run('db migrate')
    assert.match((await run('key add nobody', 1)).err, /no user nobody/)
    assert.match((await run('key list nobody', 1)).err, /no user nobody/)
    assert.match((await run('key revoke nothing', 1)).err, /no such key/)
    await Promise.all(
      ['key add', 'key add a b', 'key list', 'key revoke', 'key revoke a b'].map((line) => run(line, 2)),
    )
  })

  test('have a setting for whether answers to them are recorded', async (t) => {
    const { run } = await inFolder(t)
    await run('user add ann --new')
    await run('key add ann --record off')
    const listed = async () => entriesOf<KeyLine & { record?: string }>((await run('key list ann')).out)
    const [first, second] = (await listed()) as [KeyLine, KeyLine]
    assert.deepEqual(
      (await listed()).map(({ record }) => record),
      [undefined, 'off'],
    )
    assert.deepEqual(JSON.parse((await run(`key set ${first.id} --record off`)).out), {
      id: first.id,
      record: 'off',
    })
    assert.deepEqual(JSON.parse((await run(`key set ${second.id} --record on`)).out), { id: second.id })
    assert.deepEqual(
      (await listed()).map(({ record }) => record),
      ['off', undefined],
    )
    assert.match((await run('key set nothing --record off', 1)).err, /no such key/)
    await Promise.all(
      ['key set', `key set ${first.id}`, `key set ${first.id} --record no`, 'key add ann --record all'].map(
        (line) => run(line, 2),
      ),
    )
  })

  test('are never shown by commands that list them', async (t) => {
    const { run } = await inFolder(t)
    const key = (await run('user add ann --new')).out.trim()
    const { out } = await run('key list ann')
    assert.ok(!out.includes(key) && !(await run('user list')).out.includes(key))
  })
})

describe('projects', () => {
  test('have their own retention, which applies on a running server', async (t) => {
    const { folder, run } = await inFolder(t)
    await run('db migrate')
    assert.deepEqual(JSON.parse((await run('project set acme/qa --retention-days 3')).out), {
      project: 'acme/qa',
      retention_days: 3,
    })
    const server = await startServer(t, { HEDDLE_DATA: folder, HEDDLE_RETENTION_DAYS: '9' })
    const daysOf = async (project_id: string) => {
      const start = startOf({ project_id, started_at: new Date().toISOString() })
      assert.equal((await server.post('/call/start', { start })).status, 200)
      const answer = await server.post('/call/read', { project_id, id: start.id })
      const { call } = (await answer.json()) as { call: { started_at: string; expire_at: string | null } }
      return call.expire_at && (Date.parse(call.expire_at) - Date.parse(call.started_at)) / 86_400_000
    }
    assert.deepEqual([await daysOf('acme/qa'), await daysOf('acme/other')], [3, 9])
    await run('project set acme/other --retention-days 0')
    await until('calls are kept for ever', async () => (await daysOf('acme/other')) === null)
    assert.deepEqual(JSON.parse((await run('project set acme/qa --retention-days none')).out), {
      project: 'acme/qa',
    })
    await until('the setting of the server applies', async () => (await daysOf('acme/qa')) === 9)
    assert.equal(await server.end('SIGTERM'), 0)
  })

  test('that are invalid are refused', async (t) => {
    const { run } = await inFolder(t)
    await run('db migrate')
    await Promise.all(
      [
        'project set',
        'project set acme/qa',
        'project set acme --retention-days 1',
        'project set acme/qa --retention-days 1.5',
        'project set acme/qa --retention-days 99999',
        'project set acme/qa acme/b --retention-days 1',
        'project delete',
        'project delete acme/qa acme/b --yes',
        'project show',
        'project list acme/qa',
      ].map((line) => run(line, 2)),
    )
    assert.match((await run('project delete acme/nothing --yes', 1)).err, /nothing in project acme\/nothing/)
    assert.match((await run('project show acme/nothing', 1)).err, /nothing in project acme\/nothing/)
  })

  test('are listed, shown, and deleted completely although the command was killed', async (t) => {
    const { folder, run } = await inFolder(t)
    await run('db migrate')
    const server = await startServer(t, { HEDDLE_DATA: folder })
    const calls = 3_000
    for (let sent = 0; sent < calls; sent += 1_000) {
      const batch = Array.from({ length: 1_000 }, () => completeOf())
      assert.equal((await server.post('/v2/acme/qa/calls/complete', { batch })).status, 200)
    }
    await server.post('/call/start', { start: startOf({ project_id: 'acme/other' }) })
    const projects = async () =>
      entriesOf<{ project: string }>((await run('project list')).out).map(({ project }) => project)
    assert.deepEqual(await projects(), ['acme/other', 'acme/qa'])
    const none = { feedback: 0, queues: 0, object_versions: 0, tables: 0, files: 0, prices: 0, monitors: 0 }
    const counted = { calls, ...none }
    assert.deepEqual(JSON.parse((await run('project show acme/qa')).out), { project: 'acme/qa', ...counted })
    assert.match((await run('project delete acme/qa', 2)).err, /--yes/)

    const killed = heddle(['project', 'delete', 'acme/qa', '--yes'], { HEDDLE_DATA: folder })
    const callsLeft = async () =>
      ((await (await server.post('/calls/query_stats', { project_id: project })).json()) as { count: number })
        .count
    while (killed.exitCode === null && (await callsLeft()) === calls);
    killed.kill('SIGKILL')
    // The server continues with what is left.
    await until('the rest is deleted', async () => !(await projects()).includes('acme/qa'))
    assert.deepEqual(await projects(), ['acme/other'])
    assert.equal(await server.end('SIGTERM'), 0)
    const deeds = entriesOf<{ action: string; details: unknown }>((await run('audit --json')).out)
    assert.deepEqual(deeds.find(({ action }) => action === 'project.deleted')?.details, counted)
  })
})

test('without a record commands for users and keys say what to do, and create nothing', async (t) => {
  const { folder, run } = await inFolder(t)
  for (const line of ['user add ann', 'user list', 'user remove ann', 'key add ann', 'key list ann']) {
    const { err } = await run(line, 3)
    assert.match(err, /^There is no record at .*HEDDLE_DATA.*--new/)
    assert.ok(err.includes(folder))
  }
  assert.deepEqual(readdirSync(folder), [])
  assert.match((await run('user add ann --new')).out, keyLine)
  assert.match((await run('user add bob')).out, keyLine)
})

describe('the database', () => {
  test('is migrated to the schema of this version, any number of times', async (t) => {
    const { run } = await inFolder(t)
    const first = await run('db migrate')
    assert.match(first.out, /schema of this version/)
    assert.equal((await run('db migrate')).out, first.out)
    assert.match((await run('db check')).out, /sound/)
  })

  test('is copied whole while a server writes', async (t) => {
    const { folder, run } = await inFolder(t)
    const server = await startServer(t, { HEDDLE_DATA: folder })
    const copyFolder = await newFolder(t)
    const copy = join(copyFolder, 'heddle.db')
    const acknowledged: string[] = []
    let copied = false
    const write = async () => {
      while (!copied) {
        const start = startOf()
        assert.equal((await server.post('/call/start', { start })).status, 200)
        assert.equal((await server.post('/call/end', { end: endOf(start.id) })).status, 200)
        acknowledged.push(start.id)
      }
    }
    const writers = [write(), write(), write()]
    await until('calls are written', () => acknowledged.length >= 50)
    const before = acknowledged.slice()
    assert.equal((await run(`db backup ${copy}`)).out, `${copy}\n`)
    copied = true
    await Promise.all(writers)
    assert.equal(await server.end('SIGTERM'), 0)

    assert.equal((await runCommand(['db', 'check'], { HEDDLE_DATA: copyFolder })).code, 0)
    const again = await startServer(t, { HEDDLE_DATA: copyFolder })
    for (const id of before) {
      const answer = await again.post('/call/read', { project_id: project, id })
      assert.equal(answer.status, 200)
      const { call } = (await answer.json()) as { call: { ended_at: string | null } }
      assert.notEqual(call.ended_at, null)
    }
    assert.equal(await again.end('SIGTERM'), 0)
  })

  test('is never copied over a file, nor into a missing folder', async (t) => {
    const { folder, run } = await inFolder(t)
    await run('db migrate')
    const taken = join(folder, 'taken')
    writeFileSync(taken, 'precious')
    assert.match((await run(`db backup ${taken}`, 1)).err, /taken exists already/)
    assert.equal(readFileSync(taken, 'utf8'), 'precious')
    const nowhere = join(folder, 'no', 'where')
    const missing = await run(`db backup ${nowhere}`, 2)
    assert.match(
      missing.err,
      /^FILE: .*where cannot be written, because of its folder .*no: it does not exist\./,
    )
    assert.match((await run(`db backup ${join(taken, 'x')}`, 2)).err, /^FILE: .*taken: it is a file\./)
    await run('db backup', 2)
    await run('db backup a b', 2)
  })

  test('that does not exist is not created by reading it', async (t) => {
    const { run } = await inFolder(t)
    assert.match((await run('db check', 3)).err, /no record at/)
    assert.match((await run('db backup copy', 3)).err, /no record at/)
    assert.match((await run('db check', 3)).err, /no record at/)
  })

  test('in an unreachable PostgreSQL exits with 3 and a line without the password', async () => {
    const settings = { HEDDLE_DATABASE_URL: 'postgres://heddle:secret@127.0.0.1:1/x' }
    const outcomes = [
      runHeddle(['serve'], settings),
      runCommand(['user', 'list'], settings),
      runCommand(['db', 'backup', 'copy'], settings),
    ]
    for (const { code, err } of await Promise.all(outcomes)) {
      assert.equal(code, 3)
      assert.match(err, /^[^\n]*127\.0\.0\.1:1[^\n]*\n$/)
      assert.doesNotMatch(err, /secret/)
    }
  })
})

const names = [
  ...['serve', 'user add', 'user grant', 'user list', 'user set', 'user remove'],
  ...['key add', 'key list', 'key revoke'],
  ...['key set', 'project set', 'project list', 'project show', 'project delete', 'usage', 'audit'],
  ...[
    'model pull',
    'model list',
    'model reload',
    'model schema',
    'db migrate',
    'db backup',
    'db copy',
    'db check',
    'export',
    'import',
  ],
]

describe('help', () => {
  test('names every command, and each has its own help', async (t) => {
    const { run } = await inFolder(t)
    const { out } = await run('--help')
    assert.equal((await run('-h')).out, out)
    const explained = names.map(async (name) => {
      assert.match(out, new RegExp(`^  ${name}\\b`, 'm'))
      const own = (await run(`${name} --help`)).out
      assert.match(own, new RegExp(`^heddle ${name}`))
      assert.ok(own.trim().split('\n').length >= 3)
    })
    await Promise.all(explained)
    const listed = out.split('\n').filter((line) => line.startsWith('  '))
    assert.equal(listed.length, names.length, 'a command that this test does not list')
  })

  test('of a group names its commands', async (t) => {
    const { run } = await inFolder(t)
    const { out } = await run('user --help')
    assert.match(out, /user add/)
    assert.doesNotMatch(out, /key add/)
  })

  test('has no side effects', async (t) => {
    const { folder, run } = await inFolder(t)
    await run('user add ann --help')
    await run('serve --help')
    assert.match((await runCommand(['db', 'check'], { HEDDLE_DATA: folder })).err, /no record/)
  })

  test('the version is that of the package', async (t) => {
    const { run } = await inFolder(t)
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
    assert.equal((await run('--version')).out, `${version}\n`)
  })
})

test('an unknown command exits with 2 and says where to look', async (t) => {
  const { run } = await inFolder(t)
  await Promise.all(
    ['weave', 'user', 'user rename ann', 'db', 'serve now', '--port 1'].map((line) => run(line, 2)),
  )
  assert.match((await run('weave', 2)).err, /There is no command weave.*--help/)
})

test('a typo gets a suggestion', async (t) => {
  const { folder, run } = await inFolder(t)
  for (const [line, says] of [
    ['usr add ann', /^There is no command usr add\. Did you mean user add\?/],
    ['sevre', /Did you mean serve\?/],
    ['--port 9000', /^--port is not an option: .*HEDDLE_PORT\.$/m],
    ['serve --log-level=debug', /^--log-level is not an option: .*HEDDLE_LOG_LEVEL\.$/m],
    ['--prot=9000', /^There is no option --prot\. .*did you mean HEDDLE_PORT\?$/m],
    ['user add ann --data /elsewhere', /^--data is not an option: .*HEDDLE_DATA\.$/m],
    ['user add ann --colour red', /^There is no option --colour\./],
  ] as const) {
    assert.match((await run(line, 2)).err, says)
  }
  assert.deepEqual(readdirSync(folder), [])
})

test('on a Node that is too old one line says so before anything is loaded', (t) => {
  const old = (process.env.PATH ?? '')
    .split(':')
    .map((folder) => join(folder, 'node'))
    .find((node) => isTooOld(node))
  if (old === undefined) return t.skip('there is no Node older than 22.19 on the path')
  const entry = fileURLToPath(new URL('../../bin/heddle.js', import.meta.url))
  for (const args of [[], ['--help'], ['user', 'list']]) {
    const ended: SpawnSyncReturns<string> = spawnSync(old, [entry, ...args], { encoding: 'utf8' })
    assert.equal(ended.status, 2)
    assert.match(ended.stderr, /^Heddle needs Node 22\.19 or newer; this is v\d+\.\d+\.\d+\. .*\n$/)
    assert.equal(ended.stdout, '')
  }
})

function isTooOld(node: string): boolean {
  const asked = spawnSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' })
  if (asked.status !== 0) return false
  const [major = 0, minor = 0] = asked.stdout.split('.').map(Number)
  return major < 22 || (major === 22 && minor < 19)
}
