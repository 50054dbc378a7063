import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { comparedPrices, readCosts } from '../../../src/storage/calls/cost.ts'
import { streamCalls } from '../../../src/storage/calls/queries.ts'
import type { Database } from '../../../src/storage/database.ts'
import { type Price, pricesOfModels, readPrices } from '../../../src/storage/prices.ts'
import { boundTo } from '../../../src/storage/transaction.ts'
import { newProject, startedAt, wholePart } from '../../support/call-parts.ts'
import type { Driver } from '../../support/drivers.ts'
import { seededRandom } from '../../support/seeded-random.ts'
import { collect, equals, viewIn } from '../../support/views.ts'

export function priceOf(project: string, fields: Partial<Price> = {}): Price {
  return {
    project_id: project,
    id: randomUUID(),
    llm_id: 'small',
    provider_id: 'default',
    effective_date: startedAt,
    prompt_token_cost: 0.000_000_1,
    completion_token_cost: 1 / 3,
    cache_read_input_token_cost: 0,
    cache_creation_input_token_cost: 2,
    prompt_token_cost_unit: 'USD',
    completion_token_cost_unit: 'EUR',
    created_at: startedAt,
    created_by: 'alice',
    ...fields,
  }
}

async function idsOf(db: Database, project: string, page: { limit?: number; offset?: number } = {}) {
  const found = await readPrices(db, viewIn(project, page))
  return found.map((price) => price.id)
}

export function prices(open: Driver['open']): void {
  describe('prices', () => {
    test('are read as they were written, with every digit', async (t) => {
      const db = await open(t)
      const project = newProject()
      const price = priceOf(project)
      await db.write('addPrices', [price])
      assert.deepEqual(
        (await readPrices(db, viewIn(project))).map((row) => ({ ...row })),
        [price],
      )
    })

    test('of models are those of the project, and no others', async (t) => {
      const db = await open(t)
      const [one, other] = [newProject(), newProject()]
      const models = ['a', "b'", 'c', 'é', 'a']
      await db.write('addPrices', [
        ...models.map((llm_id, n) => priceOf(one, { llm_id, id: `${n}` })),
        priceOf(other, { llm_id: 'a' }),
      ])
      const found = await pricesOfModels(db, one, ['a', "b'", 'é', 'unknown'])
      assert.deepEqual(found.map((price) => price.id).sort(), ['0', '1', '3', '4'])
      assert.deepEqual(await pricesOfModels(db, one, []), [])
    })

    test('are found by conditions, in order and in pages', async (t) => {
      const db = await open(t)
      const project = newProject()
      const ids = ['a', 'b', 'c', 'd', 'e']
      await db.write(
        'addPrices',
        ids.map((id, i) =>
          priceOf(project, { id, llm_id: i < 3 ? 'small' : 'large', effective_date: startedAt - i }),
        ),
      )
      assert.deepEqual(await idsOf(db, project), ids)
      assert.deepEqual(await idsOf(db, project, { limit: 2, offset: 1 }), ['b', 'c'])
      assert.deepEqual(await idsOf(db, project, { offset: 3 }), ['d', 'e'])
      const sort = [{ field: 'effective_date', direction: 'asc' }] as const
      const small = await readPrices(db, viewIn(project, { query: equals('llm_id', 'small'), sort }))
      assert.deepEqual(
        small.map((price) => price.id),
        ['c', 'b', 'a'],
      )
    })

    test('are those in force when a call started, also where all calls are sorted by cost', async (t) => {
      const db = await open(t)
      const project = newProject()
      const random = seededRandom(7)
      const below = (count: number) => Math.floor(random() * count)
      const models = ['a', "it's", 'é', 'unpriced']
      const randomPrice = (n: number) =>
        priceOf(project, {
          id: `${n}`,
          llm_id: models[below(3)] as string,
          effective_date: startedAt + below(6) * 10,
          created_at: startedAt + n,
          prompt_token_cost: below(1000) / 7e6,
          completion_token_cost: below(1000) / 3e6,
          cache_read_input_token_cost: below(1000) / 9e6,
          cache_creation_input_token_cost: below(1000) / 1e6,
        })
      await db.write(
        'addPrices',
        Array.from({ length: 20 }, (_, n) => randomPrice(n)),
      )
      const tokens = () => ({
        ...{ prompt_tokens: 500 + below(500), completion_tokens: below(500) },
        ...{ cache_read_input_tokens: below(200), cache_creation_input_tokens: below(200) },
      })
      const calls = Array.from({ length: 200 }, (_, n) => {
        const used = models.filter((_, m) => m === n % 4 || (n % 9 === 0 && m === 1))
        const usage = Object.fromEntries(used.map((model) => [model, tokens()]))
        const start = { started_at: startedAt - 10 + below(80) }
        return wholePart(project, `call-${n}`, start, { summary: JSON.stringify({ usage }) })
      })
      await db.write('upsertCalls', calls)
      const ids = calls.map(({ id }) => id)
      const { signal } = new AbortController()
      const dearest = async () => {
        const sort = [{ field: 'cost', direction: 'desc' }] as const
        const view = { ...viewIn(project, { sort, limit: ids.length }), filters: [] }
        const rows = await collect(
          streamCalls(boundTo(db, signal), view, { large: new Set(), totalStorageSize: false }, 1),
        )
        return rows.map(({ id }) => id)
      }
      const ranked = async () => {
        const costs = await readCosts(db, project, ids)
        const costOf = (id: string) => costs.get(id) ?? -1
        return ids.toSorted((id, other) => costOf(other) - costOf(id) || (id < other ? 1 : -1))
      }
      assert.equal((await readCosts(db, project, ids)).size, 155)
      assert.deepEqual(await dearest(), await ranked())
      assert.equal((await comparedPrices(db, project))?.length, 20)
      // Each mention of a cost would repeat them all.
      assert.equal(await comparedPrices(db, project, 2), undefined)
      // With more prices, each is looked up.
      await db.write(
        'addPrices',
        Array.from({ length: 50 }, (_, n) => randomPrice(20 + n)),
      )
      assert.equal(await comparedPrices(db, project), undefined)
      assert.deepEqual(await dearest(), await ranked())
    })

    test('are removed by id and by project', async (t) => {
      const db = await open(t)
      const [one, other] = [newProject(), newProject()]
      await db.write('addPrices', [
        priceOf(one, { id: 'a' }),
        priceOf(one, { id: 'b' }),
        priceOf(other, { id: 'a' }),
      ])
      await db.write('removePrices', { project_id: one, ids: ['a', 'nobody'] })
      assert.deepEqual(await idsOf(db, one), ['b'])
      assert.deepEqual(await idsOf(db, other), ['a'])
    })
  })
}
