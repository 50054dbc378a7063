import { useState } from 'preact/hooks'
import { base } from '../../base.ts'
import { CopyButton } from '../../parts/copy-button.tsx'
import { acceptInvitation } from '../../server/people.ts'
import { invitation, signIn } from '../../server/session.ts'

/** Whoever opens the link of an invitation chooses a name, gets a key once, and is signed in with it. */
export function InvitedScreen({ secret }: { secret: string }) {
  const [name, setName] = useState('')
  const [key, setKey] = useState<string>()
  const [failure, setFailure] = useState<Error>()
  const leave = () => {
    invitation.value = undefined
  }
  const go = async () => {
    setFailure(undefined)
    try {
      if (key === undefined) setKey(await acceptInvitation(secret, name.trim()))
      else {
        await signIn({ key })
        leave()
      }
    } catch (error) {
      setFailure(error as Error)
    }
  }
  return (
    <main class="sign-in">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void go()
        }}
      >
        <img src={`${base}/ui/icon.svg`} alt="" width="40" height="40" />
        <h1>You are invited</h1>
        {key === undefined ? (
          <>
            <label for="invited-name">Choose a name</label>
            <input
              id="invited-name"
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
        {failure && (
          <p class="problem" role="alert">
            {failure.message}
          </p>
        )}
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
