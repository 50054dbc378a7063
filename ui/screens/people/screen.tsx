import { useState } from 'preact/hooks'
import { KeyTable } from '../../keys/key-table.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { type Act, ListTable } from '../../parts/list-table.tsx'
import { PeopleHead } from '../../parts/lists-head.tsx'
import { SecretDialog } from '../../parts/secret-dialog.tsx'
import { Empty } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { paths } from '../../routes.ts'
import { useLoading } from '../../server/loading.ts'
import { grantsText, readUsers, removeUser, type User } from '../../server/people.ts'
import { existedUntilDeleted } from '../../server/request.ts'
import { may } from '../../server/rights.ts'
import { currentUser } from '../../server/session.ts'
import { GrantsDialog } from './grants.tsx'
import { InviteButton } from './invitations.tsx'
import { LimitsForm, limitsText } from './limits.tsx'
import { NewUserForm } from './new-user.tsx'

type Open = { what: 'new' } | { what: 'keys' | 'roles' | 'limits'; user: User }

/** The users of the server, for admins. */
export function PeopleScreen() {
  if (may('operate')) return <Users />
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

function Users() {
  const loaded = useLoading(readUsers, [])
  const [open, setOpen] = useState<Open>()
  const [made, setMade] = useState<{ user: string; secret: string }>()
  const close = () => setOpen(undefined)
  const { reload } = loaded
  return (
    <main class="screen sheet quality">
      <PeopleHead title="People">
        <InviteButton />
        <button type="button" class="main-button" onClick={() => setOpen({ what: 'new' })}>
          Add user
        </button>
      </PeopleHead>
      <ListTable
        label="Users"
        {...{ loaded }}
        keyOf={({ name, is_configured }) => `${name} ${is_configured}`}
        columns={columns}
        acts={(user) => actsOf(user, setOpen)}
        empty="No users"
      />
      {open?.what === 'new' && (
        <NewUserForm
          onMade={(user, secret) => {
            setMade({ user, secret })
            reload()
          }}
          onClose={close}
        />
      )}
      {open?.what === 'keys' && (
        <Dialog label={`Keys of ${open.user.name}`} onClose={close}>
          <div class="new-key">
            <KeyTable user={open.user.name} isOwn={isOwn(open.user)} />
          </div>
        </Dialog>
      )}
      {open?.what === 'roles' && <GrantsDialog user={open.user} onChanged={reload} onClose={close} />}
      {open?.what === 'limits' && <LimitsForm user={open.user} onSaved={reload} onClose={close} />}
      {made && (
        <SecretDialog
          label={`New key for ${made.user}`}
          what="key"
          secret={made.secret}
          onClose={() => setMade(undefined)}
        />
      )}
    </main>
  )
}

const isOwn = ({ name }: User) => name === currentUser.value?.user

const columns = {
  Name: ({ name }: User) => <span class="strong">{name}</span>,
  Roles: (user: User) => (
    <span class="quality-text">
      {grantsText(user.grants)}
      {user.role === 'admin' && !user.grants.some(({ scope }) => scope === '*') && ', operates the server'}
    </span>
  ),
  Limits: ({ settings }: User) => <span class="quality-text">{limitsText(settings)}</span>,
  Since: ({ created_at }: User) => (created_at === null ? 'set in HEDDLE_USERS' : <Time at={created_at} />),
}

function actsOf(user: User, open: (open: Open) => void): (Act | false)[] {
  const { name: of, is_configured: isConfigured } = user
  const isOther = !isConfigured && !isOwn(user)
  return [
    !isConfigured && { name: 'Keys', of, run: () => open({ what: 'keys', user }) },
    isOther && { name: 'Roles', of, run: () => open({ what: 'roles', user }) },
    { name: 'Limits', of, run: () => open({ what: 'limits', user }) },
    isOther && {
      name: 'Remove',
      of,
      ask: `${of} and its keys stop working at once. What it recorded is kept.`,
      run: () => existedUntilDeleted(removeUser(of)),
    },
  ]
}
