import { useState } from 'preact/hooks'
import { lazy } from '../../parts/lazy.tsx'
import { ListTable } from '../../parts/list-table.tsx'
import { QualityHead } from '../../parts/lists-head.tsx'
import { FailedScreen } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { paths } from '../../routes.ts'
import { readDatasetFacts, readDatasets } from '../../server/datasets.ts'
import { useLoading } from '../../server/loading.ts'
import type { ObjectVersion } from '../../server/objects.ts'
import { isForbidden } from '../../server/request.ts'
import { may } from '../../server/rights.ts'
import { countText } from '../../value/units.ts'
import { VersionMarks } from '../object/version-marks.tsx'

export const UploadDataset = lazy(async () => (await import('../../datasets/upload.tsx')).UploadDataset, {
  isPart: true,
})

/** The datasets of a project, each with a run on it. */
export function DatasetsScreen({ project }: { project: string }) {
  const loaded = useLoading((signal) => readWithFacts(project, signal), [project])
  const [isUploading, setUploading] = useState(false)
  if (isForbidden(loaded.error)) return <FailedScreen name="Datasets" error={loaded.error} />
  return (
    <main class="screen sheet quality">
      <QualityHead project={project} title="Datasets">
        {may('write', project) && (
          <button type="button" onClick={() => setUploading(true)}>
            From a file
          </button>
        )}
      </QualityHead>
      {isUploading && (
        <UploadDataset
          project={project}
          onClose={() => {
            setUploading(false)
            loaded.reload()
          }}
        />
      )}
      <ListTable
        label="Datasets"
        {...{ loaded }}
        keyOf={({ object_id }) => object_id}
        columns={{
          Name: ({ object_id }) => (
            <a class="strong" href={paths.object(project, object_id)}>
              {object_id}
            </a>
          ),
          ...(loaded.value?.some(({ description }) => description) && {
            Description: ({ description }: { description?: string }) => (
              <span class="quality-text" dir="auto">
                {description}
              </span>
            ),
          }),
          Rows: ({ rows }) => (rows === undefined ? '–' : countText(rows)),
          Version: (dataset) => <VersionMarks version={dataset} />,
          By: ({ svc_user_id }) => svc_user_id,
          Created: ({ created_at }) => <Time at={created_at} />,
          ...(may('infer', project) && {
            Run: ({ object_id }: ObjectVersion) => (
              <a href={paths.newRun(project, { dataset: object_id })} aria-label={`New run on ${object_id}`}>
                New run
              </a>
            ),
          }),
        }}
        numbers={['Rows']}
        empty="No datasets yet"
      >
        {may('write', project) ? (
          <p>
            Select calls in the <a href={paths.calls(project)}>list of calls</a> and press <kbd>d</kbd> to
            make a dataset of them, or bring a file.
          </p>
        ) : (
          <p>Whoever may write in {project} makes them from calls or a file.</p>
        )}
      </ListTable>
    </main>
  )
}

async function readWithFacts(project: string, signal: AbortSignal) {
  const datasets = await readDatasets(project, signal)
  const facts = await readDatasetFacts(project, datasets, signal)
  return datasets.map((dataset) => ({ ...dataset, ...facts.get(dataset.object_id) }))
}
