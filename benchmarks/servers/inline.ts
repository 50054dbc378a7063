// The obvious way: the handler inserts, and waits for the disk on the main thread.

import { readConfig } from '../../src/config.ts'
import { newId } from '../../src/domain/ids.ts'
import { openRows } from '../rows.ts'
import { plainServer, serve } from './front.ts'

interface Body {
  start: { project_id: string; op_name: string; started_at: string; attributes: unknown; inputs: unknown }
}

const rows = openRows(readConfig(process.env).data)
const app = await plainServer()
app.post<{ Body: Body }>('/call/start', { onRequest: app.basicAuth }, async ({ body: { start } }) => {
  const id = newId()
  const attributes = JSON.stringify(start.attributes)
  const inputs = JSON.stringify(start.inputs)
  const bytes = Buffer.byteLength(attributes) + Buffer.byteLength(inputs)
  const startedAt = Date.parse(start.started_at) * 1000
  const none = null
  rows.insert([
    [
      start.project_id,
      id,
      none,
      id,
      none,
      none,
      none,
      start.op_name,
      startedAt,
      'bench',
      none,
      none,
      none,
      bytes,
      attributes,
      inputs,
      none,
      none,
      none,
      0,
      none,
      none,
    ],
  ])
  return { id, trace_id: id }
})
app.get('/count', { onRequest: app.basicAuth }, async () => ({ count: rows.count() }))
await serve(app, () => rows.close())
