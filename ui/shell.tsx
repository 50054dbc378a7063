import { createElement } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { base } from './base.ts'
import type { Named } from './palette/names.ts'
import { Palette } from './palette/palette.tsx'
import { ConfirmDialog } from './parts/confirm-dialog.tsx'
import { ErrorBoundary } from './parts/error-boundary.tsx'
import { Icon } from './parts/icon.tsx'
import { lazy } from './parts/lazy.tsx'
import { listenForPaste } from './parts/paste.ts'
import { useShortcuts } from './parts/shortcuts.ts'
import { keyLabel, ShortcutsDialog } from './parts/shortcuts-dialog.tsx'
import { Empty } from './parts/states.tsx'
import { ThemeButton } from './parts/theme-button.tsx'
import { leaveQuestion, route, search } from './router.ts'
import { paths, type Route } from './routes.ts'
import { CallScreen } from './screens/call.tsx'
import { CallsScreen } from './screens/calls/screen.tsx'
import { ProjectsScreen } from './screens/projects/screen.tsx'
import { homeOf, isCurrent, openClass, sectionsOf, serverLists } from './sections.ts'
import { may } from './server/rights.ts'
import { currentUser, signOut } from './server/session.ts'
import { successor } from './server/session-half.ts'

const TraceScreen = lazy(async () => (await import('./screens/trace/screen.tsx')).TraceScreen)
const ThreadScreen = lazy(async () => (await import('./screens/agents/all.ts')).ThreadScreen)
const AgentScreen = lazy(async () => (await import('./screens/agents/all.ts')).AgentScreen)
const CalibrationScreen = lazy(async () => (await import('./screens/quality/all.ts')).CalibrationScreen)
const MonitorScreen = lazy(async () => (await import('./screens/quality/all.ts')).MonitorScreen)
const QueueScreen = lazy(async () => (await import('./screens/queues/all.ts')).QueueScreen)
const ReviewScreen = lazy(async () => (await import('./screens/queues/all.ts')).ReviewScreen)
const PromptsScreen = lazy(async () => (await import('./screens/prompts/screen.tsx')).PromptsScreen)
const ObjectScreen = lazy(async () => (await import('./screens/objects/all.ts')).ObjectScreen)

/** Screens that need nothing, and whose code is loaded on demand. */
const serverScreens = {
  play: lazy(async () => (await import('./screens/play/screen.tsx')).PlayScreen),
  engine: lazy(async () => (await import('./screens/people/all.ts')).EngineScreen),
  people: lazy(async () => (await import('./screens/people/all.ts')).PeopleScreen),
  invitations: lazy(async () => (await import('./screens/people/all.ts')).InvitationsScreen),
  budgets: lazy(async () => (await import('./screens/people/all.ts')).BudgetsScreen),
  audit: lazy(async () => (await import('./screens/people/all.ts')).AuditScreen),
  me: lazy(async () => (await import('./screens/people/all.ts')).MeScreen),
}

/** Screens that need only their project. */
const projectScreens = {
  threads: lazy(async () => (await import('./screens/agents/all.ts')).ThreadsScreen),
  agents: lazy(async () => (await import('./screens/agents/all.ts')).AgentsScreen),
  charts: lazy(async () => (await import('./screens/charts/screen.tsx')).ChartsScreen),
  search: lazy(async () => (await import('./screens/search/screen.tsx')).SearchScreen),
  evals: lazy(async () => (await import('./screens/quality/all.ts')).EvalsScreen),
  newRun: lazy(async () => (await import('./screens/quality/all.ts')).NewRunScreen),
  judges: lazy(async () => (await import('./screens/quality/all.ts')).JudgesScreen),
  judge: lazy(async () => (await import('./screens/quality/all.ts')).JudgeScreen),
  monitors: lazy(async () => (await import('./screens/quality/all.ts')).MonitorsScreen),
  datasets: lazy(async () => (await import('./screens/quality/all.ts')).DatasetsScreen),
  compare: lazy(async () => (await import('./screens/compare/screen.tsx')).CompareScreen),
  queues: lazy(async () => (await import('./screens/queues/all.ts')).QueuesScreen),
  objects: lazy(async () => (await import('./screens/objects/all.ts')).ObjectsScreen),
  alerts: lazy(async () => (await import('./screens/settings/all.ts')).AlertsScreen),
  endpoints: lazy(async () => (await import('./screens/settings/all.ts')).EndpointsScreen),
  deliveries: lazy(async () => (await import('./screens/settings/all.ts')).DeliveriesScreen),
  prices: lazy(async () => (await import('./screens/settings/all.ts')).PricesScreen),
}

