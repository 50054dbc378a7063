import { render } from 'preact'
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { listenForShortcuts } from './parts/shortcuts.ts'
import { Failed } from './parts/states.tsx'
import { followLinks } from './router.ts'
import { SignIn } from './screens/sign-in/screen.tsx'
import { openEvents } from './server/events.ts'
import { currentUser, findSession } from './server/session.ts'
import { isSignedIn } from './server/session-half.ts'
import { preloadScreen, Shell } from './shell.tsx'

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
  if (isSignedIn.value === false) return <SignIn />
  return currentUser.value === undefined ? null : <Shell />
}

preloadScreen()
followLinks()
openEvents()
listenForShortcuts()
render(<Page />, document.getElementById('page') as HTMLElement)
