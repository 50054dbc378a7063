import { useState } from 'preact/hooks'
import { lazy } from '../../parts/lazy.tsx'
import { PlainTable } from '../../parts/plain-table.tsx'
import { Empty, Failed, FailedScreen, Skeleton } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { paths } from '../../routes.ts'
import { readDatasets } from '../../server/datasets.ts'
import { useLoading } from '../../server/loading.ts'
import { isForbidden } from '../../server/request.ts'
import { VersionMarks } from '../object/version-marks.tsx'
import { QualityHead } from './head.tsx'

const UploadDataset = lazy(async () => (await import('../../datasets/upload.tsx')).UploadDataset, {
  isPart: true,
})

/** The datasets of a project, each with a run on it. */
export function DatasetsScreen({ project }: { project: string }) {
  const { value, error, reload } = useLoading((signal) => readDatasets(project, signal), [project])
  const [isUploading, setUploading] = useState(false)
  if (isForbidden(error)) return <FailedScreen name="Datasets" error={error} />
  return (
    <main class="screen sheet quality">
      <QualityHead project={project} title="Datasets">
        <button type="button" onClick={() => setUploading(true)}>
          From a file
        </button>
      </QualityHead>
      {isUploading && (
        <UploadDataset
          project={project}
          onClose={() => {
            setUploading(false)
            reload()
          }}
        />
      )}
      {error && <Failed error={error} retry={reload} />}
      {!error && value === undefined && <Skeleton rows={6} />}
      {value?.length === 0 && (
        <Empty title="No datasets yet">
          <p>
            Select calls in the <a href={paths.calls(project)}>list of calls</a> and press <kbd>d</kbd> to
            make a dataset of them, or bring a file.
          </p>
        </Empty>
      )}
      {value !== undefined && value.length > 0 && (
        <PlainTable label="Datasets" columns={['Name', 'Version', 'By', 'Created', 'Run']}>
          {value.map((dataset) => (
            <tr key={dataset.object_id}>
              <td>
                <a class="strong" href={paths.object(project, dataset.object_id)}>
                  {dataset.object_id}
                </a>
              </td>
              <td>
                <VersionMarks version={dataset} />
              </td>
              <td>{dataset.svc_user_id}</td>
              <td>
                <Time at={dataset.created_at} />
              </td>
              <td>
                <a
                  href={paths.newRun(project, { dataset: dataset.object_id })}
                  aria-label={`New run on ${dataset.object_id}`}
                >
                  New run
                </a>
              </td>
            </tr>
          ))}
        </PlainTable>
      )}
    </main>
  )
}
