import { type ComponentChildren, Fragment, options, render, type VNode } from 'preact'
import { useState } from 'preact/hooks'
import { CallDetail } from '../call/detail.tsx'
import { ErrorBoundary } from '../parts/error-boundary.tsx'
import { Icon } from '../parts/icon.tsx'
import { listenForShortcuts, useShortcuts } from '../parts/shortcuts.ts'
import { ShortcutsDialog } from '../parts/shortcuts-dialog.tsx'
import { Empty } from '../parts/states.tsx'
import { ThemeButton } from '../parts/theme-button.tsx'
import { followLinks, route } from '../router.ts'
import { paths, type Route, routeOf } from '../routes.ts'
import { CallsScreen } from '../screens/calls/screen.tsx'
import { ChartsScreen } from '../screens/charts/screen.tsx'
import { CompareScreen } from '../screens/compare/screen.tsx'
import { QueueScreen } from '../screens/queue/screen.tsx'
import { SearchScreen } from '../screens/search/screen.tsx'
import { TraceScreen } from '../screens/trace/screen.tsx'
import { type Contents, contents } from './contents.ts'

/** An exported screen: the screen of the page, without what sends requests or changes anything. */
function File({ within }: { within: Contents }) {
  const [isShowingKeys, setShowingKeys] = useState(false)
  const here = route.value
  const madeOn = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' }).format(
    new Date(within.madeAt),
  )
  useShortcuts('Everywhere', [{ keys: ['?'], does: 'Keyboard shortcuts', run: () => setShowingKeys(true) }])
  return (
    <>
      <header class="top">
        <span class="brand">Heddle</span>
        <span class="project-here">{within.project}</span>
        <div class="top-tools">
          <button
            type="button"
            class="icon-button"
            aria-label="Keyboard shortcuts"
            onClick={() => setShowingKeys(true)}
          >
            <Icon name="keyboard" />
          </button>
          <ThemeButton />
        </div>
      </header>
      <aside class="file-note" aria-label="About this file">
        <strong>A copy</strong>, made by {within.madeBy} on {madeOn}, Heddle {within.version}.{' '}
        {within.holds.join(' ')}
      </aside>
      <ErrorBoundary key={JSON.stringify(here)}>
        <Screen here={here} within={within} />
      </ErrorBoundary>
      {isShowingKeys && <ShortcutsDialog onClose={() => setShowingKeys(false)} />}
    </>
  )
}

function Screen({ here, within: { project, path } }: { here: Route; within: Contents }) {
  // Other screens and other projects are not in the file.
  const { screen } = routeOf(new URL(path, location.href).pathname)
  const isWithin = here.screen === 'call' || here.screen === screen
  if (isWithin && 'project' in here && here.project === project) {
    if (here.screen === 'trace') return <TraceScreen key={here.trace} project={project} trace={here.trace} />
    if (here.screen === 'compare') return <CompareScreen project={project} />
    if (here.screen === 'charts') return <ChartsScreen project={project} />
    if (here.screen === 'calls') return <CallsScreen project={project} />
    if (here.screen === 'search') return <SearchScreen project={project} />
    if (here.screen === 'queue') return <QueueScreen key={here.queue} project={project} queue={here.queue} />
    if (here.screen === 'call') {
      return (
        <main class="screen file-call">
          <h1 class="hidden-text">Call</h1>
          {paths.call(project, here.call) !== path && (
            <a class="back" href={path}>
              <Icon name="back" /> Back to the exported screen
            </a>
          )}
          <CallDetail project={project} call={here.call} />
        </main>
      )
    }
  }
  return (
    <main class="screen">
      <Empty title="This is not in the file">
        <a class="button" href={path}>
          Show what is in it
        </a>
      </Empty>
    </main>
  )
}

/**
 * What needs a server is not drawn: components whose code the build leaves out, and elements that say with `data-file`
 * what is drawn instead, or null. The page ignores it.
 */
function drawAsFile() {
  const drawAsWell = options.vnode
  options.vnode = (vnode) => {
    const { type, props } = vnode as VNode<{ 'data-file'?: (() => ComponentChildren) | null }>
    const instead = props['data-file']
    if (type === undefined || instead !== undefined) {
      vnode.type = Fragment
      vnode.props = { children: instead?.() }
      vnode.ref = null
    }
    drawAsWell?.(vnode)
  }
}

if (contents !== undefined) {
  document.title = `${contents.title} · Heddle`
  drawAsFile()
  followLinks()
  listenForShortcuts()
  render(<File within={contents} />, document.getElementById('page') as HTMLElement)
}
