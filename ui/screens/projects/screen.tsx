import { useState } from 'preact/hooks'
import { Empty, Failed, Skeleton } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { go, paths } from '../../routes.ts'
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
      {value?.length === 0 && (
        <Empty title="Nothing is in the record yet" command={firstQuestion()}>
          <p>Every answer of the model becomes a call of a project. Ask something, and look again.</p>
        </Empty>
      )}
      {value !== undefined && value.length > 0 && (
        <ul class="project-list">
          {value.map(({ project_id, calls, last_call_at }) => (
            <li key={project_id}>
              <a href={paths.calls(project_id)}>
                <span class="project-name">{project_id}</span>
                {calls !== undefined && <span class="muted">{countText(calls)} calls</span>}
                {last_call_at && (
                  <span class="muted">
                    last <Time at={last_call_at} />
                  </span>
                )}
              </a>
            </li>
          ))}
        </ul>
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
