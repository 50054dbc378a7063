import { useState } from 'preact/hooks'
import { FirstCall } from '../../parts/first-call.tsx'
import { Failed, Skeleton } from '../../parts/states.tsx'
import { ownSubmit } from '../../parts/work.ts'
import { navigate } from '../../router.ts'
import { isProject, paths } from '../../routes.ts'
import { homeOf } from '../../sections.ts'
import { useLoading } from '../../server/loading.ts'
import { projectsAtOnce, readProjects } from '../../server/projects.ts'
import { may } from '../../server/rights.ts'
import { countText } from '../../value/units.ts'
import { EngineStrip } from './engine-strip.tsx'

/** The first screen: the projects, and whether a model is served. */
export function ProjectsScreen() {
  const [wanted, setWanted] = useState(projectsAtOnce)
  const { value, error, reload, isLoading } = useLoading((signal) => readProjects(wanted, signal), [wanted])
  return (
    <main class="screen narrow">
      <h1>Projects</h1>
      <EngineStrip />
      {error && <Failed error={error} retry={reload} />}
      {!error && value === undefined && <Skeleton rows={4} />}
      {value?.projects.length === 0 && <FirstCall title="Nothing recorded yet" />}
      {value !== undefined && value.projects.length > 0 && (
        <ul class="project-list">
          {value.projects.map(({ project, is_being_deleted: isGoing }) => (
            <li key={project}>
              <a href={homeOf(project)}>
                <span class="project-name">{project}</span>
                {isGoing && <span class="muted">being deleted</span>}
              </a>
              {may('infer', project) && (
                <a class="project-ask" href={paths.play({ p: project })} title={`Ask a model in ${project}`}>
                  Ask
                </a>
              )}
            </li>
          ))}
        </ul>
      )}
      {value?.next && (
        <p class="muted">
          These are the first {countText(value.projects.length)}.{' '}
          <button type="button" disabled={isLoading} onClick={() => setWanted(wanted + projectsAtOnce)}>
            Show more
          </button>
        </p>
      )}
      <OpenProject />
    </main>
  )
}

/** A project needs no registration, so one may be opened before it contains anything. */
function OpenProject() {
  const [name, setName] = useState('')
  const isName = isProject(name.trim())
  return (
    <form class="open-project" onSubmit={ownSubmit(() => isName && navigate(homeOf(name.trim())))}>
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
