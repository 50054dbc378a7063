import { useState } from 'preact/hooks'
import { base } from '../../base.ts'
import { CopyButton } from '../../parts/copy-button.tsx'
import { takeFocus } from '../../parts/form-footer.tsx'
import { Problem } from '../../parts/states.tsx'
import { ownSubmit, useWork } from '../../parts/work.ts'
import { acceptInvitation } from '../../server/people.ts'
import { invitation, signIn } from '../../server/session.ts'

/** Whoever opens the link of an invitation chooses a name, gets a key once, and is signed in with it. */
export function InvitedScreen({ secret }: { secret: string }) {
  const [name, setName] = useState('')
  const [key, setKey] = useState<string>()
  const { failure, work } = useWork()
  const leave = () => {
    invitation.value = undefined
  }
  const go = async () => {
    if (key === undefined) return setKey(await acceptInvitation(secret, name.trim()))
    await signIn({ key })
    leave()
  }
  return (
    <main class="sign-in">
      <form onSubmit={ownSubmit(() => work(go))}>
        <img src={`${base}/ui/icon.svg`} alt="" width="40" height="40" />
        <h1>You are invited</h1>
        {key === undefined ? (
          <>
            <label for="invited-name">Choose a name</label>
            <input
              id="invited-name"
              ref={takeFocus}
              autocomplete="username"
              spellcheck={false}
              maxLength={64}
              value={name}
              onInput={({ currentTarget }) => setName(currentTarget.value)}
            />
          </>
        ) : (
          <>
            <p>This is your key. Copy it now: it cannot be shown again.</p>
            <div class="command">
              <pre tabIndex={0}>{key}</pre>
              <CopyButton text={key} label="Copy key" />
            </div>
          </>
        )}
        <Problem text={failure?.message} />
        <button type="submit" class="main-button" disabled={key === undefined && name.trim() === ''}>
          {key === undefined ? 'Accept' : 'Sign in'}
        </button>
        {key === undefined && (
          <button type="button" onClick={leave}>
            Not now
          </button>
        )}
      </form>
    </main>
  )
}
