import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { z as z3 } from 'zod/v3'
import { checkSchema } from './compiled.ts'
import { type Given, senders } from './senders.ts'
import { typesOf3 } from './zod-3.ts'
import { typesOf4 } from './zod-4.ts'

/** For every zod type, the schema that a library sends compiles here or is refused for a documented reason. */

const givens: Record<string, Given>[] = [
  Object.fromEntries(
    Object.entries(typesOf4(z)).map(([name, value]) => [`zod 4 ${name}`, z.object({ value })]),
  ),
  Object.fromEntries(
    Object.entries(typesOf3(z3)).map(([name, value]) => [`zod 3 ${name}`, z3.object({ value })]),
  ),
]

/** No JSON value fits the schemas that are sent for these. */
const impossible = ['zod 4 never', 'zod 3 never', 'zod 3 nan']
/** Intersections of two objects, each of which the library closes separately. */
const closedTwice = ['zod 4 intersection', 'zod 3 intersection']

const mayBeRefused: Record<string, readonly string[]> = {
  // A `cidr` of either version is sent as one that must be both.
  openai: [...impossible],
  ai: ['zod 3 cidr', ...impossible],
  langchain: ['zod 3 cidr', ...closedTwice, ...impossible],
  // A type that is used twice is sent as a $ref whose target is missing.
  instructor: ['zod 3 cidr', 'zod 3 lazy', 'zod 3 used twice', ...impossible],
  llamaindex: ['zod 3 cidr', ...impossible],
  '@openai/agents': ['zod 3 cidr', ...closedTwice, ...impossible],
}

for (const [name, send] of Object.entries(senders)) {
  test(name, async (t) => {
    // Instructor logs each failed answer.
    t.mock.method(console, 'error', () => {})
    t.mock.method(console, 'warn', () => {})
    const counts = { compiled: 0, refused: 0 }
    for (const given of givens) {
      for (const [type, object] of Object.entries(given)) {
        for (const schema of await send(object)) {
          counts[checkSchema(type, schema, mayBeRefused[name.split(',')[0] ?? ''] ?? [])]++
        }
      }
    }
    assert.ok(counts.compiled > 80, `${counts.compiled} schemas`)
    assert.ok(counts.refused < 12, `${counts.refused} refused`)
  })
}
