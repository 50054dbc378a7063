import { useState } from 'preact/hooks'
import { type Act, ListTable } from '../parts/list-table.tsx'
import { SecretDialog } from '../parts/secret-dialog.tsx'
import { Time } from '../parts/time.tsx'
import { useLoading } from '../server/loading.ts'
import { type KeyRow, readKeys, revokeKey, scopeTexts } from '../server/people.ts'
import { existedUntilDeleted } from '../server/request.ts'
import { NewKeyForm, RotateForm } from './key-forms.tsx'

/** The keys of a user: its own, or, for admins, those of any user. */
export function KeyTable({ user, isOwn }: { user: string; isOwn: boolean }) {
  const about = isOwn ? undefined : user
  const loaded = useLoading((signal) => readKeys(about, signal), [user])
  const { value, reload } = loaded
  const [form, setForm] = useState<'new' | KeyRow>()
  const [secret, setSecret] = useState<string>()
  const [isAllShown, setAllShown] = useState(false)
  if (value?.is_configured && value.keys.length === 0) {
    return (
      <p class="muted">
        {isOwn ? 'Your' : `The`} key is set in HEDDLE_USERS; only whoever runs the server can change it.
      </p>
    )
  }
  const dead = value?.keys.filter(({ revoked_at }) => revoked_at !== null) ?? []
  const shown = isAllShown ? value?.keys : value?.keys.filter((key) => !dead.includes(key))
  const onMade = (made: string) => {
    setSecret(made)
    reload()
  }
  return (
    <div class="keys">
      <div class="form-acts">
        <button type="button" onClick={() => setForm('new')}>
          New key
        </button>
      </div>
      <ListTable
        label={`Keys of ${user}`}
        loaded={{ ...loaded, value: shown }}
        keyOf={({ id }) => id}
        columns={keyColumns}
        acts={(key) => (key.revoked_at === null ? actsOf(key, isOwn, setForm) : [])}
        empty="No active keys"
      />
      {dead.length > 0 && (
        <button
          type="button"
          class="quiet"
          aria-pressed={isAllShown}
          onClick={() => setAllShown(!isAllShown)}
        >
          {isAllShown ? 'Hide' : 'Show'} {dead.length} revoked
        </button>
      )}
      {form === 'new' && <NewKeyForm user={about} {...{ onMade }} onClose={() => setForm(undefined)} />}
      {form !== undefined && form !== 'new' && (
        <RotateForm id={form.id} {...{ onMade }} onClose={() => setForm(undefined)} />
      )}
      {secret !== undefined && (
        <SecretDialog
          label={`New key for ${user}`}
          what="key"
          {...{ secret }}
          onClose={() => setSecret(undefined)}
        />
      )}
    </div>
  )
}

const timeOr = (at: string | null, text: string) =>
  at === null ? <span class="muted">{text}</span> : <Time at={at} />

const keyColumns = {
  Name: ({ name, id }: KeyRow) => (
    <span title={id}>{name ?? <span class="muted">{id.slice(0, 8)}…, no name</span>}</span>
  ),
  'May do': ({ scopes, record }: KeyRow) => (
    <span class="quality-text">
      {scopes?.map((scope) => scopeTexts[scope]).join(', ') ?? 'everything'}
      {record === 'off' && ', not recorded'}
    </span>
  ),
  Created: ({ created_at }: KeyRow) => <Time at={created_at} />,
  'Last used': ({ last_used_at }: KeyRow) => timeOr(last_used_at, 'never'),
  Ends: ({ revoked_at, expires_at }: KeyRow) =>
    revoked_at === null ? (
      timeOr(expires_at, 'never')
    ) : (
      <>
        revoked <Time at={revoked_at} />
      </>
    ),
}

function actsOf(key: KeyRow, isOwn: boolean, rotate: (key: KeyRow) => void): Act[] {
  const of = key.name ?? key.id
  return [
    { name: 'Rotate', of, run: () => rotate(key) },
    {
      name: 'Revoke',
      of,
      ask: `It stops working at once, everywhere.${isOwn ? ' If you signed in with it, you will be signed out.' : ''}`,
      run: () => existedUntilDeleted(revokeKey(key.id)),
    },
  ]
}
