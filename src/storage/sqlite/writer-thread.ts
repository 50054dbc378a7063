import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { connect } from './connection.ts'
import type { Job } from './group.ts'
import { createWriter } from './writer.ts'

export interface WriterThreadData {
  file: string
  groupLimit: number
}

export type WriterMessage = { jobs: Job[] } | { reclaim: number } | 'close'

const port = parentPort
if (port === null) throw new Error('the writer runs in a thread of its own')

const { file, groupLimit } = workerData as WriterThreadData
const connection = connect(file, 'write')

// What else has arrived while the last group was on its way to the disk joins the next one.
let closing = false
function arrived(): Job[] {
  const jobs: Job[] = []
  for (
    let next = receiveMessageOnPort(port as NonNullable<typeof port>);
    next;
    next = receiveMessageOnPort(port as NonNullable<typeof port>)
  ) {
    jobs.push(...receive(next.message as WriterMessage))
  }
  return jobs
}

function receive(message: WriterMessage): Job[] {
  if (message === 'close') {
    closing = true
    return []
  }
  if ('reclaim' in message) {
    connection.handle.pragma(`incremental_vacuum(${message.reclaim})`)
    return []
  }
  return message.jobs
}

const writer = createWriter(connection, (results) => port.postMessage(results), {
  groupLimit,
  gather: arrived,
})

port.on('message', async (message: WriterMessage) => {
  const jobs = receive(message)
  if (jobs.length > 0) writer.submit(jobs)
  if (!closing) return
  await writer.idle()
  // The log is emptied into the file, so that a copy of the file alone is the whole record.
  connection.handle.pragma('wal_checkpoint(TRUNCATE)')
  connection.close()
  port.close()
})
