import { useEffect, useState } from 'preact/hooks'
import { base } from '../../base.ts'
import { takeFocus } from '../../parts/form-footer.tsx'
import { Problem } from '../../parts/states.tsx'
import { ownSubmit } from '../../parts/work.ts'
import { pathOfIssuer, readSignInWays, signIn } from '../../server/session.ts'
import { hasExpired } from '../../server/session-half.ts'

/** A button for each issuer, and a field for the same key that programs use. */
export function SignIn() {
  const [ways, setWays] = useState<Awaited<ReturnType<typeof readSignInWays>>>()
  const [key, setKey] = useState('')
  const [problem, setProblem] = useState<string>()
  const [isAsking, setAsking] = useState(false)
  useEffect(() => {
    readSignInWays().then(setWays, (error: Error) => setProblem(error.message))
  }, [])
  const submit = async () => {
    setAsking(true)
    setProblem(undefined)
    await signIn({ key: key.trim() }).catch((error: Error) => setProblem(error.message))
    setAsking(false)
  }
  const issuers = ways?.issuers ?? []
  return (
    <main class="sign-in">
      <form onSubmit={ownSubmit(submit)}>
        <img src={`${base}/ui/icon.svg`} alt="" width="40" height="40" />
        <h1>Heddle</h1>
        {hasExpired.value ? (
          <p class="notice" role="status">
            Your session has ended. Sign in to go on where you were.
          </p>
        ) : (
          <p>A local model and the record of what it said.</p>
        )}
        {issuers.map(({ name, title }) => (
          <a key={name} class="main-button" href={pathOfIssuer(name)}>
            Sign in with {title}
          </a>
        ))}
        <Problem text={problem} />
        {ways?.keys !== false && (
          <>
            <label for="key">Key</label>
            <input
              id="key"
              ref={takeFocus}
              type="password"
              autocomplete="current-password"
              spellcheck={false}
              required
              aria-invalid={problem !== undefined}
              aria-describedby="key-help"
              value={key}
              onInput={({ currentTarget }) => setKey(currentTarget.value)}
            />
            <button
              type="submit"
              class={issuers.length === 0 ? 'main-button' : undefined}
              disabled={isAsking || key.trim() === ''}
            >
              Sign in
            </button>
            <p class="muted" id="key-help">
              The server printed a key when it first started. <code>npx heddle key add admin</code> makes
              another one.
            </p>
          </>
        )}
      </form>
    </main>
  )
}
