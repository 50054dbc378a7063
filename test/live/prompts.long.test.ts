import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { type TestContext, test } from 'node:test'
import { Refusal } from '../../src/domain/refusals.ts'
import { createPrompts, type PromptOptions } from '../../src/inference/prompt/prompts.ts'
import { until, withTimeout } from '../support/wait.ts'

const never = new AbortController().signal
const entry = new URL('./dying-rendering-process.ts', import.meta.url)

function open(t: TestContext, options: Partial<PromptOptions>) {
  const prompts = createPrompts(options)
  t.after(() => prompts.close())
  const render = (template: string, tenant = 'alice', signal = never) =>
    prompts.render(tenant, { template, messages: [], variables: '{}', open: false }, signal)
  return { prompts, render }
}

const codeOf = (promise: Promise<string>) =>
  promise.then(
    () => 'rendered',
    (error: unknown) => (error instanceof Refusal ? error.code : String(error)),
  )

const pidOf = async (promise: Promise<string>) => Number((await promise).split(' ')[0])

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** The priorities of all threads of the processes that render templates of this origin. */
function prioritiesOf(from: string): number[] {
  const started = readdirSync('/proc').filter((pid) => isOwnChild(pid) && commandOf(pid).includes(from))
  const threads = started.flatMap((pid) => readdirSync(`/proc/${pid}/task`))
  return [...new Set(threads.map((thread) => getPriority(Number(thread))))]
}

const statusOf = (pid: string) => {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    return 'it has ended'
  }
}
const isOwnChild = (pid: string) => /^\d+$/.test(pid) && statusOf(pid).includes(`\nPPid:\t${process.pid}\n`)
const commandOf = (pid: string) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')

test('one process renders until it has been idle', async (t) => {
  const { render } = open(t, { entry, idleMs: 300 })
  const pid = await pidOf(render('a'))
  assert.equal(await pidOf(render('b')), pid)
  await until('the idle process ends', () => !isAlive(pid))
  assert.notEqual(await pidOf(render('c')), pid)
})

test('a hanging render ends with its process, and the next one gets a new process', async (t) => {
  const { render } = open(t, { entry, maxMs: 300 })
  const pid = await pidOf(render('a'))
  const [hung, next] = await Promise.all([codeOf(render('hang')), pidOf(render('b'))])
  assert.equal(hung, 'template_too_costly')
  assert.notEqual(next, pid)
  assert.equal(isAlive(pid), false)
})

test('parsing is bounded as well, and delays no other request', async (t) => {
  const { prompts, render } = open(t, {})
  assert.equal(await render('a'), 'a')
  const spaces = `${' '.repeat(131_000)}{{ 1 }}`
  const slow = Array.from({ length: 3 }, () => codeOf(render(spaces, 'mallory')))
  let isStopped = false
  void Promise.all(slow).then(() => {
    isStopped = true
  })
  const question = { template: 'own', messages: [], variables: '{}', open: false }
  assert.equal(await withTimeout('the template of another request', render('b', 'bob')), 'b')
  assert.equal(
    await withTimeout('the template of the model', prompts.render('mallory', question, never, 'model')),
    'own',
  )
  assert.equal(isStopped, false)
  assert.deepEqual(await Promise.all(slow), Array(3).fill('template_too_costly'))
})

test('templates of requests run with lower priority on all threads, and those of the model do not', async (t) => {
  if (process.platform !== 'linux') return t.skip('threads have no priorities of their own here')
  const { prompts, render } = open(t, {})
  const question = { template: 'own', messages: [], variables: '{}', open: false }
  assert.equal(await render('a'), 'a')
  assert.equal(await prompts.render('alice', question, never, 'model'), 'own')
  const own = getPriority()
  assert.deepEqual(prioritiesOf('model'), [own])
  assert.deepEqual(prioritiesOf('request'), [Math.max(own, 5)])
})

test('a killed process fails only its own render', async (t) => {
  const { render } = open(t, { entry })
  await render('a')
  const [killed, next] = await Promise.all([codeOf(render('kill')), pidOf(render('b'))])
  assert.equal(killed, 'template_too_costly')
  assert.ok(next > 0)
})

test('a process that fails in another way is an error of the server', async (t) => {
  const { render } = open(t, { entry })
  assert.match(await codeOf(render('die')), /^Error: the process for templates has ended with 3/)
  assert.ok((await pidOf(render('b'))) > 0)
  const nowhere = open(t, { entry: new URL('nowhere.ts', import.meta.url) })
  assert.match(await codeOf(nowhere.render('a')), /^Error: the process for templates has ended with 1/)
})

test('queues are bounded, and a waiting request can be aborted', async (t) => {
  const { render } = open(t, { entry, queuePerTenant: 2, queueTotal: 3 })
  const leaving = new AbortController()
  const running = render('running')
  const waiting = [render('1'), render('2', 'alice', leaving.signal)]
  assert.equal(await codeOf(render('3')), 'queue_full')
  const other = render('4', 'bob')
  assert.equal(await codeOf(render('5', 'bob')), 'queue_full')
  leaving.abort(new Error('left'))
  assert.equal(await codeOf(waiting[1] as Promise<string>), 'Error: left')
  assert.equal(await codeOf(render('6', 'alice', leaving.signal)), 'Error: left')
  const last = render('7')
  for (const promise of [running, waiting[0], other, last]) assert.ok(await promise)
})

test('tenants take turns', async (t) => {
  const { render } = open(t, { entry, workers: 1 })
  const order: string[] = []
  const note = (template: string, tenant: string) =>
    render(template, tenant).then(() => void order.push(template))
  await Promise.all([
    note('a0', 'a'),
    ...['a1', 'a2', 'a3'].map((template) => note(template, 'a')),
    ...['b1', 'b2'].map((template) => note(template, 'b')),
    note('c1', 'c'),
  ])
  assert.deepEqual(order, ['a0', 'b1', 'c1', 'a1', 'b2', 'a2', 'a3'])
})

test('waiting requests are refused on close, and no process is left', async (t) => {
  const { prompts, render } = open(t, { entry })
  const pid = await pidOf(render('a'))
  const codes = Promise.all([codeOf(render('hang')), codeOf(render('b'))])
  await withTimeout('it closes', prompts.close())
  assert.deepEqual(await codes, ['stopping', 'stopping'])
  assert.equal(isAlive(pid), false)
  assert.equal(await codeOf(render('c')), 'stopping')
})

test('a conversation that is too long does not reach the process', async (t) => {
  const { prompts, render } = open(t, { entry, maxTextLength: 10 })
  const pid = await pidOf(render('a'))
  for (const content of ['x'.repeat(11), ['x'.repeat(6), 'x'.repeat(5)]]) {
    const messages = [{ role: 'user', content }]
    const asked = prompts.render('alice', { template: 'die', messages, variables: '{}', open: false }, never)
    assert.equal(await codeOf(asked), 'template_too_costly')
  }
  assert.equal(await pidOf(render('b')), pid)
})

test('the process has no access to the secrets of the server', async (t) => {
  process.env.HEDDLE_TEST_SECRET = 'secret'
  t.after(() => {
    delete process.env.HEDDLE_TEST_SECRET
  })
  const { render } = open(t, { entry: new URL('./showing-environment.ts', import.meta.url) })
  const names = JSON.parse(await render('x')) as string[]
  assert.deepEqual(
    names.filter(
      (name) =>
        !['SystemRoot', 'TZ', 'NODE_COMPILE_CACHE'].includes(name) && !name.startsWith('NODE_CHANNEL'),
    ),
    [],
  )
})
