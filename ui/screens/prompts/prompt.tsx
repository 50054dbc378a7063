import { CopyButton } from '../../parts/copy-button.tsx'
import { useShortcuts } from '../../parts/shortcuts.ts'
import { Failed, FailedScreen, LoadingScreen } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { navigate, search, setSearch } from '../../router.ts'
import { paths } from '../../routes.ts'
import { useLoading } from '../../server/loading.ts'
import type { ObjectRead } from '../../server/objects.ts'
import { may } from '../../server/rights.ts'
import { Difference } from '../object/difference.tsx'
import { BaseChoice, readWithVersions, versionWalk } from '../object/versions.tsx'
import { passToPlayground } from '../play/handover.ts'
import { newTurn } from '../play/turns.ts'
import { draftOf, isPrompt, placeholder } from './draft.ts'
import { PromptEditor } from './editor.tsx'
import { Labels } from './labels.tsx'
import { labelsOf, readRuns } from './reading.ts'
import { PromptText } from './text.tsx'
import { Versions } from './versions.tsx'

/** One prompt: what a version says, what each version serves, and which labels name it. */
export function PromptView({ project, prompt }: { project: string; prompt: string }) {
  const asked = search.value
  const wanted = asked.get('v') ?? 'latest'
  const { value, error, reload } = useLoading(
    (signal) => readWithVersions(project, prompt, wanted, signal),
    [project, prompt, wanted],
  )
  const versions = value?.versions ?? []
  const runs = useLoading(
    async (signal) => (versions.length === 0 ? undefined : readRuns(project, prompt, versions, signal)),
    [project, prompt, versions.map(({ digest }) => digest).join()],
  )
  const isEdited = asked.get('edit') !== null
  const { base, compare, keys } = versionWalk('prompt', value ?? {}, isEdited)
  const mayChange = may('write', project)
  const edit = () => setSearch({ edit: '1', with: undefined }, {})
  useShortcuts('Prompt', [
    ...keys,
    ...(mayChange ? [{ keys: ['e'], does: 'Edit', run: edit }] : []),
    { keys: ['Escape'], does: 'All prompts', run: () => navigate(paths.prompts(project)) },
  ])
  if (error) {
    const missing = { title: 'Prompt not found', href: paths.prompts(project), to: 'All prompts' }
    return <FailedScreen name={prompt} {...{ error, retry: reload, missing }} />
  }
  if (value === undefined) return <LoadingScreen />
  const { shown } = value
  if (!isPrompt(shown.val)) {
    const text = `This version of ${prompt} is no prompt: it has neither content, a text, nor messages, a list.`
    return <FailedScreen name={prompt} error={new Error(text)} />
  }
  const newest = versions.find(({ is_latest }) => is_latest === 1) ?? shown
  return (
    <main class="screen object">
      <header class="object-head">
        <h1 dir="auto">{prompt}</h1>
        <span class="muted">
          by {shown.svc_user_id} <Time at={shown.created_at} />
        </span>
        <CopyButton text={shown.digest} label="Copy digest">
          {shown.digest.slice(0, 8)}
        </CopyButton>
        {!isEdited && (
          <span class="object-tools">
            <select
              aria-label="Version"
              value={shown.digest}
              onChange={({ currentTarget }) => setSearch({ v: currentTarget.value, with: undefined })}
            >
              {versions.map((one) => (
                <option key={one.digest} value={one.digest}>
                  {[`v${one.version_index}`, ...labelsOf(one)].join(' · ')}
                </option>
              ))}
            </select>
            <BaseChoice {...{ versions, shown, base, compare }} />
            <button type="button" onClick={() => tryOut(project, shown)}>
              Open in the playground
            </button>
            {mayChange && (
              <button type="button" class="main-button" onClick={edit}>
                New version
              </button>
            )}
          </span>
        )}
      </header>
      {isEdited ? (
        <div class="object-value">
          <PromptEditor
            {...{ project, shown, newest }}
            onSaved={(_, v) => {
              setSearch({ edit: undefined, v })
              reload()
            }}
            onClose={() => setSearch({ edit: undefined })}
          />
        </div>
      ) : base !== undefined ? (
        <Difference key={`${base} ${shown.digest}`} {...{ project, base, shown }} />
      ) : (
        <div class="object-value quality" tabIndex={0} role="region" aria-label="Prompt">
          <PromptText val={shown.val} />
          <Labels {...{ project, prompt, versions, shown, mayChange }} runs={runs.value} onMoved={reload} />
          {runs.error && <Failed error={runs.error} retry={runs.reload} />}
          <Versions {...{ project, prompt, versions, shown }} runs={runs.value} />
        </div>
      )}
    </main>
  )
}

/** Variables stay as they are written; the place of a conversation is an empty message. */
function tryOut(project: string, { val }: ObjectRead): void {
  const { text, turns, settings } = draftOf(val)
  const said =
    text === undefined ? turns.filter(({ role }) => role !== placeholder) : [newTurn('system', text)]
  const isAsked = said.at(-1)?.role === 'user'
  passToPlayground({ turns: isAsked ? said : [...said, newTurn('user')], settings, isAsked: false })
  navigate(paths.play({ p: project }))
}
