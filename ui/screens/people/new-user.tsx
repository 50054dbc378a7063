import { FormDialog, listIn } from '../../parts/form-dialog.tsx'
import { addUser, type Grant, roleTexts } from '../../server/people.ts'

/** Where is required, so that nobody gets everything by mistake. */
export const grantFields = {
  where: { label: 'Entities or projects', example: 'acme, globex/qa; * for all' },
  role: { label: 'Role there', choices: roleTexts },
}

export const grantsIn = ({ where, role }: { where: string; role: string }): Grant[] =>
  listIn(where).map((scope) => ({ scope, role: role as Grant['role'] }))

export function NewUserForm(props: { onMade(user: string, secret: string): void; onClose(): void }) {
  return (
    <FormDialog
      title="New user"
      fields={() => ({ name: { label: 'Name' }, ...grantFields })}
      first={{ name: '', where: '', role: 'editor' }}
      submit="Add user"
      onSubmit={async ({ name, ...grants }) => {
        const { user, key } = await addUser({ name: name.trim(), grants: grantsIn(grants) })
        props.onMade(user.name, key.key)
      }}
      onClose={props.onClose}
    />
  )
}
