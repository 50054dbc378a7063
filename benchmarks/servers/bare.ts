// The ceiling: the same request in and the same JSON out, and nothing in between.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '../../src/config.ts'
import { newId } from '../../src/domain/ids.ts'
import { plainServer, serve } from './front.ts'

const record: unknown = JSON.parse(readFileSync(join(readConfig(process.env).data, 'record.json'), 'utf8'))
const app = await plainServer()
app.post('/call/read', { onRequest: app.basicAuth }, async () => record)
app.post('/call/start', { onRequest: app.basicAuth }, async () => {
  const id = newId()
  return { id, trace_id: id }
})
await serve(app)
