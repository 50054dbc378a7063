import { useLayoutEffect, useMemo, useState } from 'preact/hooks'
import { base } from '../base.ts'
import { Dialog } from '../parts/dialog.tsx'
import { viewPath } from '../parts/saved-views.tsx'
import { theme, themes } from '../parts/theme.ts'
import { navigate, route } from '../router.ts'
import { paths } from '../routes.ts'
import { homeOf, qualityLists, sectionsOf, serverLists, settingsLists } from '../sections.ts'
import { useLoading } from '../server/loading.ts'
import { type ProjectRow, projectsAtOnce, readProjects } from '../server/projects.ts'
import { may } from '../server/rights.ts'
import { readSavedViews } from '../server/saved-views.ts'
import { findIds } from './find-ids.ts'
import { findNames } from './find-names.ts'
import { type Named, type Names, namesIn } from './names.ts'

interface Choice {
  text: string
  hint: string
  run(): void
}

interface Props {
  /** What the user was at, by its address, the latest last. */
  recent: ReadonlyMap<string, Named>
  onClose(): void
  showKeys(): void
  signOut(): void
  /** Text that was pasted while no field had the focus. */
  pasted?: string
}

/** More would hide the places of the project. */
const maxRecent = 3

/** The command palette: goes anywhere, runs any command, and finds what a pasted id names. */
export function Palette({ recent, onClose, showKeys, signOut, pasted = '' }: Props) {
  const [text, setText] = useState(pasted)
  const [at, setAt] = useState(0)
  const { value } = useLoading((signal) => readProjects(projectsAtOnce, signal), [])
  const projects = value?.projects
  const here = route.value
  const project = 'project' in here ? here.project : projects?.[0]?.project
  const readable = project !== undefined && may('read', project) ? project : undefined
  const views = useLoading(
    async (signal) => (readable === undefined ? [] : readSavedViews(readable, signal)),
    [readable],
  ).value
  const goTo = (to: string) => () => navigate(to)
  const choiceOf = ({ text: name, hint, path }: Named): Choice => ({ text: name, hint, run: goTo(path) })
  const places: Named[] = [
    ...(project === undefined ? [] : screensOf(project)),
    ...(may('infer')
      ? [{ text: 'Playground', hint: 'ask the model', path: paths.play(project ? { p: project } : {}) }]
      : []),
    { text: 'Projects', hint: 'go', path: paths.projects },
    ...(project === undefined ? [] : formsOf(project)),
    ...(may('administer')
      ? [{ text: 'Invite', hint: 'a link for a new user', path: `${paths.invitations}?new=-` }]
      : []),
    ...(projects ?? []).map(({ project: name }) => ({ text: name, hint: 'project', path: homeOf(name) })),
    ...(views ?? []).map((view) => ({
      text: view.name,
      hint: `saved view, ${view.screen}`,
      path: viewPath(readable as string, view),
    })),
    { text: 'Engine', hint: 'models and running answers', path: paths.engine },
    { text: 'My keys', hint: 'and the theme', path: paths.me },
    ...serverLists().map(({ name, fullName = name, path }) => ({
      text: fullName,
      hint: 'server',
      path: path(''),
    })),
  ]
  const exportsHere = useMemo(exportsOfScreen, [])
  const acts: Choice[] = [
    ...places.map(choiceOf),
    ...themes.map((name) => ({
      text: `Theme: ${name}`,
      hint: theme.value === name ? 'current' : 'command',
      run: () => {
        theme.value = name
      },
    })),
    { text: 'Keyboard shortcuts', hint: 'for this screen', run: showKeys },
    { text: 'API reference', hint: '/docs', run: () => location.assign(`${base}/docs`) },
    { text: 'Sign out', hint: '', run: signOut },
    ...exportsHere,
  ]
  const wanted = text.trim()
  const isNamed = wanted !== ''
  const named = useLoading(
    async (signal) => (isNamed ? findNames(project, signal) : []),
    [isNamed, project],
  ).value
  const left = [...recent].filter(([path]) => path !== location.pathname).map(([, place]) => choiceOf(place))
  const fitting = [...acts, ...(named ?? []).map(choiceOf)].filter(({ text: name }) =>
    name.toLowerCase().includes(wanted.toLowerCase()),
  )
  const names = useMemo(() => namesIn(wanted), [wanted])
  const found = useLoading(
    async (signal) => ({
      of: names,
      isWhole: projects !== undefined,
      named: await findIds(names.ids, inOrder(names, project, projects ?? []), signal),
    }),
    [names, projects],
  )
  const isFound = found.value?.of === names && found.value.isWhole
  const isLookedFor = names.ids.length > 0 && !isFound && found.error === undefined
  const meant = [...names.named, ...(isFound ? (found.value?.named ?? []) : [])]
  const choices = [
    ...meant.map(choiceOf),
    ...guessedChoices(wanted, project, names),
    ...(isNamed ? [] : left.slice(-maxRecent).toReversed()),
    ...fitting.slice(0, 12),
    ...(isLookedFor ? [] : searchFor(wanted, readable)),
  ]
  const chosen = Math.min(at, choices.length - 1)
  const run = (choice: Choice | undefined) => {
    if (choice === undefined) return
    onClose()
    choice.run()
  }
  // An id leads nowhere until it is found. Enter that is pressed before then takes effect once it is.
  const [isAwaited, setAwaited] = useState(false)
  const isKnown = projects !== undefined && !isLookedFor
  const enter = () => (choices.length === 0 ? setAwaited(!isKnown) : run(choices[chosen]))
  useLayoutEffect(() => {
    if (isAwaited && isKnown) enter()
  }, [isAwaited, isKnown])
  return (
    <Dialog label="Go to" onClose={onClose} bare>
      <div class="palette">
        <input
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-choices"
          aria-label="Go to, or paste an ID"
          aria-activedescendant={`choice-${chosen}`}
          placeholder="Go to, or paste an ID or a log line"
          spellcheck={false}
          value={text}
          onInput={({ currentTarget }) => {
            setText(currentTarget.value)
            setAt(0)
            setAwaited(false)
          }}
          onKeyDown={(event) => {
            if (event.key === 'ArrowDown') setAt(Math.min(choices.length - 1, chosen + 1))
            else if (event.key === 'ArrowUp') setAt(Math.max(0, chosen - 1))
            else if (event.key === 'Enter') enter()
            else return
            event.preventDefault()
          }}
        />
        {names.ids.length > 0 && meant.length === 0 && (
          <p class="palette-note muted" role="status">
            {isLookedFor ? 'Searching…' : (found.error?.message ?? nothingOf(names.ids))}
          </p>
        )}
        <div role="listbox" id="palette-choices" aria-label="Choices">
          {choices.map((choice, index) => (
            <div
              key={`${choice.text} ${choice.hint}`}
              id={`choice-${index}`}
              role="option"
              aria-selected={index === chosen}
              onClick={() => run(choice)}
            >
              <span dir="auto">{choice.text}</span>
              <span class="muted">{choice.hint}</span>
            </div>
          ))}
        </div>
      </div>
    </Dialog>
  )
}

