import { useMemo } from 'preact/hooks'
import { ListTable } from '../../parts/list-table.tsx'
import { isNamed, NameFilter } from '../../parts/name-filter.tsx'
import { useShortcuts } from '../../parts/shortcuts.ts'
import { FailedScreen } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { navigate, search, setSearch } from '../../router.ts'
import { paths } from '../../routes.ts'
import { useLoading } from '../../server/loading.ts'
import { isForbidden } from '../../server/request.ts'
import { may } from '../../server/rights.ts'
import { PromptEditor } from './editor.tsx'
import { PromptView } from './prompt.tsx'
import { type PromptRow, readPrompts } from './reading.ts'

/** The prompts of a project, or one of them. */
export function PromptsScreen({ project, prompt }: { project: string; prompt: string | undefined }) {
  if (prompt !== undefined) return <PromptView {...{ project, prompt }} />
  if (search.value.get('new') === null) return <PromptList project={project} />
  return (
    <main class="screen sheet quality">
      <header class="sheet-head">
        <h1>New prompt</h1>
      </header>
      <PromptEditor
        {...{ project }}
        onSaved={(name) => navigate(paths.prompts(project, name), { replaces: true })}
        onClose={() => setSearch({ new: undefined })}
      />
    </main>
  )
}

function PromptList({ project }: { project: string }) {
  const loaded = useLoading((signal) => readPrompts(project, signal), [project])
  const wanted = search.value.get('q') ?? ''
  const shown = useMemo(
    () => loaded.value?.prompts.filter(({ object_id }) => isNamed(object_id, wanted)),
    [loaded.value, wanted],
  )
  const mayChange = may('write', project)
  const begin = () => setSearch({ new: '1' }, {})
  useShortcuts('Prompts', mayChange ? [{ keys: ['n'], does: 'New prompt', run: begin }] : [])
  if (isForbidden(loaded.error)) return <FailedScreen name="Prompts" error={loaded.error} />
  return (
    <main class="screen sheet quality">
      <header class="sheet-head prompt-tools">
        <h1>Prompts</h1>
        <div class="head-tools">
          {loaded.value?.prompts.length !== 0 && (
            <NameFilter {...{ wanted }} onChange={(q) => setSearch({ q })} />
          )}
          {mayChange && (
            <button type="button" class="main-button" onClick={begin}>
              New prompt
            </button>
          )}
        </div>
      </header>
      <ListTable
        label="Prompts"
        loaded={{ ...loaded, value: shown }}
        keyOf={({ object_id }) => object_id}
        columns={{
          Name: ({ object_id }: PromptRow) => (
            <a class="strong" href={paths.prompts(project, object_id)}>
              {object_id}
            </a>
          ),
          Newest: ({ version_index }) => `v${version_index}`,
          Labels: ({ labels }) => <Marks names={labels} />,
          Changed: ({ created_at }) => <Time at={created_at} />,
          By: ({ svc_user_id }) => svc_user_id,
        }}
        empty={loaded.value?.prompts.length ? 'No prompt has this in its name' : 'No prompts yet'}
      >
        <p>
          Requests name a prompt of their project, and a label such as production decides which version
          answers.
        </p>
      </ListTable>
      {loaded.value?.isPart && (
        <p class="muted">
          Of the newest 1,000 objects; of those without the class of a client, 200 of up to 32 kB.
        </p>
      )}
    </main>
  )
}

export function Marks({ names }: { names: readonly string[] }) {
  return (
    <span class="marks">
      {names.map((name) => (
        <span key={name} class="mark">
          {name}
        </span>
      ))}
    </span>
  )
}
