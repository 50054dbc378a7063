import { useState } from 'preact/hooks'
import { addUser, type User } from '../../server/people.ts'

/** The field for entities is required, so that no user gets all of them by mistake. */
export function NewUserForm({ onMade }: { onMade(user: string, secret: string): void }) {
  const [name, setName] = useState('')
  const [entities, setEntities] = useState('')
  const [role, setRole] = useState<User['role']>('member')
  const [failure, setFailure] = useState<Error>()
  const given = entities.split(/[\s,]+/).filter(Boolean)
  const make = async () => {
    try {
      const { user, key } = await addUser({ name: name.trim(), role, entities: given })
      setFailure(undefined)
      setName('')
      onMade(user.name, key.key)
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
          aria-label="Name of a new user"
          placeholder="Name"
          maxLength={64}
          spellcheck={false}
          value={name}
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
        <input
          aria-label="Entities"
          placeholder="Entities, such as acme; * for all"
          spellcheck={false}
          value={entities}
          onInput={({ currentTarget }) => setEntities(currentTarget.value)}
        />
        <select
          aria-label="Role"
          value={role}
          onChange={({ currentTarget }) => setRole(currentTarget.value as User['role'])}
        >
          <option value="member">member</option>
          <option value="admin">admin</option>
        </select>
        <button type="submit" disabled={name.trim() === '' || given.length === 0}>
          Add user
        </button>
      </form>
      {failure && (
        <p class="problem" role="alert">
          {failure.message}
        </p>
      )}
    </>
  )
}
