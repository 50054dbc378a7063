import { useState } from 'preact/hooks'
import { signIn } from '../../server/session.ts'
import { hasExpired } from '../../server/session-half.ts'

/** One field, for the same key that programs use. */
export function SignIn() {
  const [key, setKey] = useState('')
  const [problem, setProblem] = useState<string>()
  const [isAsking, setAsking] = useState(false)
  const submit = async () => {
    setAsking(true)
    setProblem(undefined)
    await signIn(key.trim()).catch((error: Error) => setProblem(error.message))
    setAsking(false)
  }
  return (
    <main class="sign-in">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void submit()
        }}
      >
        <img src="/ui/icon.svg" alt="" width="40" height="40" />
        <h1>Heddle</h1>
        {hasExpired.value ? (
          <p class="notice" role="status">
            Your session has ended. Sign in to go on where you were.
          </p>
        ) : (
          <p>A local model and the record of what it said.</p>
        )}
        <label for="key">Key</label>
        <input
          id="key"
          type="password"
          autocomplete="current-password"
          spellcheck={false}
          required
          aria-invalid={problem !== undefined}
          aria-describedby="key-help"
          value={key}
          onInput={({ currentTarget }) => setKey(currentTarget.value)}
        />
        {problem !== undefined && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <button type="submit" class="main-button" disabled={isAsking || key.trim() === ''}>
          Sign in
        </button>
        <p class="muted" id="key-help">
          The server printed a key when it first started. <code>npx heddle key add admin</code> makes another
          one.
        </p>
      </form>
    </main>
  )
}
