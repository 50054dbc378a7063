import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Caller, hasAccess, requireAccess } from '../../domain/callers.ts'
import { refuse } from '../../domain/refusals.ts'
import { callerOn } from '../../http/callers.ts'
import { createConcurrencyLimit } from '../../http/concurrency-limit.ts'
import { refusalContracts } from '../../http/contracts.ts'
import { disconnectSignal, whenClosed } from '../../http/disconnect.ts'
import { type EventForm, sendEvents } from '../../http/streams/sse.ts'
import { family, type Operation } from '../parts.ts'
import { EventsQuery, RecordEvent } from './contract.ts'
import type { StreamEvent } from './hub.ts'

/** A browser opens one for all its tabs. */
const maxStreams = { perUser: 32, total: 1_024 }

/** How often the key is checked again. */
const checkIntervalMs = 1_000

const form: EventForm = {
  write: (value) => {
    const { name, id, data } = value as StreamEvent
    return `event: ${name}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`
  },
  keepAlive: ': keep-alive\n\n',
  failure: ({ code, message }) => `event: end\ndata: ${JSON.stringify({ reason: message, code })}\n\n`,
  end: '',
}

const events: Operation = async (app, { events: hub, models }) => {
  const streams = createConcurrencyLimit(maxStreams, 'too_many_streams')
  app.get(
    '/views/events',
    {
      exposeHeadRoute: false,
      config: { right: 'read', staysOpen: true },
      schema: {
        summary: 'Stream changes of the record as they happen',
        description:
          'Server-sent events, sent after the commit of what they report and grouped over 100 ms. `open` says where the stream begins; `change` reports changes; `resync` says that changes were missed, so the client has to read its data again; `end` says why the stream ends, in the form of a refusal. A comment is sent while there are no events. With `Last-Event-ID` a stream resumes where it was. See docs/events.md.',
        tags: ['events'],
        querystring: EventsQuery,
        response: {
          200: { description: 'The events.', content: { 'text/event-stream': { schema: RecordEvent } } },
          ...refusalContracts('entity_forbidden', 'invalid_request', 'too_many_streams', 'queue_full'),
        },
      },
    },
    async (request, reply) => {
      const { project_id: wanted } = request.query
      if (wanted !== undefined) requireAccess(request.caller, wanted)
      const after = request.headers['last-event-id']
      whenClosed(reply, streams.enter(request.caller.name))
      const left = disconnectSignal(reply)
      const caller = currentCaller(request, reply)
      const sees = (project: string) =>
        hasAccess(caller.now, project) && (wanted === undefined || wanted === project)
      const seesModel = (name: string) =>
        models.seenBy(caller.now).some((model) => model.served()?.names.includes(name))
      const signal = AbortSignal.any([left, caller.gone])
      const told = hub.follow({
        after: after === undefined ? undefined : String(after),
        sees,
        seesModel,
        signal,
      })
      await sendEvents(reply, told, left, form)
      return reply
    },
  )
}

/** The caller as it is known by now, and a signal that aborts when its key is revoked or its session is over. */
function currentCaller(request: FastifyRequest, reply: FastifyReply): { now: Caller; gone: AbortSignal } {
  const gone = new AbortController()
  const known = { now: request.caller, gone: gone.signal }
  const timer = setInterval(async () => {
    // A record that cannot be read for a moment does not mean that the key is invalid.
    const caller = await request.callerNow().catch(() => known.now)
    if (caller === undefined) return gone.abort(refuse('wrong_credentials'))
    try {
      known.now = callerOn(caller, request)
    } catch (refusal) {
      gone.abort(refusal)
    }
  }, checkIntervalMs).unref()
  whenClosed(reply, () => clearInterval(timer))
  return known
}

export const eventRoutes = family(events)
