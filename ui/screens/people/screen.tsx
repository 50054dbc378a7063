import { useState } from 'preact/hooks'
import { KeyTable } from '../../keys/key-table.tsx'
import { NewKeyDialog } from '../../keys/new-key.tsx'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { PlainTable } from '../../parts/plain-table.tsx'
import { Empty, Failed, Skeleton } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { paths } from '../../routes.ts'
import { useLoading } from '../../server/loading.ts'
import { readUsers, removeUser, type User } from '../../server/people.ts'
import { existedUntilDeleted, RefusedError } from '../../server/request.ts'
import { currentUser } from '../../server/session.ts'
import { countText } from '../../value/units.ts'
import { NewUserForm } from './new-user.tsx'

/** The users of the server, for admins. */
export function PeopleScreen() {
  const { value, error, reload } = useLoading(readUsers, [])
  const [made, setMade] = useState<{ user: string; secret: string }>()
  const [going, setGoing] = useState<User>()
  const [looked, setLooked] = useState<User>()
  if (error instanceof RefusedError && error.status === 403) {
    return (
      <main class="screen">
        <Empty title="Only admins can see users">
          <p>Your own keys are under My keys.</p>
          <a class="button" href={paths.me}>
            My keys
          </a>
        </Empty>
      </main>
    )
  }
  return (
    <main class="screen narrow wide">
      <h1>People</h1>
      {error && <Failed error={error} retry={reload} />}
      {!error && value === undefined && <Skeleton rows={5} />}
      {value && (
        <>
          <NewUserForm
            onMade={(user, secret) => {
              setMade({ user, secret })
              reload()
            }}
          />
          <p class="muted">
            {countText(value.users.length)} users. What a user recorded is kept when the user is removed.
          </p>
          <PlainTable
            label="Users"
            className="user-table"
            columns={['Name', 'Role', 'Entities', 'Limits', 'Since', 'Actions']}
          >
            {value.users.map((user) => (
              <tr key={`${user.name} ${user.is_configured}`}>
                <td>{user.name}</td>
                <td>{user.role}</td>
                <td>{user.entities.includes('*') ? 'all' : user.entities.join(', ')}</td>
                <td>{limitsOf(user)}</td>
                <td>{user.created_at === null ? 'HEDDLE_USERS' : <Time at={user.created_at} />}</td>
                <td class="row-acts">
                  {!user.is_configured && (
                    <>
                      <button
                        type="button"
                        aria-label={`Keys of ${user.name}`}
                        onClick={() => setLooked(user)}
                      >
                        Keys
                      </button>
                      {user.name !== currentUser.value?.user && (
                        <button
                          type="button"
                          aria-label={`Remove ${user.name}`}
                          onClick={() => setGoing(user)}
                        >
                          Remove
                        </button>
                      )}
                    </>
                  )}
                </td>
              </tr>
            ))}
          </PlainTable>
        </>
      )}
      {made && <NewKeyDialog {...made} onClose={() => setMade(undefined)} />}
      {looked && (
        <Dialog label={`Keys of ${looked.name}`} onClose={() => setLooked(undefined)}>
          <div class="new-key">
            <KeyTable user={looked.name} isOwn={looked.name === currentUser.value?.user} />
          </div>
        </Dialog>
      )}
      {going && (
        <ConfirmDialog
          title={`Remove ${going.name}?`}
          text={`${going.name} and its keys stop working at once. What it recorded is kept.`}
          yes="Remove"
          onYes={async () => {
            await existedUntilDeleted(removeUser(going.name))
            reload()
          }}
          onClose={() => setGoing(undefined)}
        />
      )}
    </main>
  )
}

function limitsOf({ settings }: User): string {
  const words = Object.entries(settings).map(([name, value]) => `${name.replaceAll('_', ' ')}: ${value}`)
  return words.length === 0 ? 'none' : words.join(', ')
}
