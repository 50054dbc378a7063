import { batch, signal } from '@preact/signals'
import { type Queue, type QueueStats, readQueues, readStats } from '../../server/queues.ts'

const pageSize = 100

/** The queues of a project, the newest first: each call of `more` reads further ones. */
export function createQueueRows(project: string) {
  const queues = signal<readonly Queue[] | undefined>(undefined)
  const stats = signal<ReadonlyMap<string, QueueStats>>(new Map())
  const isAll = signal(false)
  const error = signal<Error | undefined>(undefined)
  const closing = new AbortController()
  const { signal: closed } = closing
  let offset = 0
  let isReading = false

  async function readPage(): Promise<void> {
    const page = await readQueues(project, closed, { offset, limit: pageSize })
    const ids = page.map(({ id }) => id)
    const counts = await readStats(project, ids, closed)
    offset += page.length
    batch(() => {
      // A queue made meanwhile shifts the others, so some are read twice.
      const known = new Set(queues.value?.map(({ id }) => id))
      queues.value = [...(queues.value ?? []), ...page.filter(({ id }) => !known.has(id))]
      stats.value = new Map([...stats.value, ...counts])
      isAll.value = page.length < pageSize
      error.value = undefined
    })
  }

  async function more(): Promise<void> {
    if (isReading || isAll.value) return
    isReading = true
    try {
      await readPage()
    } catch (given) {
      if (!closed.aborted) error.value = given as Error
    }
    isReading = false
  }

  void more()
  return { queues, stats, isAll, error, more, close: () => closing.abort() }
}
