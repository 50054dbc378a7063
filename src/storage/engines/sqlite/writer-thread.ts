import { receiveMessageOnPort, workerData } from 'node:worker_threads'
import { ownPort } from '../../../threads/thread.ts'
import { connect, reclaimPages } from './connection.ts'
import type { Job } from './group.ts'
import { createWriter } from './writer.ts'

export interface WriterThreadData {
  file: string
  groupLimit: number
}

export type WriterMessage = { jobs: Job[] } | { id: number; reclaim: number } | 'close'

/** Where `startThread` finds this file, before and after the build. */
export const writerThread = import.meta.url

/** What the thread does. */
export function serve(): void {
  const port = ownPort()
  const { file, groupLimit } = workerData as WriterThreadData
  const connection = connect(file, 'write')
  let state: 'open' | 'closing' | 'closed' = 'open'

  function receive(message: WriterMessage): Job[] {
    if (message === 'close') state = 'closing'
    else if ('jobs' in message) return message.jobs
    else port.postMessage([{ id: message.id, value: reclaimPages(connection, message.reclaim) }])
    return []
  }

  // What else has arrived while the last group was on its way to the disk joins the next one.
  function collect(): Job[] {
    const jobs: Job[] = []
    for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) {
      jobs.push(...receive(next.message as WriterMessage))
    }
    return jobs
  }

  const writer = createWriter(connection, (results) => port.postMessage(results), { groupLimit, collect })

  port.on('message', async (message: WriterMessage) => {
    const jobs = receive(message)
    if (jobs.length > 0) writer.submit(jobs)
    await writer.idle()
    if (state !== 'closing') return
    state = 'closed'
    // The log is emptied into the file, so that a copy of the file alone is the whole record.
    connection.handle.pragma('wal_checkpoint(TRUNCATE)')
    connection.close()
    port.close()
  })
}
