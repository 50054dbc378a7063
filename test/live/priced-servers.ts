import assert from 'node:assert/strict'
import { join } from 'node:path'
import { keys } from '../support/app.ts'
import { asking, chatUrl } from '../support/chat.ts'
import { pricesOf } from '../support/prices.ts'
import { writeRandomModel } from '../support/random-model.ts'
import { newFolder, type RunningServer, startOne, type TestScope } from '../support/server.ts'
import { until } from '../support/wait.ts'

/** Where what callers ask is recorded unless they say otherwise. */
export const pricedProject = 'acme/default'

export const askedShortly = (fields: object = {}) => asking({ max_tokens: 4, ignore_eos: true, ...fields })

interface PricedServers {
  servers: [RunningServer, RunningServer]
  /** Starts one of them again after its end, with the settings that it had. */
  restart(index: 0 | 1): Promise<void>
}

/** Two servers on one record, with the same model, which has a price. `own` are settings of one of them. */
export async function startPricedServers(
  t: TestScope,
  { url, model, settings = {} }: { url: string; model: string; settings?: Record<string, string> },
  own: [Record<string, string>, Record<string, string>] = [{}, {}],
): Promise<PricedServers> {
  const shared = {
    ...{ HEDDLE_DATABASE_URL: url, HEDDLE_MODEL: model, HEDDLE_MODEL_NAME: 'small', HEDDLE_THREADS: '1' },
    ...{ HEDDLE_PARALLEL: '8', HEDDLE_QUEUE: '64' },
    ...settings,
  }
  const start = async (index: 0 | 1) => {
    const server = await startOne(t, { ...shared, HEDDLE_DATA: await newFolder(t), ...own[index] })
    await until('the model is ready', async () => (await server.get('/ready')).status === 200)
    return server
  }
  const servers: [RunningServer, RunningServer] = [await start(0), await start(1)]
  const priced = await servers[0].post('/cost/create', pricesOf({ small: {} }, pricedProject))
  assert.equal(priced.status, 200)
  return {
    servers,
    async restart(index) {
      servers[index] = await start(index)
    },
  }
}

/** Returns the file. */
export async function writeSmallModel(t: TestScope): Promise<string> {
  const model = join(await newFolder(t), 'random.gguf')
  await writeRandomModel(model, { weights: 'q8_0', hidden: 64, context: 1024 })
  return model
}

export async function budgetIn(
  server: RunningServer,
): Promise<{ spent: string; reserved: string; left: string }> {
  const { budgets } = (await (await server.get('/budgets', keys.alice)).json()) as {
    budgets: { spent: string; reserved: string; left: string }[]
  }
  return budgets[0] as { spent: string; reserved: string; left: string }
}

export async function addBudget(server: RunningServer, amount: string): Promise<void> {
  const body = { scope: 'entity', subject: 'acme', window: 'month', amount }
  assert.equal((await server.post('/budgets', body, { key: keys.root })).status, 200)
}

type Posting = (server: RunningServer, url: string, body: object) => Promise<Response>

/**
 * Gives the entity a budget for 21 answers, asks for 64 at once on both servers, in turns as a stream or whole and recorded
 * or not, and checks that the budget closes at exactly its sum. One answer was read before, to know what one costs.
 */
export async function closeBudgetAtItsSum(
  [one, other]: readonly [RunningServer, RunningServer],
  post: Posting,
): Promise<void> {
  const first = (await (await post(one, chatUrl, askedShortly())).json()) as { usage: Record<string, number> }
  const { prompt_tokens = 0, completion_tokens = 0 } = first.usage
  assert.equal(completion_tokens, 4)
  const cost = prompt_tokens + 2 * completion_tokens
  const amount = ((21 * cost) / 1000).toFixed(3)
  await addBudget(one, amount)
  const answers = await Promise.all(
    Array.from({ length: 64 }, async (_, n) => {
      const body = askedShortly({ stream: n % 4 > 1, store: n % 8 > 3 })
      const answer = await post(n % 2 ? one : other, chatUrl, body)
      return { status: answer.status, text: await answer.text() }
    }),
  )
  const refused = answers.filter(({ status }) => status !== 200)
  assert.equal(refused.length, 43)
  for (const { status, text } of refused) {
    assert.deepEqual([status, JSON.parse(text).error.code], [429, 'budget_exceeded'])
  }
  await until('all are settled', async () => (await budgetIn(one)).reserved === '0')
  const { spent, left } = await budgetIn(other)
  assert.deepEqual([Number(spent), left], [Number(amount), '0'])
}
