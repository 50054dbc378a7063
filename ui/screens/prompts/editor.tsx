import { useEffect, useRef, useState } from 'preact/hooks'
import { FormFooter } from '../../parts/form-footer.tsx'
import { ownSubmit, useWork } from '../../parts/work.ts'
import { guardLeaving } from '../../router.ts'
import { answeringModels, readEngine } from '../../server/engine.ts'
import { useLoading } from '../../server/loading.ts'
import { createObject, type ObjectRead, type ObjectVersion, readVersions } from '../../server/objects.ts'
import { RefusedError } from '../../server/request.ts'
import { FieldRow } from '../play/field-row.tsx'
import { requestFields } from '../play/request-fields.ts'
import { withSetting } from '../play/settings.ts'
import { draftOf, newDraft, type PromptDraft, promptJson, variablesOf } from './draft.ts'
import { MessageList, VariableFields } from './fields.tsx'

/** Fields of a request that are not up to its prompt, and those that are shown at once. */
const notSettings =
  'messages prompt stream stream_options n store metadata user cache_salt request_id session_id priority safety_identifier'
const common = ['model', 'temperature', 'max_completion_tokens']

const offered = requestFields.filter(
  ({ name, effect }) => effect !== 'refused' && !notSettings.split(' ').includes(name),
)

interface Props {
  project: string
  /** The version that is edited, and the newest one; without them the prompt is new. */
  shown?: ObjectRead
  newest?: ObjectVersion
  onSaved(name: string, digest: string): void
  onClose(): void
}

/** A prompt as a form. Saving makes a version, and says if somebody else has made one meanwhile. */
export function PromptEditor({ project, shown, newest, onSaved, onClose }: Props) {
  const [first] = useState(() => (shown ? draftOf(shown.val) : newDraft(false)))
  const [draft, setDraft] = useState<PromptDraft>(first)
  const [name, setName] = useState(shown?.object_id ?? '')
  const [known, setKnown] = useState(newest?.digest)
  const { isWorking, failure, work } = useWork()
  const change = (changes: Partial<PromptDraft>) => setDraft({ ...draft, ...changes })
  const isChanged = draft !== first
  const isUnsaved = useRef(false)
  isUnsaved.current = isChanged
  useEffect(
    () => guardLeaving(() => (isUnsaved.current ? 'This version of the prompt is not saved.' : undefined)),
    [],
  )
  const save = async () => {
    const body = promptJson(draft)
    const saved = createObject(project, name, body, { expected_latest: known ?? '' })
    const { digest } = await saved.catch(async (error: Error) => {
      throw error instanceof RefusedError && error.code === 'object_changed' ? await meanwhile() : error
    })
    isUnsaved.current = false
    onSaved(name, digest)
  }
  const meanwhile = async () => {
    if (!shown) return new Error(`Name: "${name}" is the name of an object; accepted: a new name.`)
    const view = { project, objects: [name], latestOnly: true, limit: 1 }
    const [present] = await readVersions(view, AbortSignal.timeout(60_000)).catch(() => [])
    setKnown(present?.digest)
    const what = present
      ? `${present.svc_user_id} saved v${present.version_index}`
      : 'This prompt was changed'
    return new Error(`${what} meanwhile. To make yours the newest all the same, save again.`)
  }
  return (
    <form
      class="form quality-form"
      aria-label={shown ? 'New version' : 'New prompt'}
      onSubmit={ownSubmit(() => !isWorking && work(save))}
    >
      {!shown && (
        <>
          <label for="prompt-name">Name</label>
          <input
            id="prompt-name"
            maxLength={128}
            placeholder="support"
            value={name}
            onInput={({ currentTarget }) => setName(currentTarget.value.trim())}
          />
          <label for="prompt-kind">Kind</label>
          <select
            id="prompt-kind"
            onChange={({ currentTarget }) => setDraft(newDraft(currentTarget.value === 'text'))}
          >
            <option value="">Messages</option>
            <option value="text">Text</option>
          </select>
        </>
      )}
      {draft.text === undefined ? (
        <MessageList turns={draft.turns} onChange={(turns) => change({ turns })} />
      ) : (
        <>
          <label for="prompt-text">Text</label>
          <textarea
            id="prompt-text"
            rows={8}
            value={draft.text}
            onInput={({ currentTarget }) => change({ text: currentTarget.value })}
          />
        </>
      )}
      <p class="muted">{'{name} is a variable: each request gives its value.'}</p>
      <VariableFields
        all={variablesOf(draft)}
        declared={draft.variables}
        onChange={(variables) => change({ variables })}
      />
      <Settings {...{ draft, change }} />
      <FormFooter {...{ failure, onClose }} canSubmit={isChanged && name !== '' && !isWorking}>
        {shown ? 'Save as new version' : 'Save prompt'}
      </FormFooter>
    </form>
  )
}

interface SettingsProps {
  draft: PromptDraft
  change(changes: Partial<PromptDraft>): void
}

/** Those that matter most, those that are set, and others as they are asked for. */
function Settings({ draft: { settings }, change }: SettingsProps) {
  const [added, setAdded] = useState(common)
  const { value: engine } = useLoading(readEngine, [])
  const models = answeringModels(engine)
  const isShown = (name: string) => added.includes(name) || settings.has(name)
  return (
    <fieldset class="run-settings">
      <legend>Settings</legend>
      {offered
        .filter(({ name }) => isShown(name))
        .map((field) => (
          <FieldRow
            key={field.name}
            side="prompt"
            {...{ field, models }}
            value={settings.get(field.name)}
            wrong={undefined}
            onChange={(json) => change({ settings: withSetting(settings, field.name, json) })}
          />
        ))}
      <select
        aria-label="Add a setting"
        value=""
        onChange={({ currentTarget }) => setAdded([...added, currentTarget.value])}
      >
        <option value="">Add a setting</option>
        {offered
          .filter(({ name }) => !isShown(name))
          .map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
      </select>
    </fieldset>
  )
}
