import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import Fastify from 'fastify'
import { z } from 'zod'
import { type App, writeAnswers } from '../../src/http/contracts.ts'
import { checkAgainstContract } from '../../src/http/validation.ts'
import { declareLater, type LaterRoute } from '../../src/operations/later-routes.ts'

const route: LaterRoute = {
  method: 'POST',
  url: '/things/:id',
  config: { public: true },
  schema: {},
  checks: ['body'],
  prepares: true,
}

/** A family of one route, and how often it was loaded. */
function openFamily(t: TestContext, table: readonly LaterRoute[]) {
  const app = Fastify() as unknown as App
  app.setValidatorCompiler(checkAgainstContract)
  app.setSerializerCompiler(writeAnswers)
  app.setErrorHandler((error, _request, reply) => reply.code(400).send({ reason: (error as Error).message }))
  t.after(() => app.close())
  const steps: string[] = []
  declareLater(app, table, async () => {
    steps.push('loaded')
    return async (family) => {
      family.post(
        '/things/:id',
        {
          schema: { body: z.object({ name: z.string() }) },
          onRequest: async () => void steps.push('onRequest'),
          preValidation: (_request, _reply, done) => {
            steps.push('preValidation')
            done()
          },
        },
        async ({ body }) => ({ name: body.name }),
      )
    }
  })
  const ask = (payload: object) => app.inject({ method: 'POST', url: '/things/1', payload })
  return { app, steps, ask }
}

test('a family is loaded with its first request, once for several at the same time', async (t) => {
  const { app, steps, ask } = openFamily(t, [route])
  await app.ready()
  assert.deepEqual(steps, [])
  const answers = await Promise.all([ask({ name: 'a' }), ask({ name: 'b' })])
  assert.deepEqual(
    answers.map((answer) => answer.json()),
    [{ name: 'a' }, { name: 'b' }],
  )
  assert.equal(steps.filter((step) => step === 'loaded').length, 1)
  steps.length = 0
  await ask({ name: 'c' })
  assert.deepEqual(steps, ['onRequest', 'preValidation'])
})

test('the first body is checked against the contract, too', async (t) => {
  const { ask } = openFamily(t, [route])
  const answer = await ask({ name: 1 })
  assert.equal(answer.statusCode, 400)
  assert.match(answer.json().reason, /name/)
})

test('a table with a route that its family does not declare says what to do', async (t) => {
  const { app } = openFamily(t, [{ ...route, url: '/others' }])
  const answer = await app.inject({ method: 'POST', url: '/others', payload: {} })
  assert.match(answer.json().reason, /POST \/others .* `npm run docs:generate`/)
})
