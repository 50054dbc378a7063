import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { readableLine } from '../../src/command-line/readable-log.ts'

/** What a terminal without colors shows of these lines, with the time left out. */
function shown(write: (log: ReturnType<typeof pino>) => void, hasColors = false): string {
  const lines: string[] = []
  write(pino({ level: 'trace' }, { write: (line) => lines.push(readableLine(line, hasColors)) }))
  return lines.join('').replaceAll(/^\[\d\d:\d\d:\d\d\] /gm, '')
}

const request = { req: { method: 'POST', url: '/call/start' }, res: { statusCode: 503 }, responseTime: 9 }

test('a request is one line; from a warning on, it has the id by which its answer is found', () => {
  const who = { user: 'alice', reqId: 'r-1' }
  assert.equal(
    shown((log) => log.info({ ...request, ...who }, 'done')),
    'INFO: POST /call/start 503, 9 ms (alice)\n',
  )
  assert.equal(
    shown((log) => log.warn({ ...request, ...who, work: 'the sweep' }, 'done')),
    'WARN: POST /call/start 503, 9 ms (alice, r-1) {"work":"the sweep"}\n',
  )
})

test('an error has its stack and its fields', () => {
  const err = Object.assign(new Error('the disk is full', { cause: new Error('no space') }), {
    code: 'ENOSPC',
  })
  const [first, second, ...stack] = shown((log) => log.error({ err, table: 'calls' }, 'not written')).split(
    '\n',
  )
  assert.equal(first, 'ERROR: not written {"table":"calls","type":"Error","code":"ENOSPC"}')
  assert.equal(second, '    Error: the disk is full')
  assert.ok(
    stack.some((line) => line === '    caused by: Error: no space'),
    stack.join('\n'),
  )
})

test('what others wrote neither controls the terminal nor looks like a line', () => {
  const hostile = 'a\u001b[2J\u009b31m\r\n[00:00:00] INFO: all is well'
  assert.equal(
    shown((log) => log.info({ model: hostile }, hostile)),
    'INFO: a\\x1b[2J\\x9b31m\\x0d\n    [00:00:00] INFO: all is well {"model":"a\\u001b[2J\\x9b31m\\r\\n[00:00:00] INFO: all is well"}\n',
  )
})

test('only the level has a color', () => {
  const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const
  for (const level of levels) {
    const line = shown((log) => log[level]('hello'), true)
    assert.match(line, new RegExp(`^\\u001b\\[\\d+m${level.toUpperCase()}\\u001b\\[\\d+m: hello\\n$`))
  }
})