/** Of two with the same address the list, which has the better name. */
function screensOf(project: string): Named[] {
  const all = may('read', project) ? [...qualityLists, ...settingsLists(project)] : []
  const lists = [...sectionsOf(project), ...all]
  const names = new Map(lists.map(({ name, fullName = name, path }) => [path(project), fullName]))
  return [...names].map(([path, text]) => ({ text, hint: project, path }))
}

/** Forms, where they can be filled at once. */
const formsOf = (project: string): Named[] =>
  may('write', project)
    ? [
        { text: 'New run', hint: project, path: paths.newRun(project) },
        { text: 'New judge', hint: project, path: paths.newJudge(project) },
        { text: 'New monitor', hint: project, path: paths.monitors(project, { new: '-' }) },
        { text: 'New queue', hint: project, path: paths.queues(project, { new: '-' }) },
      ]
    : []

/** Pressing a button of the screen behind the palette. */
function exportsOfScreen(): Choice[] {
  const buttons = document.querySelectorAll<HTMLButtonElement>('main button[aria-label^="Export "]')
  const byLabel = new Map([...buttons].map((button) => [button.ariaLabel ?? '', button]))
  return [...byLabel].map(([text, button]) => ({ text, hint: 'this screen', run: () => button.click() }))
}

/** First the project that the text names, then the open one, then the others. */
function inOrder({ project: named }: Names, here: string | undefined, all: readonly ProjectRow[]): string[] {
  const reached = all.map(({ project }) => project)
  const first = [named, here].filter((one) => one !== undefined && reached.includes(one))
  return [...new Set([...(first as string[]), ...reached])]
}

const nothingOf = (ids: readonly string[]) =>
  ids.length === 1
    ? 'Nothing you have access to has this ID.'
    : `Nothing you have access to has any of these ${ids.length} IDs.`

/** Longer texts are not searched for. */
const longestSearch = 200

/** Any text may be words of a call. */
function searchFor(text: string, project: string | undefined): Choice[] {
  if (project === undefined || text.length > longestSearch || !/[\p{L}\p{N}]/u.test(text)) return []
  return [
    {
      text: `Search calls for “${text}”`,
      hint: project,
      run: () => navigate(paths.search(project, { q: text })),
    },
  ]
}

/** Ids may have other forms than Heddle's; the screen itself says whether such a call or trace exists. */
function guessedChoices(text: string, project: string | undefined, { ids, named }: Names): Choice[] {
  if (project === undefined || ids.length + named.length > 0) return []
  if (!/^[\w-]{8,128}$/.test(text) || !/\d/.test(text)) return []
  return [
    { text: `Call ${text}`, hint: project, run: () => navigate(paths.call(project, text)) },
    { text: `Trace ${text}`, hint: project, run: () => navigate(paths.trace(project, text)) },
  ]
}
