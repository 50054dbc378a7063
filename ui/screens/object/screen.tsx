import { useLayoutEffect, useState } from 'preact/hooks'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { MoreActs } from '../../parts/more-acts.tsx'
import { useShortcuts } from '../../parts/shortcuts.ts'
import { FailedScreen, LoadingScreen } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { navigate, search, setSearch } from '../../router.ts'
import { paths } from '../../routes.ts'
import { listOf, openClass } from '../../sections.ts'
import { tableOf } from '../../server/datasets.ts'
import { useLoading } from '../../server/loading.ts'
import { deleteObject, type ObjectVersion, refOfCreated } from '../../server/objects.ts'
import { existedUntilDeleted } from '../../server/request.ts'
import { may } from '../../server/rights.ts'
import { classText } from '../../value/ref.ts'
import { countText, sizeText } from '../../value/units.ts'
import { Difference } from './difference.tsx'
import { ObjectValue } from './object-value.tsx'
import { VersionMarks } from './version-marks.tsx'
import { BaseChoice, maxVersions, readWithVersions, versionWalk } from './versions.tsx'

/** One object: its value in one version, and the changes since another. */
export function ObjectScreen({ project, object }: { project: string; object: string }) {
  const asked = search.value
  const version = asked.get('v') ?? 'latest'
  const { value, error, reload } = useLoading(
    (signal) => readWithVersions(project, object, version, signal),
    [project, object, version],
  )
  const [leaving, setLeaving] = useState<'version' | 'object'>()
  const kind = value?.shown.base_object_class
  const list = listOf(kind)
  const back = list === 'datasets' || list === 'judges' ? paths[list](project) : paths.objects(project)
  // The bar marks the section of its list.
  const opened = error ? '' : value && (kind ?? '')
  useLayoutEffect(() => {
    openClass.value = opened
    return () => {
      openClass.value = undefined
    }
  }, [opened])
  const versions = value?.versions ?? []
  const { at, base, compare, keys } = versionWalk('value', value ?? {})
  const changed = () => {
    setSearch({ v: undefined, row: undefined })
    reload()
  }
  useShortcuts('Object', [...keys, { keys: ['Escape'], does: 'Back to the list', run: () => navigate(back) }])
  if (error) {
    const missing = { title: 'Object not found', href: back, to: 'All objects' }
    return <FailedScreen name={object} {...{ error, retry: reload, missing }} />
  }
  if (value === undefined) return <LoadingScreen />
  const { shown } = value
  return (
    <main class="screen object">
      <header class="object-head">
        <h1 dir="auto">{object}</h1>
        <a href={back}>{classText(shown.leaf_object_class ?? (shown.kind === 'op' ? 'Op' : 'Object'))}s</a>
        <VersionMarks version={shown} />
        <span class="muted">
          {tableOf(shown.val) === undefined && sizeText(shown.size_bytes)} by <bdi>{shown.svc_user_id}</bdi>{' '}
          <Time at={shown.created_at} />
        </span>
        <span class="object-tools">
          <label>
            <span class="hidden-text">Version</span>
            <select
              value={shown.digest}
              onChange={({ currentTarget }) => {
                const chosen = versions.find(({ digest }) => digest === currentTarget.value)
                setSearch({ v: chosen && `v${chosen.version_index}`, row: undefined })
              }}
            >
              {versions.map((one) => (
                <option key={one.digest} value={one.digest}>
                  {optionText(one)}
                </option>
              ))}
            </select>
          </label>
          <BaseChoice {...{ versions, shown, base, compare }} />
          {value.isPart && (
            <span class="muted">The newest {countText(maxVersions)} versions are listed.</span>
          )}
          <MoreActs>
            <CopyButton text={refOfCreated(project, shown)} label="Copy reference">
              Reference
            </CopyButton>
            {may('write', project) &&
              (['version', 'object'] as const).map((what) => (
                <button key={what} type="button" onClick={() => setLeaving(what)}>
                  {what === 'version' ? 'Delete version' : 'Delete all'}
                </button>
              ))}
          </MoreActs>
        </span>
      </header>
      {base === undefined ? (
        <ObjectValue
          key={shown.digest}
          {...{ project, object: shown }}
          onChanged={at === 0 ? changed : undefined}
        />
      ) : (
        <Difference key={`${base} ${shown.digest}`} {...{ project, base, shown }} />
      )}
      {leaving && (
        <ConfirmDialog
          title={leaving === 'version' ? `Delete v${shown.version_index}?` : `Delete ${object}?`}
          text={
            leaving === 'version'
              ? 'References to this version will stop working. Other versions are kept.'
              : 'All of its versions are deleted, and references to them will stop working.'
          }
          yes="Delete"
          onYes={async () => {
            const digests = leaving === 'version' ? [shown.digest] : undefined
            // If it is gone, the screen reads it again, says so, and links on.
            if (!(await existedUntilDeleted(deleteObject(project, object, digests)))) reload()
            else if (leaving === 'version' && versions.length > 1) {
              setSearch({ v: undefined, with: undefined })
              reload()
            } else navigate(back, { replaces: true })
          }}
          onClose={() => setLeaving(undefined)}
        />
      )}
    </main>
  )
}

const optionText = ({ version_index: index, tags, aliases }: ObjectVersion): string =>
  [`v${index}`, ...(aliases ?? []), ...(tags ?? [])].join(' · ')
