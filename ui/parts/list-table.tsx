import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Loaded } from '../server/loading.ts'
import { ConfirmDialog } from './confirm-dialog.tsx'
import { numberClass, PlainTable } from './plain-table.tsx'
import { Empty, Failed, Problem, Skeleton } from './states.tsx'
import { useWork } from './work.ts'

/** A button of a row. */
export interface Act {
  name: string
  /** Name of the row, so that the buttons of two rows differ for readers of the screen. */
  of: string
  /** What is said before something that cannot be undone. */
  ask?: string
  /** After a promise the list is loaded again. */
  run(): unknown
}

interface Props<Row> {
  label: string
  loaded: Loaded<readonly Row[]>
  keyOf(row: Row): string
  columns: Record<string, (row: Row) => ComponentChildren>
  numbers?: readonly string[]
  /** What the user may do with a row. */
  acts?: (row: Row) => readonly (Act | false)[]
  empty: string
  /** What would be here, and how it comes here. */
  children?: ComponentChildren
}

/** A list as a table: loading, failed, empty or its rows, with their buttons and what the server said to them. */
export function ListTable<Row>(props: Props<Row>) {
  const { label, loaded, keyOf, columns, numbers, acts, empty, children } = props
  const { value, error, reload } = loaded
  const [asked, setAsked] = useState<Act>()
  const { failure, work } = useWork()
  const run = async (act: Act) => {
    const working = act.run()
    if (!(working instanceof Promise)) return
    await working
    reload()
  }
  if (error) return <Failed error={error} retry={reload} />
  if (value === undefined) return <Skeleton rows={4} />
  const actsOf = (row: Row) => (acts?.(row) ?? []).filter((act): act is Act => act !== false)
  const hasActs = value.some((row) => actsOf(row).length > 0)
  return (
    <>
      <Problem text={failure?.message} />
      {value.length === 0 ? (
        <Empty title={empty}>{children}</Empty>
      ) : (
        <PlainTable
          label={label}
          className="list-table"
          numbers={numbers}
          columns={[...Object.keys(columns), ...(hasActs ? ['Actions'] : [])]}
        >
          {value.map((row) => (
            <tr key={keyOf(row)}>
              {Object.entries(columns).map(([name, cell]) => (
                <td key={name} dir="auto" data-label={name} class={numberClass(name, numbers)}>
                  {cell(row)}
                </td>
              ))}
              {hasActs && (
                <td>
                  <div class="row-acts">
                    {actsOf(row).map((act) => (
                      <button
                        key={act.name}
                        type="button"
                        aria-label={`${act.name} ${act.of}`}
                        onClick={() => (act.ask === undefined ? void work(() => run(act)) : setAsked(act))}
                      >
                        {act.name}
                      </button>
                    ))}
                  </div>
                </td>
              )}
            </tr>
          ))}
        </PlainTable>
      )}
      {asked && (
        <ConfirmDialog
          title={`${asked.name} ${asked.of}?`}
          text={asked.ask as string}
          yes={asked.name}
          onYes={() => run(asked)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </>
  )
}
