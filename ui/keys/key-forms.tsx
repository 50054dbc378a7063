import { FormDialog, listIn } from '../parts/form-dialog.tsx'
import { addKey, rotateKey, scopeTexts } from '../server/people.ts'

interface Props {
  onMade(secret: string): void
  onClose(): void
}

const dayMs = 86_400_000
const lifetimes = { '': 'never', 7: 'in a week', 30: 'in 30 days', 90: 'in 90 days', 365: 'in a year' }

/** A key that may do all that its user may, or only some of it, for some time. */
export function NewKeyForm({ user, onMade, onClose }: Props & { user: string | undefined }) {
  return (
    <FormDialog
      title={user === undefined ? 'New key' : `New key for ${user}`}
      fields={({ what }) => ({
        name: { label: 'Name', example: 'The machine it is used on', mayBeEmpty: true },
        what: { label: 'May do', choices: { all: 'everything its user may', some: 'only some of it' } },
        scopes: { label: 'Only', choices: scopeTexts, isMany: true, isHidden: what === 'all' },
        days: { label: 'Expires', choices: lifetimes, mayBeEmpty: true },
        record: {
          label: 'Answers of models to it',
          choices: { on: 'are recorded', off: 'are not recorded' },
        },
      })}
      first={{ name: '', what: 'all', scopes: '', days: '', record: 'on' }}
      submit="Create key"
      onSubmit={async ({ name, what, scopes, days, record }) => {
        const { key } = await addKey({
          user,
          name: name.trim() || undefined,
          record: record === 'off' ? 'off' : undefined,
          scopes: what === 'all' ? undefined : (listIn(scopes) as (keyof typeof scopeTexts)[]),
          expires_at: days === '' ? undefined : new Date(Date.now() + Number(days) * dayMs).toISOString(),
        })
        onMade(key)
      }}
      {...{ onClose }}
    />
  )
}

const overlaps = { 0: 'not at all', 3600: 'an hour', 86400: 'a day', 604800: 'a week' }

/** A new key in place of an old one, which works beside it while programs change over. */
export function RotateForm({ id, onMade, onClose }: Props & { id: string }) {
  return (
    <FormDialog
      title="Rotate this key"
      fields={() => ({ overlap: { label: 'The old key works on for', choices: overlaps } })}
      first={{ overlap: '86400' }}
      submit="Make the new key"
      onSubmit={async ({ overlap }) => onMade((await rotateKey(id, Number(overlap))).key)}
      {...{ onClose }}
    />
  )
}
