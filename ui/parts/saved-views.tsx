import { useState } from 'preact/hooks'
import { navigate, search } from '../router.ts'
import { paths } from '../routes.ts'
import { useLoading } from '../server/loading.ts'
import { changeView, deleteView, readSavedViews, type SavedView, saveView } from '../server/saved-views.ts'
import { Dialog } from './dialog.tsx'
import { Icon } from './icon.tsx'
import { Problem } from './states.tsx'
import { ownSubmit, useWork } from './work.ts'

/** Parameters that are not part of a view. */
const passing = ['peek', 'key', 'sel']

/** The state of the screen, as a view stores it. */
function keptSearch(params: URLSearchParams): string {
  const kept = new URLSearchParams(params)
  for (const name of passing) kept.delete(name)
  return kept.toString()
}

export function viewPath(
  project: string,
  { screen, search: text }: Pick<SavedView, 'screen' | 'search'>,
): string {
  const of = Object.fromEntries(new URLSearchParams(text))
  const { charts, search, compare, evals, calls } = paths
  const screens: Record<string, typeof calls> = { charts, search, compare, evals }
  return (screens[screen] ?? calls)(project, of)
}

/** The saved views of a screen: open, save, rename, share and delete them. */
export function SavedViews({ project, screen }: Omit<Props, 'onClose'>) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Views
      </button>
      {isOpen && <ViewsDialog {...{ project, screen }} onClose={() => setOpen(false)} />}
    </>
  )
}

interface Props {
  project: string
  screen: 'calls' | 'charts' | 'evals'
  onClose(): void
}

function ViewsDialog({ project, screen, onClose }: Props) {
  const [name, setName] = useState('')
  const { failure, work } = useWork()
  const { value, error, reload } = useLoading((signal) => readSavedViews(project, signal), [project])
  const views = value?.filter((view) => view.screen === screen)
  const kept = keptSearch(search.value)
  const change = (changing: Promise<unknown>) => void work(() => changing.then(reload))
  const wanted = name.trim()
  const same = views?.find((view) => view.is_own && view.name === wanted)
  const save = () => {
    if (wanted === '') return
    change(
      same
        ? changeView(project, same.id, { search: kept })
        : saveView(project, { screen, name: wanted, search: kept, is_shared: false }).then(() => setName('')),
    )
  }
  return (
    <Dialog label="Saved views" onClose={onClose}>
      <div class="add-to">
        <form class="save-view" onSubmit={ownSubmit(save)}>
          <label>
            Save this view as
            <input
              value={name}
              maxLength={200}
              placeholder="Slow and failed"
              onInput={({ currentTarget }) => setName(currentTarget.value)}
            />
          </label>
          <button type="submit" class="main-button" disabled={wanted === ''}>
            {same ? 'Replace' : 'Save'}
          </button>
        </form>
        <Problem text={(failure ?? error)?.message} />
        {views?.length === 0 && (
          <p class="muted">No saved views yet. A view keeps the filter, the columns and the order.</p>
        )}
        <ul class="saved-views">
          {views?.map((view) => (
            <ViewLine
              key={view.id}
              {...{ project, view, change }}
              isShown={view.search === kept}
              onOpen={onClose}
            />
          ))}
        </ul>
      </div>
    </Dialog>
  )
}

interface LineProps {
  project: string
  view: SavedView
  isShown: boolean
  change(changing: Promise<unknown>): void
  onOpen(): void
}

function ViewLine({ project, view, isShown, change, onOpen }: LineProps) {
  const [name, setName] = useState<string>()
  const { id, is_own, is_shared } = view
  if (name !== undefined) {
    return (
      <li>
        <form
          class="save-view"
          onSubmit={(event) => {
            event.preventDefault()
            if (name.trim() !== '') change(changeView(project, id, { name: name.trim() }))
            setName(undefined)
          }}
        >
          <input
            aria-label={`New name for ${view.name}`}
            value={name}
            maxLength={200}
            ref={(field) => field?.focus()}
            onInput={({ currentTarget }) => setName(currentTarget.value)}
          />
          <button type="submit">Rename</button>
        </form>
      </li>
    )
  }
  return (
    <li>
      <a
        href={viewPath(project, view)}
        aria-current={isShown ? 'true' : undefined}
        onClick={(event) => {
          event.preventDefault()
          onOpen()
          navigate(viewPath(project, view))
        }}
      >
        {view.name}
      </a>
      {!is_own && <span class="muted">by {view.svc_user_id}</span>}
      {is_own && (
        <span class="view-acts">
          <label class="check">
            <input
              type="checkbox"
              aria-label={`Share ${view.name}`}
              checked={is_shared}
              onChange={() => change(changeView(project, id, { is_shared: !is_shared }))}
            />
            Shared
          </label>
          <button
            type="button"
            class="quiet"
            aria-label={`Rename ${view.name}`}
            onClick={() => setName(view.name)}
          >
            Rename
          </button>
          <button
            type="button"
            class="icon-button"
            aria-label={`Delete ${view.name}`}
            onClick={() => change(deleteView(project, id))}
          >
            <Icon name="trash" />
          </button>
        </span>
      )}
    </li>
  )
}
