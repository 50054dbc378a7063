import { useState } from 'preact/hooks'
import { Dialog } from '../../parts/dialog.tsx'
import { ListTable } from '../../parts/list-table.tsx'
import { Select } from '../../parts/select.tsx'
import { Problem } from '../../parts/states.tsx'
import { ownSubmit, useWork } from '../../parts/work.ts'
import { type Grant, roleTexts, setGrants, type User } from '../../server/people.ts'
import { grantsIn } from './new-user.tsx'

/** What a user may do where. Each change holds at once. */
export function GrantsDialog(props: { user: User; onChanged(): void; onClose(): void }) {
  const { user, onChanged, onClose } = props
  const [grants, setShown] = useState(user.grants)
  const [where, setWhere] = useState('')
  const [role, setRole] = useState<Grant['role']>('viewer')
  const { isWorking, failure, work } = useWork()
  const set = async (next: Grant[]) => {
    await setGrants(user.name, next)
    setShown(next)
    onChanged()
  }
  const added = grantsIn({ where, role })
  const isNew = (grant: Grant) => !added.some(({ scope }) => scope === grant.scope)
  const add = async () => {
    await set([...grants.filter(isNew), ...added])
    setWhere('')
  }
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
          // A change replaces all roles, so it waits for the last one.
          acts={(grant) => [
            !isWorking && {
              name: 'Remove',
              of: grant.scope,
              run: () => work(() => set(grants.filter((other) => other !== grant))),
            },
          ]}
          empty="No roles"
        />
        <form class="row-form" onSubmit={ownSubmit(() => work(add))}>
          <input
            aria-label="Entity or project"
            placeholder="acme or acme/qa; * for all"
            spellcheck={false}
            value={where}
            onInput={({ currentTarget }) => setWhere(currentTarget.value)}
          />
          <Select
            aria-label="Role there"
            choices={roleTexts}
            value={role}
            onChange={(next) => setRole(next)}
          />
          <button type="submit" disabled={isWorking || added.length === 0}>
            Add
          </button>
        </form>
        <Problem text={failure?.message} />
      </div>
    </Dialog>
  )
}
