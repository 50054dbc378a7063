import { useState } from 'preact/hooks'
import type { Format } from '../../../src/domain/alerts.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { ListTable } from '../../parts/list-table.tsx'
import { SettingsHead } from '../../parts/lists-head.tsx'
import { SecretDialog } from '../../parts/secret-dialog.tsx'
import {
  type Endpoint,
  makeEndpoint,
  pause,
  readEndpoints,
  remove,
  replay,
  rotateSecret,
  sendTest,
} from '../../server/alerts.ts'
import { useLoading } from '../../server/loading.ts'
import { existedUntilDeleted } from '../../server/request.ts'
import { may } from '../../server/rights.ts'
import { countText } from '../../value/units.ts'

const formatTexts: Record<Format, string> = {
  standard: 'webhook',
  slack: 'Slack',
  teams: 'Teams',
  pagerduty: 'PagerDuty',
}

/** Where the messages of a project go. */
export function EndpointsScreen({ project }: { project: string }) {
  const loaded = useLoading((signal) => readEndpoints(project, signal), [project])
  const [isOpen, setOpen] = useState(false)
  const [secret, setSecret] = useState<string>()
  return (
    <main class="screen sheet quality">
      <SettingsHead {...{ project }} title="Endpoints">
        {may('write', project) && (
          <button type="button" class="main-button" onClick={() => setOpen(true)}>
            New endpoint
          </button>
        )}
      </SettingsHead>
      <ListTable
        label="Endpoints"
        {...{ loaded }}
        keyOf={({ id }) => id}
        columns={columns}
        acts={({ id, name: of, active, dead }) => [
          active && { name: 'Test', of, run: () => sendTest(project, id) },
          dead > 0 && { name: 'Replay dead', of, run: () => replay(project, id) },
          { name: active ? 'Pause' : 'Resume', of, run: () => pause(project, 'endpoints', id, active) },
          {
            name: 'Rotate secret',
            of,
            ask: 'Messages are signed with the old and the new secret for a day.',
            run: async () => setSecret(await rotateSecret(project, id)),
          },
          {
            name: 'Delete',
            of,
            ask: 'What has not been delivered is not sent any more.',
            run: () => existedUntilDeleted(remove(project, 'endpoints', id)),
          },
        ]}
        empty="No endpoints yet"
      >
        <p>Alerts and other events of the project are sent to its endpoints.</p>
      </ListTable>
      {isOpen && (
        <FormDialog
          title="New endpoint"
          fields={({ format }) => ({
            name: { label: 'Name', example: 'On call' },
            format: { label: 'Kind', choices: formatTexts },
            url: {
              label: 'Address',
              example: 'https://hooks.example.com/in',
              isHidden: format === 'pagerduty',
            },
            routing_key: { label: 'Integration key', isHidden: format !== 'pagerduty' },
          })}
          first={{ name: '', format: 'standard', url: '', routing_key: '' }}
          submit="Add endpoint"
          onSubmit={async ({ name, format, url, routing_key }) => {
            const to = format === 'pagerduty' ? { routing_key: routing_key.trim() } : { url: url.trim() }
            setSecret(await makeEndpoint(project, { name: name.trim(), format: format as Format, ...to }))
            loaded.reload()
          }}
          onClose={() => setOpen(false)}
        />
      )}
      {secret !== undefined && (
        <SecretDialog
          label="Secret of the endpoint"
          what="secret"
          {...{ secret }}
          onClose={() => setSecret(undefined)}
        />
      )}
    </main>
  )
}

const columns = {
  Name: ({ name }: Endpoint) => <span class="strong">{name}</span>,
  Kind: ({ format }: Endpoint) => formatTexts[format],
  Address: ({ url }: Endpoint) => (
    <span class="quality-text quality-why">
      {url.split(/(?<=\/)(?!\/)|(?=\?)/).map((step, index) => (
        <span key={index}>{step}</span>
      ))}
    </span>
  ),
  State: ({ active, stopped }: Endpoint) =>
    active ? 'on' : <span class={stopped ? 'problem' : 'muted'}>{stopped ?? 'paused'}</span>,
  Waiting: ({ pending }: Endpoint) => countText(pending),
  Sent: ({ sent }: Endpoint) => countText(sent),
  Dead: ({ dead, dropped }: Endpoint) => (
    <span class={dead > 0 ? 'problem' : undefined}>
      {countText(dead)}
      {dropped > 0 && `, ${countText(dropped)} dropped`}
    </span>
  ),
}
