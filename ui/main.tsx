import { render } from 'preact'
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { lazy } from './parts/lazy.tsx'
import { listenForShortcuts } from './parts/shortcuts.ts'
import { Failed } from './parts/states.tsx'
import { followLinks } from './router.ts'
import { SignIn } from './screens/sign-in/screen.tsx'
import { openEvents } from './server/events.ts'
import { currentUser, findSession, invitation } from './server/session.ts'
import { isSignedIn } from './server/session-half.ts'
import { preloadScreen, Shell } from './shell.tsx'

const InvitedScreen = lazy(async () => (await import('./screens/people/all.ts')).InvitedScreen)

function Page() {
  const [failure, setFailure] = useState<Error>()
  const find = () => {
    findSession().then(
      () => setFailure(undefined),
      (error: Error) => {
        // A user who is not signed in sees the sign-in form instead.
        if (isSignedIn.value !== false) setFailure(error)
      },
    )
  }
  // A layout effect: the first frame is empty, so there is nothing to wait for.
  useLayoutEffect(find, [])
  // The link of an invitation may be opened in a tab that shows the page.
  useEffect(() => {
    addEventListener('hashchange', find)
    return () => removeEventListener('hashchange', find)
  }, [])
  // Another tab may have signed in meanwhile.
  useEffect(() => {
    if (isSignedIn.value && currentUser.value === undefined) find()
  }, [isSignedIn.value])
  if (failure && isSignedIn.value !== false) {
    return (
      <main class="screen">
        <Failed error={failure} retry={find} />
      </main>
    )
  }
  if (invitation.value !== undefined) return <InvitedScreen secret={invitation.value} />
  if (isSignedIn.value === false) return <SignIn />
  return currentUser.value === undefined ? null : <Shell />
}

preloadScreen()
followLinks()
openEvents()
listenForShortcuts()
render(<Page />, document.getElementById('page') as HTMLElement)
