import { useLayoutEffect, useState } from 'preact/hooks'
import { paths } from '../places.ts'
import { go, place } from '../routes.ts'
import { useLoading } from '../server/loading.ts'
import { readProjects } from '../server/projects.ts'
import { readSavedViews } from '../server/saved-views.ts'
import { Dialog } from './dialog.tsx'
import { viewPath } from './saved-views.tsx'
import { nextTheme } from './theme.ts'

interface Choice {
  text: string
  hint: string
  run(): void
}

interface Props {
  onClose(): void
  showKeys(): void
  signOut(): void
  /** What was pasted where nobody was typing. */
  pasted?: string
}

/** Goes anywhere, does anything, and finds what a pasted id means. */
export function Palette({ onClose, showKeys, signOut, pasted = '' }: Props) {
  const [text, setText] = useState(pasted)
  const [at, setAt] = useState(0)
  const { value } = useLoading(readProjects, [])
  const projects = value?.projects
  const here = place.value
  const project = 'project' in here ? here.project : projects?.[0]?.project
  const views = useLoading(
    async (signal) => (project === undefined ? [] : readSavedViews(project, signal)),
    [project],
  ).value
  const goTo = (to: string) => () => go(to)
  const acts: Choice[] = [
    { text: 'Projects', hint: 'go', run: goTo(paths.projects) },
    ...(projects ?? []).map(({ project: name }) => ({
      text: name,
      hint: 'project',
      run: goTo(paths.calls(name)),
    })),
    ...(project === undefined ? [] : (views ?? [])).map((view) => ({
      text: view.name,
      hint: `saved view, ${view.screen}`,
      run: goTo(viewPath(project as string, view)),
    })),
    { text: 'Playground', hint: 'ask the model', run: goTo(paths.play(project ? { p: project } : {})) },
    { text: 'Engine', hint: 'what runs', run: goTo(paths.engine) },
    { text: 'My keys', hint: 'and the look of the page', run: goTo(paths.me) },
    { text: 'People', hint: 'users and keys, for admins', run: goTo(paths.people) },
    { text: 'Change the theme', hint: 'light, dark, as the system', run: nextTheme },
    { text: 'Keys', hint: 'what works here', run: showKeys },
    { text: 'API reference', hint: '/docs', run: () => location.assign('/docs') },
    { text: 'Sign out', hint: '', run: signOut },
  ]
  const wanted = text.trim()
  const fitting = acts.filter(({ text: name }) => name.toLowerCase().includes(wanted.toLowerCase()))
  const choices = [...meantBy(wanted, project), ...fitting.slice(0, 12), ...searchFor(wanted, project)]
  const chosen = Math.min(at, choices.length - 1)
  const run = (choice: Choice | undefined) => {
    if (choice === undefined) return
    onClose()
    choice.run()
  }
  // Until the projects are there an id may mean nothing yet. Whoever has pressed Enter meanwhile need not do so again.
  const [isAwaited, setAwaited] = useState(false)
  const enter = () => (choices.length === 0 ? setAwaited(projects === undefined) : run(choices[chosen]))
  useLayoutEffect(() => {
    if (isAwaited && projects !== undefined) enter()
  }, [isAwaited, projects])
  return (
    <Dialog label="Go to" onClose={onClose} bare>
      <div class="palette">
        <input
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-choices"
          aria-label="Go to, or paste an id"
          aria-activedescendant={`choice-${chosen}`}
          placeholder="Go to, or paste a call id, a trace id, a reference or a traceparent"
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
        <div role="listbox" id="palette-choices" aria-label="Choices">
          {choices.map((choice, index) => (
            <div
              key={`${choice.text} ${choice.hint}`}
              id={`choice-${index}`}
              role="option"
              aria-selected={index === chosen}
              onClick={() => run(choice)}
            >
              <span>{choice.text}</span>
              <span class="muted">{choice.hint}</span>
            </div>
          ))}
        </div>
      </div>
    </Dialog>
  )
}

/** Whatever was typed may be words of a call. */
function searchFor(text: string, project: string | undefined): Choice[] {
  if (project === undefined || !/[\p{L}\p{N}]/u.test(text)) return []
  return [
    { text: `Search calls for “${text}”`, hint: project, run: () => go(paths.search(project, { q: text })) },
  ]
}

/** What somebody may have pasted. */
export function meantBy(text: string, project: string | undefined): Choice[] {
  const ref = /^[a-z]+:\/\/\/([^/]+)\/([^/]+)\/call\/([^/\s]+)$/.exec(text)
  if (ref) {
    const [, entity, name, call] = ref.map((part) => decodeURIComponent(part))
    return [
      {
        text: `Call ${call}`,
        hint: `${entity}/${name}`,
        run: () => go(paths.call(`${entity}/${name}`, call as string)),
      },
    ]
  }
  const link = /^https?:\/\/[^/]+(\/.+\/(?:r\/call|call|trace|weave\/calls)\/[^/\s]+)$/.exec(text)?.[1]
  if (link) return [{ text: 'Open this link here', hint: link, run: () => go(link) }]
  if (project === undefined) return []
  const parent = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/.exec(text)
  if (parent) {
    const [, trace = ''] = parent
    return [{ text: `Trace ${trace}`, hint: project, run: () => go(paths.trace(project, trace)) }]
  }
  if (!/^[\w-]{8,128}$/.test(text) || !/\d/.test(text)) return []
  return [
    { text: `Call ${text}`, hint: project, run: () => go(paths.call(project, text)) },
    { text: `Trace ${text}`, hint: project, run: () => go(paths.trace(project, text)) },
  ]
}
