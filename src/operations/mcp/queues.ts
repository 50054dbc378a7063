import { createHash } from 'node:crypto'
import { z } from 'zod'
import { callRef, parseRef } from '../../domain/refs.ts'
import type {
  ItemAnswer,
  ItemsAnswer,
  NextAnswer,
  QueueAnswer,
  QueueRecord,
  StatsAnswer,
} from '../queues/contract.ts'
import { type Asking, ToolError } from './asking.ts'
import { overviewOf } from './call.ts'
import { annotation, annotationOf, creator } from './feedback.ts'
import { fitting, head, withoutNulls } from './fitting.ts'
import { cut, project, rows, tool } from './tool.ts'

const queueId = z.string().min(1).max(128)
const maxQueues = 50

export const nextQueueItem = tool({
  name: 'next_queue_item',
  title: 'Take the next item of a queue',
  description:
    'Reserve the next open item of an annotation queue for 15 minutes, with its calls and the questions. Without queue_id: lists queues. finish_queue_item ends it.',
  input: z.strictObject({ project, queue_id: queueId.optional() }),
  output: z.object({
    item: z.looseObject({}).nullish(),
    questions: rows.optional(),
    queues: rows.optional(),
    cut,
  }),
  changes: { isRepeatable: false },
  async run(asking, { project, queue_id }) {
    if (queue_id === undefined) return queuesOf(asking, project)
    const url = `/annotation_queues/${encodeURIComponent(queue_id)}`
    const { item, leased_items } = await asking.post<z.output<typeof NextAnswer>>(`${url}/next`, {
      project_id: project,
    })
    if (item === null) {
      return { item, ...(leased_items > 0 && { cut: `${leased_items} items are reserved by others` }) }
    }
    const { queue } = await asking.get<z.output<typeof QueueAnswer>>(
      `${url}?project_id=${encodeURIComponent(project)}`,
    )
    const shown = {
      item_id: item.id,
      call_id: item.call_id,
      reserved_until: item.lease?.expires_at,
      instructions: head(queue.description, 600),
      ...(await callOf(asking, project, item.call_id)),
      ...(item.other_call_id !== null && {
        other_call_id: item.other_call_id,
        other: await callOf(asking, project, item.other_call_id),
      }),
    }
    const questions = await questionsOf(asking, queue.scorer_refs, shown)
    const more = queue.scorer_refs.length - questions.length
    return { item: shown, questions, ...(more > 0 && { cut: `${more} questions` }) }
  },
})

/** The item stays reserved even if its call has expired: it can be skipped then. */
async function callOf(asking: Asking, project: string, id: string) {
  try {
    return await overviewOf(asking, project, id)
  } catch (error) {
    if (error instanceof ToolError) return { call: { error: error.message } }
    throw error
  }
}

/** Those that fit beside what else is shown. */
async function questionsOf(asking: Asking, refs: readonly string[], shown: object) {
  let questions: object[] = []
  for (const ref of refs) {
    const fit = fitting([...questions, { ref, ...(await questionOf(asking, ref)) }], shown)
    if (fit.length === questions.length) break
    questions = fit
  }
  return questions
}

/** Annotators may read the questions of queues, and no other objects. */
async function questionOf(asking: Asking, text: string) {
  const ref = parseRef(text)
  if (ref === undefined || !('name' in ref) || ref.path.length > 0)
    return { error: 'This is no reference to an object.' }
  const body = { project_id: ref.project, object_id: ref.name, digest: ref.digest }
  try {
    const { obj } = await asking.post<{ obj: { val: Record<string, unknown> | null } }>('/obj/read', body)
    return withoutNulls({
      question: head(String(obj.val?.description ?? obj.val?.name ?? ''), 300),
      accepts: obj.val?.field_schema && head(JSON.stringify(obj.val.field_schema), 500),
    })
  } catch (error) {
    if (error instanceof ToolError) return { error: error.message }
    throw error
  }
}

async function queuesOf(asking: Asking, project: string) {
  const queues = await asking.lines<z.output<typeof QueueRecord>>('/annotation_queues/query', {
    project_id: project,
    limit: maxQueues,
  })
  if (queues.length === 0) return { queues: [] }
  const { stats } = await asking.post<z.output<typeof StatsAnswer>>('/annotation_queues/stats', {
    project_id: project,
    queue_ids: queues.map(({ id }) => id),
  })
  const all = queues.map(({ id, name, description }) => {
    const { total_items, completed_items } = stats.find(({ queue_id }) => queue_id === id) ?? {}
    return {
      queue_id: id,
      name: head(name, 100),
      about: head(description, 100),
      total_items,
      completed_items,
    }
  })
  const shown = fitting(all, {})
  return {
    queues: shown,
    ...(shown.length < all.length && { cut: `${all.length - shown.length} older queues` }),
  }
}

export const finishQueueItem = tool({
  name: 'finish_queue_item',
  title: 'Finish an item of a queue',
  description:
    'Store answers to the questions of a reserved item and complete it, or skip it. Safe to repeat.',
  input: z.strictObject({
    project,
    queue_id: queueId,
    item_id: queueId,
    state: z.enum(['completed', 'skipped']),
    answers: z.array(annotation).max(50).default([]),
  }),
  output: z.object({ item_id: z.string(), state: z.string(), answers: z.int() }),
  changes: { isRepeatable: true },
  async run(asking, { project, queue_id, item_id, state, answers }) {
    const url = `/annotation_queues/${encodeURIComponent(queue_id)}/items`
    const { items } = await asking.post<z.output<typeof ItemsAnswer>>(`${url}/query`, {
      project_id: project,
      filter: { id: item_id },
      limit: 1,
    })
    const [item] = items
    if (item === undefined) throw new ToolError(`item_id: the queue has no item ${JSON.stringify(item_id)}`)
    const batch = answers.map((answer) => ({
      ...{ project_id: project, svc_ref: callRef(asking.scheme, project, item.call_id), queue_id, creator },
      ...annotationOf(answer),
      // The same answer again is the same feedback.
      id: createHash('sha256')
        .update(JSON.stringify([asking.caller.name, item_id, answer]))
        .digest('hex'),
    }))
    if (batch.length > 0) await asking.post('/feedback/batch/create', { batch })
    const done = await asking.post<z.output<typeof ItemAnswer>>(
      `${url}/${encodeURIComponent(item_id)}/progress`,
      { project_id: project, annotation_state: state },
    )
    return { item_id, state: done.item.own_annotation_state, answers: batch.length }
  },
})
