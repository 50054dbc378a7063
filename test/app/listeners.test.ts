// In a process of its own: it counts the listeners of the process.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { plainBodyLimit } from '../../src/http/body-limits.ts'
import { keys, openApp } from '../support/app.ts'
import { project } from '../support/calls.ts'
import { sampled } from '../support/campaign-share.ts'
import { addressOf } from '../support/routes.ts'
import { methodOf, sampleBodies } from '../support/sample-bodies.ts'

const { send } = await openApp({ after })

test('no route adds so many listeners to a request that Node takes them for a leak', async (t) => {
  const warned: string[] = []
  let url = ''
  const hear = ({ name, message }: Error) => {
    if (name === 'MaxListenersExceededWarning') warned.push(`${url}: ${message}`)
  }
  process.on('warning', hear)
  t.after(() => process.off('warning', hear))
  // As large as every route accepts it: more of the code waits for such a body. In the share some are short.
  const padded = new Set(sampled(Object.keys(sampleBodies), 1))
  for (const [route, sampleOf] of Object.entries(sampleBodies)) {
    url = route
    const body = JSON.stringify(sampleOf(project))
    const sent = padded.has(route) ? body.padEnd(plainBodyLimit) : body
    await send(methodOf(url), addressOf({ url }), sent, keys.root)
    await turn()
  }
  assert.deepEqual(warned, [])
})
