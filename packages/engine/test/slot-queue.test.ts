import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSlotQueue } from '../loop/open-requests.ts'

interface Waiting {
  name: string
  tenant: string
  priority: number
}

/** `a1` is the first request of tenant a; a priority may follow, as in `a1:-2`. */
function waiting(text: string): Waiting {
  const [name = '', priority = '0'] = text.split(':')
  return { name, tenant: name.slice(0, 1), priority: Number(priority) }
}

function lineOf(...texts: string[]) {
  const line = createSlotQueue<Waiting>()
  for (const text of texts) line.add(waiting(text))
  return line
}

const names = (line: Iterable<Waiting>) => Array.from(line, ({ name }) => name).join(' ')

function takeFirst(line: ReturnType<typeof lineOf>): string | undefined {
  const [first] = line
  if (first === undefined) return undefined
  line.remove(first)
  return first.name
}

test('the requests of one tenant are served in order', () => {
  const line = lineOf('a1', 'a2', 'a3')
  assert.equal(takeFirst(line), 'a1')
  line.add(waiting('a4'))
  assert.equal(names(line), 'a2 a3 a4')
  assert.equal(line.length, 3)
})

test('a tenant with one request goes before the further requests of others', () => {
  assert.equal(names(lineOf('a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'b2')), 'a1 b1 c1 a2 b2 a3 a4')
})

test('a tenant that keeps sending requests takes turns with one that waits', () => {
  const line = lineOf('a1', 'a2', 'a3', 'a4', 'b1')
  const served = []
  for (let again = 2; line.length > 0; again++) {
    const next = takeFirst(line) as string
    served.push(next)
    if (next.startsWith('b') && again < 8) line.add(waiting(`b${again}`))
  }
  assert.deepEqual(
    served.slice(0, 8).map((name) => name.slice(0, 1)),
    ['a', 'b', 'a', 'b', 'a', 'b', 'a', 'b'],
  )
})

test('a lower priority number goes first, whatever the tenant', () => {
  assert.equal(names(lineOf('a1', 'a2', 'b1:1', 'a3:-1', 'a4:-1', 'c1:-1')), 'a3 c1 a4 a1 a2 b1')
})

test('a removed request is not counted, and removing it twice has no effect', () => {
  const line = createSlotQueue<Waiting>()
  const many = Array.from({ length: 100 }, (_, i) => waiting(`a${i}`))
  for (const one of many) line.add(one)
  for (const one of many.slice(1)) line.remove(one)
  line.remove(many[1] as Waiting)
  line.add(waiting('b1'))
  line.add(waiting('a100'))
  assert.equal(names(line), 'a0 b1 a100')
})
