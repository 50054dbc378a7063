import { useState } from 'preact/hooks'
import { base } from '../../base.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { ListTable } from '../../parts/list-table.tsx'
import { PeopleHead } from '../../parts/lists-head.tsx'
import { SecretDialog } from '../../parts/secret-dialog.tsx'
import { Time } from '../../parts/time.tsx'
import { search, setSearch } from '../../router.ts'
import { useLoading } from '../../server/loading.ts'
import { grantsText, type Invitation, invite, readInvitations, withdraw } from '../../server/people.ts'
import { existedUntilDeleted } from '../../server/request.ts'
import { grantFields, grantsIn } from './new-user.tsx'

/** Open invitations: whoever has the link makes one user of it. */
export function InvitationsScreen() {
  const loaded = useLoading(readInvitations, [])
  return (
    <main class="screen sheet quality">
      <PeopleHead title="Invitations">
        <InviteButton isMain onMade={loaded.reload} />
      </PeopleHead>
      <ListTable
        label="Invitations"
        {...{ loaded }}
        keyOf={({ id }) => id}
        columns={{
          For: ({ note }: Invitation) => note || <span class="muted">not said</span>,
          Roles: ({ grants }) => <span class="quality-text">{grantsText(grants)}</span>,
          By: ({ created_by }) => created_by,
          Made: ({ created_at }) => <Time at={created_at} />,
          Ends: ({ expires_at }) => <Time at={expires_at} />,
        }}
        acts={({ id, note }) => [
          {
            name: 'Withdraw',
            of: note || id,
            ask: 'Its link works no longer.',
            run: () => existedUntilDeleted(withdraw(id)),
          },
        ]}
        empty="No open invitations"
      >
        <p>An invitation is a link. Whoever opens it chooses a name and gets a key.</p>
      </ListTable>
    </main>
  )
}

const days = { 1: 'in a day', 7: 'in a week', 30: 'in 30 days' }

/** Makes a link, which is shown once. */
export function InviteButton({ isMain = false, onMade }: { isMain?: boolean; onMade?(): void }) {
  const [link, setLink] = useState<string>()
  return (
    <>
      <button
        type="button"
        class={isMain ? 'main-button' : undefined}
        onClick={() => setSearch({ new: '-' })}
      >
        Invite
      </button>
      {search.value.get('new') !== null && (
        <FormDialog
          title="Invite"
          fields={() => ({
            ...grantFields,
            note: { label: 'For whom', example: 'Only for this list', mayBeEmpty: true },
            days: { label: 'The link ends', choices: days },
          })}
          first={{ where: '', role: 'editor', note: '', days: '7' }}
          submit="Create link"
          onSubmit={async ({ note, days, ...grants }) => {
            const { secret } = await invite({
              grants: grantsIn(grants),
              note: note.trim() || undefined,
              days: Number(days),
            })
            setLink(`${location.origin}${base}/ui/#invite=${secret}`)
            onMade?.()
          }}
          onClose={() => setSearch({ new: undefined })}
        />
      )}
      {link !== undefined && (
        <SecretDialog label="Invitation" what="link" secret={link} onClose={() => setLink(undefined)} />
      )}
    </>
  )
}
