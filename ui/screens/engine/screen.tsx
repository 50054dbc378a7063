import { useEffect, useState } from 'preact/hooks'
import { Fact, PlainTable } from '../../parts/plain-table.tsx'
import { Empty, FailedScreen, LoadingScreen } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { type Engine, readEngine } from '../../server/engine.ts'
import { countText, sizeText } from '../../value/units.ts'

/** Pause between requests; the server itself measures once a second. */
const pauseMs = 1_000

/** What the server is doing at the moment. */
export function EngineScreen() {
  const { engine, error } = usePolledEngine()
  if (engine === undefined) {
    return error ? <FailedScreen name="Engine" error={error} /> : <LoadingScreen />
  }
  const { models, answers, answers_in_all: all, server, recording } = engine
  return (
    // It scrolls by keys, and nothing in it takes the focus.
    <main class="screen narrow wide" tabIndex={0}>
      <h1>Engine</h1>
      {error && (
        <p class="notice" role="status">
          {error.message} Showing the last known state.
        </p>
      )}
      {engine.list?.fault && (
        <p class="notice" role="status">
          The file of models has changed but could not be read; its previous version stays in effect.{' '}
          {engine.list.fault}
        </p>
      )}
      {models.length === 0 && (
        <Empty title="No model is served" command="HEDDLE_MODEL=builtin npm start">
          <p>The record is available; requests to a model are refused.</p>
        </Empty>
      )}
      {models.map((model, index) => (
        <ModelPanel key={model.names[0] ?? index} model={model} />
      ))}
      {models.length > 0 && (
        <section class="panel" aria-labelledby="running">
          <h2 id="running">Running now</h2>
          <Running answers={answers} all={all} />
        </section>
      )}
      <section class="panel" aria-labelledby="server">
        <h2 id="server">Server</h2>
        <dl class="facts flush">
          <Fact name="Version">{server.version}</Fact>
          <Fact name="Since">
            <Time at={server.started_at} />
          </Fact>
          {server.memory_bytes !== null && <Fact name="Memory">{sizeText(server.memory_bytes)}</Fact>}
          <Fact name="Your recorded answers">{recordings[recording]}</Fact>
        </dl>
      </section>
    </main>
  )
}

const recordings = { all: 'all', asked: 'those with "store": true', off: 'none' }

const lamps = { ready: 'there', failed: 'away', starting: 'waiting', unloaded: 'waiting' }

const said = {
  ready: 'Ready',
  failed: 'Cannot be served',
  starting: 'Starting',
  unloaded: 'Not loaded; the first request loads it',
}

function ModelPanel({ model }: { model: Engine['models'][number] }) {
  const { names, state, doing, card, slots, engine_bytes: bytes, prompt_cache: kept } = model
  const [name = 'The model', ...aliases] = names
  const share = model.prompt_tokens === 0 ? undefined : model.cached_tokens / model.prompt_tokens
  return (
    <section class="panel" aria-label={name}>
      <h2>
        {name}
        {aliases.length > 0 && <span class="muted"> also {aliases.join(', ')}</span>}
      </h2>
      <p class="engine-strip" data-state={lamps[state]}>
        {state === 'ready' || state === 'unloaded' ? said[state] : `${said[state]}: ${doing ?? ''}`}
      </p>
      {slots && <Slots {...slots} />}
      {card && (
        <dl class="facts flush">
          <Fact name="Now">{model.tokens_per_second.toFixed(1)} tokens/s</Fact>
          <Fact name="Written">{countText(model.completion_tokens)} tokens</Fact>
          <Fact name="Prompts">{countText(model.prompt_tokens)} tokens</Fact>
          <Fact name="From the cache">
            {share === undefined ? 'no prompt yet' : `${(share * 100).toFixed(0)} %`}
          </Fact>
          {kept && (
            <Fact name="Kept prompts">
              {countText(kept.prompts)}, {sizeText(kept.bytes)} of {sizeText(kept.bound)}
            </Fact>
          )}
          <Fact name="Context">{known(card.context, (count) => `${countText(count)} tokens`)}</Fact>
          <Fact name="Parameters">{known(card.parameters, countText)}</Fact>
          <Fact name="Weights">{known(card.model_bytes, sizeText)}</Fact>
          <Fact name="Engine memory">{bytes === null ? 'unknown' : sizeText(bytes)}</Fact>
          <Fact name="Runs on">{card.device}</Fact>
          <Fact name="Threads">{known(card.threads, countText)}</Fact>
          <Fact name="Loaded">
            <Time at={new Date(card.created * 1000).toISOString()} />
          </Fact>
        </dl>
      )}
    </section>
  )
}

/** Another server that runs a model does not report everything about it. */
const known = (value: number, text: (value: number) => string) => (value === 0 ? 'unknown' : text(value))

/** A box for each slot, filled where it is in use, and in words. Slots of another server are not shown. */
function Slots({ total, running, waiting }: { total: number; running: number; waiting: number }) {
  const waits = waiting === 0 ? 'none waiting' : `${countText(waiting)} waiting`
  if (total === 0) {
    return (
      <p>
        {countText(running)} {running === 1 ? 'answer' : 'answers'} in progress, {waits}
      </p>
    )
  }
  return (
    <div class="slots">
      <span class="slot-boxes" aria-hidden="true">
        {Array.from({ length: Math.min(total, 64) }, (_, index) => (
          <span key={index} data-busy={index < running} />
        ))}
      </span>
      <span>
        {running} of {total} slots busy, {waits}
      </span>
    </div>
  )
}

function Running({ answers, all }: { answers: Engine['answers']; all: number }) {
  if (all === 0) return <p class="muted">No running answers to show.</p>
  return (
    <>
      <PlainTable label="Running answers" columns={['State', 'User', 'Model', 'Tokens', 'Since']}>
        {answers.map((answer, index) => (
          <tr key={index}>
            <td>
              {answer.state}
              {answer.is_background && ', in the background'}
            </td>
            <td>{answer.user}</td>
            <td>{answer.model}</td>
            <td>{countText(answer.tokens)}</td>
            <td>
              <Time at={answer.started_at} />
            </td>
          </tr>
        ))}
      </PlainTable>
      {all > answers.length && (
        <p class="muted">
          Showing {countText(answers.length)} of {countText(all)}.
        </p>
      )}
    </>
  )
}

/** Polls while the screen is shown, one request at a time. */
function usePolledEngine(): { engine?: Engine; error?: Error } {
  const [seen, setSeen] = useState<{ engine?: Engine; error?: Error }>({})
  useEffect(() => {
    const controller = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const look = async () => {
      if (!document.hidden) {
        try {
          const engine = await readEngine(controller.signal)
          setSeen({ engine })
        } catch (error) {
          if (controller.signal.aborted) return
          setSeen((before) => ({ ...before, error: error as Error }))
        }
      }
      if (!controller.signal.aborted) timer = setTimeout(look, pauseMs)
    }
    void look()
    return () => {
      controller.abort()
      clearTimeout(timer)
    }
  }, [])
  return seen
}
