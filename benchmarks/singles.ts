import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ask } from './answers.ts'
import { batchMaker, project } from './calls.ts'
import { type Contestant, type Name, start } from './contestants.ts'
import type { Requests } from './load.ts'
import { progressAnswer } from './progress.ts'

export interface Singles {
  /** heddle, bare, one by one, inline. */
  servers: readonly Contestant[]
  /** Of calls of about 2 kB, which the server has stored. */
  reads: Requests
  /** Bytes of an answer to one of them. */
  readBytes: number
  stop(): Promise<void>
}

/** The servers that receive one small request at a time. */
export async function startSingles(folder: string): Promise<Singles> {
  const servers: Contestant[] = []
  const run = async (name: Name) => {
    const server = await start(name, { HEDDLE_DATA: await dataOf(name) })
    servers.push(server)
    return server
  }
  const dataOf = async (name: Name) => {
    const data = join(folder, name.replaceAll(' ', '-'))
    await mkdir(data, { recursive: true })
    return data
  }

  const heddle = await run('heddle')
  const { body, rows } = batchMaker(200)()
  await ask(heddle, '/call/upsert_batch', body)
  const ids = rows.map(([, id]) => String(id))
  const record = JSON.stringify(await ask(heddle, '/call/read', { project_id: project, id: ids[0] }))
  await writeFile(join(await dataOf('bare'), 'record.json'), record)
  await writeFile(join(await dataOf('bare'), 'item.json'), await progressAnswer(heddle, ids[0] as string))
  for (const name of ['bare', 'one by one', 'inline'] as const) await run(name)
  return {
    servers,
    reads: ids.map((id) => ({ path: '/call/read', body: JSON.stringify({ project_id: project, id }) })),
    readBytes: Buffer.byteLength(record),
    async stop() {
      await Promise.all(servers.map((server) => server.stop()))
    },
  }
}
