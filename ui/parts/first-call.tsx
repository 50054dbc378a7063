import { serverUrl } from '../base.ts'
import { readEngine } from '../server/engine.ts'
import { useLoading } from '../server/loading.ts'
import { currentUser } from '../server/session.ts'
import { quoted } from '../value/shell.ts'
import { Empty } from './states.tsx'

interface FirstCallProps {
  title: string
  /** Without one, the project that the server uses for requests that name none. */
  project?: string
}

/** Shown before the first call. How to make one depends on whether a model is served and on what is recorded. */
export function FirstCall({ title, project }: FirstCallProps) {
  const { value: engine } = useLoading(readEngine, [])
  const others = 'Weave and OpenTelemetry clients can write here too.'
  if (engine?.models.length === 0) {
    return (
      <Empty title={title} command={start(project)}>
        <p>No model is served here, so calls come from programs. {others}</p>
      </Empty>
    )
  }
  if (engine?.recording === 'off') {
    return (
      <Empty title={title} command={start(project)}>
        <p>Recording is off for you, so answers of the model are not stored as calls. {others}</p>
      </Empty>
    )
  }
  const isAsked = engine?.recording === 'asked'
  return (
    <Empty title={title} command={question(project, isAsked ? ', "store": true' : '')}>
      <p>
        Ask the model, and the answer appears here a moment later
        {isAsked && <>, if the request has "store": true</>}. {others}
      </p>
    </Empty>
  )
}

const head = (path: string) => `curl ${serverUrl()}${path} \\
  -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\`

function question(project: string | undefined, further: string): string {
  const header = project === undefined ? '' : `\n  -H ${quoted(`x-heddle-project: ${project}`)} \\`
  return `${head('/v1/chat/completions')}${header}
  -d '{"messages": [{"role": "user", "content": "Hello"}]${further}}'`
}

/** A user with access to all entities may use any of them. */
const ownProject = () => `${currentUser.value?.entities.find((entity) => entity !== '*') ?? 'main'}/default`

function start(project_id = ownProject()): string {
  const started_at = new Date().toISOString()
  const given = { project_id, op_name: 'hello', started_at, attributes: {}, inputs: { text: 'Hello' } }
  return `${head('/call/start')}
  -d ${quoted(JSON.stringify({ start: given }))}`
}
