import { useState } from 'preact/hooks'
import { Empty, Failed, Skeleton } from '../../parts/states.tsx'
import { paths } from '../../places.ts'
import { go } from '../../routes.ts'
import { useLoading } from '../../server/loading.ts'
import { readProjects } from '../../server/projects.ts'
import { countText } from '../../value/units.ts'
import { EngineStrip } from './engine-strip.tsx'

/** Where everybody begins: the projects there are, and whether the model is there. */
export function ProjectsScreen() {
  const { value, error, again } = useLoading(readProjects, [])
  return (
    <main class="screen narrow">
      <h1>Projects</h1>
      <EngineStrip />
      {error && <Failed error={error} again={again} />}
      {!error && value === undefined && <Skeleton rows={4} />}
      {value?.projects.length === 0 && (
        <Empty title="Nothing is in the record yet" command={firstQuestion()}>
          <p>Every answer of the model becomes a call of a project. Ask something, and look again.</p>
        </Empty>
      )}
      {value !== undefined && value.projects.length > 0 && (
        <ul class="project-list">
          {value.projects.map(({ project, is_being_deleted: isGoing }) => (
            <li key={project}>
              <a href={paths.calls(project)}>
                <span class="project-name">{project}</span>
                {isGoing && <span class="muted">is being deleted</span>}
              </a>
            </li>
          ))}
        </ul>
      )}
      {value?.next && (
        <p class="muted">These are the first {countText(value.projects.length)}; there are more.</p>
      )}
      <OpenProject />
    </main>
  )
}

/** A project needs no registration, so one may be opened before anything is in it. */
function OpenProject() {
  const [name, setName] = useState('')
  const isName = /^[^/\s]+\/[^/\s]+$/.test(name.trim())
  return (
    <form
      class="open-project"
      onSubmit={(event) => {
        event.preventDefault()
        if (isName) go(paths.calls(name.trim()))
      }}
    >
      <label for="project">Open another project</label>
      <input
        id="project"
        placeholder="entity/project"
        spellcheck={false}
        value={name}
        onInput={({ currentTarget }) => setName(currentTarget.value)}
      />
      <button type="submit" disabled={!isName}>
        Open
      </button>
    </form>
  )
}

const firstQuestion = () =>
  `curl ${location.origin}/v1/chat/completions \\
  -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\
  -d '{"messages": [{"role": "user", "content": "Hello"}]}'`
