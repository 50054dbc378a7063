import { useState } from 'preact/hooks'
import { Dialog } from '../../parts/dialog.tsx'
import { ListTable } from '../../parts/list-table.tsx'
import { type Grant, roleTexts, setGrants, type User } from '../../server/people.ts'
import { grantsIn } from './new-user.tsx'

/** What a user may do where. Each change holds at once. */
export function GrantsDialog(props: { user: User; onChanged(): void; onClose(): void }) {
  const { user, onChanged, onClose } = props
  const [grants, setShown] = useState(user.grants)
  const [where, setWhere] = useState('')
  const [role, setRole] = useState('viewer')
  const [failure, setFailure] = useState<Error>()
  const set = async (next: Grant[]) => {
    await setGrants(user.name, next)
    setShown(next)
    onChanged()
  }
  const added = grantsIn({ where, role })
  const isNew = (grant: Grant) => !added.some(({ scope }) => scope === grant.scope)
  const add = () =>
    set([...grants.filter(isNew), ...added]).then(() => {
      setWhere('')
      setFailure(undefined)
    }, setFailure)
  return (
    <Dialog label={`Roles of ${user.name}`} onClose={onClose}>
      <div class="new-key">
        <ListTable
          label="Roles"
          loaded={{ value: grants, isLoading: false, reload: () => undefined }}
          keyOf={({ scope, role }) => `${role} ${scope}`}
          columns={{
            Where: ({ scope }) => (scope === '*' ? 'everything' : scope),
            Role: (grant) => roleTexts[grant.role],
          }}
          acts={(grant) => [
            { name: 'Remove', of: grant.scope, run: () => set(grants.filter((other) => other !== grant)) },
          ]}
          empty="No roles"
        />
        <form
          class="row-form"
          onSubmit={(event) => {
            event.preventDefault()
            void add()
          }}
        >
          <input
            aria-label="Entity or project"
            placeholder="acme or acme/qa; * for all"
            spellcheck={false}
            value={where}
            onInput={({ currentTarget }) => setWhere(currentTarget.value)}
          />
          <select
            aria-label="Role there"
            value={role}
            onChange={({ currentTarget }) => setRole(currentTarget.value)}
          >
            {Object.entries(roleTexts).map(([name, text]) => (
              <option key={name} value={name}>
                {text}
              </option>
            ))}
          </select>
          <button type="submit" disabled={added.length === 0}>
            Add
          </button>
        </form>
        {failure && (
          <p class="problem" role="alert">
            {failure.message}
          </p>
        )}
      </div>
    </Dialog>
  )
}
