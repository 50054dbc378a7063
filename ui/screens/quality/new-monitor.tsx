import { Dialog } from '../../parts/dialog.tsx'
import { FormFooter } from '../../parts/form-footer.tsx'
import { useKeptForm } from '../../parts/kept-form.ts'
import { Failed, Skeleton } from '../../parts/states.tsx'
import { ownSubmit, useWork } from '../../parts/work.ts'
import { navigate } from '../../router.ts'
import { paths } from '../../routes.ts'
import { useLoading } from '../../server/loading.ts'
import { makeMonitor } from '../../server/monitors.ts'
import { isServed, readScorers } from '../../server/scorers.ts'
import { objectRefOf } from '../../value/ref.ts'
import { parseQuery } from '../calls/parse-query.ts'
import { ScorerChoice } from './scorer-choice.tsx'

interface Props {
  project: string
  /** The scorer that is ticked at first. */
  scorer: string
  onClose(): void
}

const fresh = {
  name: '',
  chosen: [] as readonly string[],
  filter: 'op:heddle.chat',
  share: '100',
  budget: '',
}

/** Judges and checks, the calls they are for, and a share of these. */
export function NewMonitor({ project, scorer, onClose }: Props) {
  const { value, error, reload } = useLoading((signal) => readScorers(project, signal), [project])
  const form = useKeptForm(`monitor ${project}`, (kept: Partial<typeof fresh>) => {
    const entered = { ...fresh, ...kept }
    return scorer === '' ? entered : { ...entered, chosen: [...new Set([...entered.chosen, scorer])] }
  })
  const { name, chosen, filter, share, budget } = form.value
  const close = () => {
    form.drop()
    onClose()
  }
  const { isWorking, failure, work } = useWork()
  const parsed = parseQuery(filter)
  const percent = Number(share)
  const isShare = share.trim() !== '' && percent >= 0 && percent <= 100
  const isBudget = /^\d*$/.test(budget.trim())
  const usual = chosen[0] ?? ''
  const missing =
    value !== undefined && chosen.length === 0
      ? 'Tick a judge or a check.'
      : !isShare
        ? 'The share is a number from 0 to 100.'
        : !isBudget
          ? 'Tokens in a day are a whole number, or empty.'
          : undefined
  const isReady = chosen.length > 0 && parsed.problem === undefined && missing === undefined && !isWorking
  const save = async () => {
    const id = await makeMonitor(project, {
      name: name.trim() || usual,
      scorers: chosen.map((scorerName) => ({ scorer: objectRefOf(project, scorerName, 'latest') })),
      ...(parsed.problem === undefined && parsed.query && { query: { $expr: parsed.query } }),
      sampling_rate: percent / 100,
      ...(budget.trim() !== '' && { token_budget: Number(budget) }),
    })
    form.drop()
    navigate(paths.monitor(project, id))
  }
  return (
    <Dialog label="New monitor" onClose={close}>
      {error && <Failed error={error} retry={reload} />}
      {!error && (
        <form class="form" onSubmit={ownSubmit(() => isReady && work(save))}>
          <label for="monitor-name">Name</label>
          <input
            id="monitor-name"
            dir="auto"
            autofocus
            maxLength={1024}
            placeholder={usual}
            value={name}
            onInput={({ currentTarget }) => form.change({ name: currentTarget.value })}
          />
          {value === undefined ? (
            <Skeleton rows={2} />
          ) : (
            <ScorerChoice
              {...{ project, chosen }}
              scorers={value.filter(isServed)}
              back={{ for: 'monitor' }}
              onChange={(next) => form.change({ chosen: next })}
            />
          )}
          <label for="monitor-filter">Calls, by the filter of the list of calls</label>
          <input
            id="monitor-filter"
            spellcheck={false}
            aria-invalid={parsed.problem !== undefined}
            value={filter}
            onInput={({ currentTarget }) => form.change({ filter: currentTarget.value })}
          />
          {parsed.problem !== undefined && <p class="problem">{parsed.problem}</p>}
          <label for="monitor-share">Share of them, in percent</label>
          <input
            id="monitor-share"
            inputMode="decimal"
            aria-invalid={!isShare}
            value={share}
            onInput={({ currentTarget }) => form.change({ share: currentTarget.value })}
          />
          <label for="monitor-budget">Tokens of the judges in a day, if bounded</label>
          <input
            id="monitor-budget"
            inputMode="numeric"
            aria-invalid={!isBudget}
            value={budget}
            onInput={({ currentTarget }) => form.change({ budget: currentTarget.value })}
          />
          <FormFooter {...{ failure, missing }} onClose={close} canSubmit={isReady}>
            Start monitor
          </FormFooter>
        </form>
      )}
    </Dialog>
  )
}
