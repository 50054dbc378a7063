import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Dialog } from '../parts/dialog.tsx'
import { FormFooter } from '../parts/form-footer.tsx'
import { Failed, Skeleton } from '../parts/states.tsx'
import { ownSubmit, useWork } from '../parts/work.ts'
import { paths } from '../routes.ts'
import { addRows, makeDataset, readDatasets } from '../server/datasets.ts'
import { useLoading } from '../server/loading.ts'
import { objectIdOf } from '../value/ref.ts'
import { countText } from '../value/units.ts'
import { AddedDialog } from './done-adding.tsx'

interface Props {
  project: string
  label: string
  /** How many rows there are; undefined until what they are made of has been read. */
  count: number | undefined
  error: Error | undefined
  reload(): void
  /** The rows, each as JSON. */
  rows(): string[]
  isReady: boolean
  onClose(): void
  /** What is chosen besides the dataset. */
  children: ComponentChildren
}

/** Chooses an existing or a new dataset, adds rows to it and shows the result. */
export function DatasetDialog(props: Props) {
  const { project, label, count, error, reload, rows, isReady, onClose, children } = props
  const known = useLoading((signal) => readDatasets(project, signal), [project])
  const [dataset, setDataset] = useState('')
  const [name, setName] = useState('')
  const { isWorking, failure, work } = useWork()
  const [done, setDone] = useState<string>()
  const first = useRef<HTMLInputElement>(null)
  const isRead = count !== undefined && known.value !== undefined
  useLayoutEffect(() => {
    // It does not exist yet when the dialog opens, and takes only the focus of the skeleton: a user may have gone on.
    if (document.activeElement === document.body) first.current?.focus()
  }, [isRead])
  const id = objectIdOf(name.trim())
  const isTaken = dataset === '' && (known.value?.some(({ object_id }) => object_id === id) ?? false)
  const canAdd =
    isRead && count > 0 && isReady && !isWorking && (dataset !== '' || (name.trim() !== '' && !isTaken))
  const add = async () => {
    const made =
      dataset === '' ? makeDataset(project, name.trim(), rows()) : addRows(project, dataset, rows())
    setDone((await made).object_id)
  }
  if (done !== undefined) {
    return (
      <AddedDialog
        {...{ label, project }}
        text={`${rowsText(count ?? 0)} added.`}
        to={{ name: done, href: paths.object(project, done) }}
        onClose={onClose}
      />
    )
  }
  const failed = error ?? known.error
  return (
    <Dialog label={label} onClose={onClose}>
      {failed && <Failed error={failed} retry={error ? reload : known.reload} />}
      {!failed && !isRead && <Skeleton rows={4} autofocus />}
      {isRead && (
        <form class="form" onSubmit={ownSubmit(() => canAdd && work(add))}>
          <label for="dataset">Dataset</label>
          <select
            id="dataset"
            value={dataset}
            onChange={({ currentTarget }) => setDataset(currentTarget.value)}
          >
            <option value="">New dataset</option>
            {known.value?.map(({ object_id: id }) => (
              <option key={id} value={id}>
                {id}
              </option>
            ))}
          </select>
          {dataset === '' && (
            <>
              <label for="dataset-name">Dataset name</label>
              <input
                id="dataset-name"
                ref={first}
                maxLength={128}
                value={name}
                aria-invalid={isTaken}
                onInput={({ currentTarget }) => setName(currentTarget.value)}
              />
              {isTaken && (
                <p class="problem" role="alert">
                  {id} exists. Choose it above to add to it, or write another name.
                </p>
              )}
            </>
          )}
          {children}
          <FormFooter {...{ failure, onClose }} canSubmit={canAdd}>
            Add {rowsText(count)}
          </FormFooter>
        </form>
      )}
    </Dialog>
  )
}

const rowsText = (count: number): string => (count === 1 ? '1 row' : `${countText(count)} rows`)
