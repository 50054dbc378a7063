import { ListTable } from '../../parts/list-table.tsx'
import { SettingsHead } from '../../parts/lists-head.tsx'
import { OlderPages } from '../../parts/older-pages.tsx'
import { Time } from '../../parts/time.tsx'
import { search, setSearch } from '../../router.ts'
import { paths } from '../../routes.ts'
import { type AlertEvent, type Delivery, readEndpoints, readEvents, replay } from '../../server/alerts.ts'
import { useLoading } from '../../server/loading.ts'
import { may } from '../../server/rights.ts'

const pageSize = 100
const states = ['all', 'pending', 'sent', 'dead']

interface Row {
  event: AlertEvent
  /** Undefined where no endpoint takes such events. */
  delivery: Delivery | undefined
  /** Its name is for those who may change it. */
  to: string
}

/** What happened in a project, and what became of the messages about it. */
export function DeliveriesScreen({ project }: { project: string }) {
  const asked = search.value
  const [state, before] = [asked.get('state') ?? undefined, asked.get('before') ?? undefined]
  const mayChange = may('write', project)
  const loaded = useLoading(
    async (signal) => {
      const [events, endpoints] = await Promise.all([
        readEvents(project, { state, before, limit: pageSize }, signal),
        mayChange ? readEndpoints(project, signal) : [],
      ])
      const names = new Map(endpoints.map(({ id, name }) => [id, name]))
      const rows = events.flatMap((event): Row[] => {
        const meant = event.deliveries.filter((delivery) => state === undefined || delivery.state === state)
        if (meant.length === 0) return [{ event, delivery: undefined, to: '' }]
        return meant.map((delivery) => ({
          event,
          delivery,
          to: names.get(delivery.endpoint_id) ?? delivery.endpoint_id,
        }))
      })
      return { rows, next: events.length < pageSize ? null : (events.at(-1)?.id ?? null) }
    },
    [project, state, before],
  )
  return (
    <main class="screen sheet quality">
      <SettingsHead {...{ project }} title="Deliveries">
        <fieldset class="segments">
          <legend class="hidden-text">State</legend>
          {states.map((name) => (
            <button
              key={name}
              type="button"
              aria-pressed={(state ?? 'all') === name}
              onClick={() => setSearch({ state: name === 'all' ? undefined : name, before: undefined })}
            >
              {name}
            </button>
          ))}
        </fieldset>
      </SettingsHead>
      <ListTable
        label="Deliveries"
        loaded={{ ...loaded, value: loaded.value?.rows }}
        keyOf={({ event, delivery }) => `${event.id} ${delivery?.endpoint_id}`}
        columns={{
          When: ({ event }: Row) => <Time at={event.timestamp} />,
          What: ({ event: { type, data } }) => (
            <span class="quality-text">{[type, data.rule?.name].filter(Boolean).join(' ')}</span>
          ),
          Call: ({ event: { data } }) =>
            data.call_id && <a href={paths.call(project, data.call_id)}>{data.call_id.slice(0, 8)}…</a>,
          To: ({ to }) => to || <span class="muted">nobody</span>,
          State: ({ delivery }) => delivery && <State {...delivery} />,
          Tries: ({ delivery }) => delivery?.tries,
          'Last answer': ({ delivery }) => answerText(delivery),
        }}
        acts={({ event, delivery, to }) =>
          mayChange && delivery !== undefined && delivery.state !== 'pending'
            ? [
                {
                  name: 'Send again',
                  of: `to ${to}`,
                  run: () => replay(project, delivery.endpoint_id, [event.id]),
                },
              ]
            : []
        }
        empty={state === undefined ? 'Nothing has happened yet' : `No ${state} deliveries`}
      >
        <p>Alerts and other events of the project appear here, with what each endpoint answered.</p>
      </ListTable>
      <OlderPages before={before} next={loaded.value?.next} />
    </main>
  )
}

function answerText(delivery: Delivery | undefined) {
  const text = [delivery?.status, delivery?.error].filter((word) => word != null).join(' ')
  return text === '' ? undefined : <span class="quality-text">{text}</span>
}

function State({ state, next_at }: Delivery) {
  if (state !== 'pending') return <span class={state === 'dead' ? 'problem' : undefined}>{state}</span>
  return (
    <>
      pending
      {next_at !== null && (
        <>
          , next <Time at={next_at} />
        </>
      )}
    </>
  )
}