const lazyScreens: Partial<Record<Route['screen'], { preload(): void }>> = {
  ...serverScreens,
  ...projectScreens,
  trace: TraceScreen,
  thread: ThreadScreen,
  agent: AgentScreen,
  calibration: CalibrationScreen,
  monitor: MonitorScreen,
  queue: QueueScreen,
  review: ReviewScreen,
  object: ObjectScreen,
  prompts: PromptsScreen,
}

/** Loads the code of the current screen while the session is being checked. */
export function preloadScreen(): void {
  lazyScreens[route.value.screen]?.preload()
}

/** The frame around every screen. */
export function Shell() {
  const [front, setFront] = useState<'palette' | 'keys' | undefined>()
  const [pasted, setPasted] = useState('')
  const openPalette = (text = '') => {
    setPasted(text)
    setFront('palette')
  }
  const here = route.value
  const project = useProject(here)
  const leave = () => void signOut().catch(() => undefined)
  useShortcuts('Everywhere', [
    { keys: ['Ctrl+k'], does: 'Go to, or paste an ID', whileTyping: true, run: () => openPalette() },
    { keys: ['?'], does: 'Keyboard shortcuts', run: () => setFront('keys') },
  ])
  useEffect(() => listenForPaste(openPalette), [])
  const places = useRef<HTMLDivElement>(null)
  // On a narrow screen they do not all fit.
  useLayoutEffect(() => {
    const current = places.current?.querySelector('[aria-current]')
    current?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [here.screen, openClass.value])
  const recent = useRef(new Map<string, Named>()).current
  useEffect(() => followHeading(recent), [])
  return (
    <>
      {successor.value && (
        <p class="file-note" role="alert">
          <strong>{successor.value.user}</strong> has signed in in another tab, which signed you out here.{' '}
          <button type="button" onClick={() => location.reload()}>
            Reload as {successor.value.user}
          </button>
        </p>
      )}
      <header class="top">
        <a class="brand" href={paths.projects}>
          <img src={`${base}/ui/icon.svg`} alt="" width="22" height="22" />
          Heddle
        </a>
        {project !== undefined && (
          <a class="project-here" href={homeOf(project)}>
            {project}
          </a>
        )}
        <div class="top-places" ref={places}>
          {project !== undefined && (
            <nav class="sections" aria-label="Project">
              {sectionsOf(project).map((section) => (
                <a
                  key={section.name}
                  href={section.path(project)}
                  aria-current={isCurrent(section, here) ? 'page' : undefined}
                >
                  {section.name}
                </a>
              ))}
            </nav>
          )}
          <nav aria-label="Server" class="server-nav">
            {[
              ...(may('infer')
                ? [['play', paths.play(project === undefined ? {} : { p: project })] as const]
                : []),
              ['engine', paths.engine] as const,
              ...(may('administer')
                ? [['people', may('operate') ? paths.people : paths.invitations] as const]
                : []),
              // On a wide screen it is the name of the user.
              ['me', paths.me] as const,
            ].map(([screen, href]) => (
              <a key={screen} href={href} aria-current={isOf(screen, here.screen) ? 'page' : undefined}>
                {serverTitles[screen]}
              </a>
            ))}
          </nav>
        </div>
        <div class="top-tools">
          <button type="button" class="palette-button" onClick={() => openPalette()}>
            <Icon name="search" />
            <span>Go to</span>
            <kbd>{keyLabel('Ctrl+k')}</kbd>
          </button>
          <button
            type="button"
            class="icon-button keys-button"
            aria-label="Keyboard shortcuts"
            onClick={() => setFront('keys')}
          >
            <Icon name="keyboard" />
          </button>
          <ThemeButton />
          <a class="who" href={paths.me} title="Your keys and theme">
            {currentUser.value?.user}
          </a>
          <button type="button" class="icon-button" aria-label="Sign out" title="Sign out" onClick={leave}>
            <Icon name="out" />
          </button>
        </div>
      </header>
      <ErrorBoundary key={JSON.stringify(here)}>
        <Screen here={here} />
      </ErrorBoundary>
      {front === 'palette' && (
        <Palette
          {...{ recent, pasted }}
          onClose={() => setFront(undefined)}
          showKeys={() => setFront('keys')}
          signOut={leave}
        />
      )}
      {leaveQuestion.value && (
        <ConfirmDialog
          title="Leave without saving?"
          text={leaveQuestion.value.loss}
          yes="Leave"
          onYes={leaveQuestion.value.leave}
          onClose={() => {
            leaveQuestion.value = undefined
          }}
        />
      )}
      {front === 'keys' && <ShortcutsDialog onClose={() => setFront(undefined)} />}
    </>
  )
}

/** The project that the bar shows. Screens of the server keep the one that the user came from. */
function useProject(here: Route): string | undefined {
  const last = useRef<string | undefined>(undefined)
  if ('project' in here) last.current = here.project
  else if (here.screen === 'play') last.current = search.value.get('p') || last.current
  else if (serverTitles[here.screen] === undefined) last.current = undefined
  return last.current
}

/** The frame has the address as its key, so no screen outlasts its project. */
function Screen({ here }: { here: Route }) {
  switch (here.screen) {
    case 'projects':
      return <ProjectsScreen />
    case 'calls':
      return <CallsScreen project={here.project} />
    case 'trace':
      return <TraceScreen project={here.project} trace={here.trace} />
    case 'call':
      return <CallScreen project={here.project} call={here.call} />
    case 'thread':
      return <ThreadScreen key={search.value.get('thread')} project={here.project} />
    case 'agent':
      return <AgentScreen key={search.value.get('agent')} project={here.project} />
    case 'calibration':
      return <CalibrationScreen project={here.project} judge={here.judge} />
    case 'monitor':
      return <MonitorScreen project={here.project} monitor={here.monitor} />
    case 'queue':
      return <QueueScreen project={here.project} queue={here.queue} />
    case 'review':
      return <ReviewScreen project={here.project} queue={here.queue} />
    case 'object':
      return <ObjectScreen project={here.project} object={here.object} />
    case 'prompts':
      return <PromptsScreen project={here.project} prompt={here.prompt} />
    case 'nowhere':
      return (
        <main class="screen">
          <h1 class="hidden-text">Not found</h1>
          <Empty title="Page not found">
            <a class="button" href={paths.projects}>
              Projects
            </a>
          </Empty>
        </main>
      )
    default: {
      if (!('project' in here)) return createElement(serverScreens[here.screen], {})
      return createElement(projectScreens[here.screen], { project: here.project })
    }
  }
}

/** Tabs, bookmarks and the history call a screen by its heading. */
function followHeading(recent: Map<string, Named>): () => void {
  const read = () => {
    const heading = document.querySelector('main h1')?.textContent.trim().slice(0, 120) ?? ''
    const here = route.value
    const project = 'project' in here && !heading.includes(here.project) ? here.project : ''
    const title = [heading, project, 'Heddle'].filter(Boolean).join(' · ')
    if (document.title !== title) document.title = title
    if (heading === '') return
    const { pathname, search: asked } = location
    recent.delete(pathname)
    recent.set(pathname, {
      text: heading,
      hint: ['recent', project].filter(Boolean).join(', '),
      path: pathname + asked,
    })
  }
  read()
  const observer = new MutationObserver(read)
  observer.observe(document.body, { childList: true, characterData: true, subtree: true })
  return () => observer.disconnect()
}

const isOf = (name: 'play' | 'engine' | 'people' | 'me', screen: Route['screen']): boolean =>
  name === screen || (name === 'people' && serverLists().some(({ screens }) => screens.includes(screen)))

const serverTitles: Partial<Record<Route['screen'], string>> = {
  play: 'Playground',
  engine: 'Engine',
  people: 'People',
  invitations: 'Invitations',
  budgets: 'Budgets',
  audit: 'Audit',
  me: 'My keys',
}
