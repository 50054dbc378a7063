import { useState } from 'preact/hooks'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { Failed, Skeleton } from '../parts/states.tsx'
import { Time } from '../parts/time.tsx'
import { useLoading } from '../server/loading.ts'
import { addKey, type KeyRow, readKeys, revokeKey } from '../server/people.ts'
import { existedUntilDeleted } from '../server/request.ts'
import { NewKeyDialog } from './new-key.tsx'

/** The keys of a user: its own, or, for admins, those of any user. */
export function KeyTable({ user, isOwn }: { user: string; isOwn: boolean }) {
  const about = isOwn ? undefined : user
  const { value, error, reload } = useLoading((signal) => readKeys(about, signal), [user])
  const [secret, setSecret] = useState<string>()
  const [going, setGoing] = useState<KeyRow>()
  const [isAllShown, setAllShown] = useState(false)
  if (error) return <Failed error={error} retry={reload} />
  if (value === undefined) return <Skeleton rows={3} />
  if (value.is_configured && value.keys.length === 0) {
    return (
      <p class="muted">
        {isOwn ? 'Your' : `The`} key is set in HEDDLE_USERS; only whoever runs the server can change it.
      </p>
    )
  }
  const dead = value.keys.filter(({ revoked_at }) => revoked_at !== null)
  const shown = isAllShown ? value.keys : value.keys.filter((key) => !dead.includes(key))
  return (
    <div class="keys">
      <NewKeyForm
        onMade={(made) => {
          setSecret(made)
          reload()
        }}
        user={about}
      />
      {shown.length === 0 ? (
        <p class="muted">No active keys.</p>
      ) : (
        <PlainTable label={`Keys of ${user}`} columns={['Name', 'State', 'Created', 'Recording', 'ID']}>
          {shown.map((key) => (
            <tr key={key.id}>
              <td>{key.name ?? <span class="muted">no name</span>}</td>
              <td>
                {key.revoked_at === null ? (
                  <button
                    type="button"
                    aria-label={`Revoke ${key.name ?? key.id}`}
                    onClick={() => setGoing(key)}
                  >
                    Revoke
                  </button>
                ) : (
                  <>
                    revoked <Time at={key.revoked_at} />
                  </>
                )}
              </td>
              <td>
                <Time at={key.created_at} />
              </td>
              <td>{key.record}</td>
              <td>
                <code>{key.id}</code>
              </td>
            </tr>
          ))}
        </PlainTable>
      )}
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
      {secret !== undefined && (
        <NewKeyDialog user={user} secret={secret} onClose={() => setSecret(undefined)} />
      )}
      {going && (
        <ConfirmDialog
          title="Revoke this key?"
          text={`${going.name ?? going.id} stops working at once, everywhere.${isOwn ? ' If you signed in with it, you will be signed out.' : ''}`}
          yes="Revoke"
          onYes={async () => {
            await existedUntilDeleted(revokeKey(going.id))
            reload()
          }}
          onClose={() => setGoing(undefined)}
        />
      )}
    </div>
  )
}

function NewKeyForm({ user, onMade }: { user: string | undefined; onMade(secret: string): void }) {
  const [name, setName] = useState('')
  const [isOff, setOff] = useState(false)
  const [failure, setFailure] = useState<Error>()
  const make = async () => {
    try {
      const trimmed = name.trim()
      const given = { ...(user !== undefined && { user }), ...(trimmed !== '' && { name: trimmed }) }
      const { key } = await addKey({ ...given, ...(isOff && { record: 'off' as const }) })
      setFailure(undefined)
      setName('')
      onMade(key)
    } catch (error) {
      setFailure(error as Error)
    }
  }
  return (
    <>
      <form
        class="row-form"
        onSubmit={(event) => {
          event.preventDefault()
          void make()
        }}
      >
        <input
          aria-label="Name of a new key"
          placeholder="Name, such as the machine it is used on"
          maxLength={100}
          value={name}
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
        <label class="check">
          <input
            type="checkbox"
            checked={isOff}
            onChange={({ currentTarget }) => setOff(currentTarget.checked)}
          />
          Do not record its answers
        </label>
        <button type="submit">Create key</button>
      </form>
      {failure && (
        <p class="problem" role="alert">
          {failure.message}
        </p>
      )}
    </>
  )
}
