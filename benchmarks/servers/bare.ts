// The ceiling: the same request in and the same JSON out, and nothing in between.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '../../src/config.ts'
import { newId } from '../../src/domain/ids.ts'
import { plainServer, serve } from './front.ts'

const { data } = readConfig(process.env)
const answer = (name: string): unknown => JSON.parse(readFileSync(join(data, name), 'utf8'))
const record = answer('record.json')
const item = answer('item.json')
const app = await plainServer()
app.post('/call/read', { onRequest: app.basicAuth }, async () => record)
app.post('/call/start', { onRequest: app.basicAuth }, async () => {
  const id = newId()
  return { id, trace_id: id }
})
app.post<{ Body: { payload: unknown } }>(
  '/feedback/create',
  { onRequest: app.basicAuth },
  async ({ body: { payload } }) => ({
    id: newId(),
    created_at: new Date().toISOString(),
    svc_user_id: 'bench',
    payload,
  }),
)
app.post(
  '/annotation_queues/:queue_id/items/:item_id/progress',
  { onRequest: app.basicAuth },
  async () => item,
)
await serve(app)
