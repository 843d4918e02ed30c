// SPDX-License-Identifier: Apache-2.0

import { useSignal, useSignalEffect } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { followInfo, info } from '../api/info'
import { connection, epoch } from '../api/connection'
import { useKeys } from '../app/keys'
import { Ago, duration, period } from '../text/time'
import './changes.css'
import { Facets, count } from './Facets'
import { Filter, focusFilter } from './Filter'
import { changes, failure, follow, incomplete, load, loaded, loading, more, problem, question, rows } from './list'
import { Rows } from './Rows'
import { offered, part, range, setPart, setRange, setWhere, where } from './state'
import { split } from './clauses'
import { Strip } from './Strip'

// Changes is the live list of all changes.
export default function Changes() {
  const facets = useSignal(false)
  useSignalEffect(() => {
    question.value.key
    epoch.value
    void load()
  })
  useEffect(() => {
    document.title = 'Changes · Lifeline'
    followInfo()
    return follow()
  }, [])
  useKeys('Search', [
    { keys: ['/'], help: 'search', run: focusFilter },
    ...offered.value.map((r, i) => ({ keys: [String(i + 1)], help: `last ${r.title}`, run: () => setRange(r.name) })),
    { keys: ['Escape'], help: 'all of the time', run: () => setPart(undefined) },
  ], [offered.value.length])
  const chosen = split(where.value).length
  return (
    <div class="changes">
      <h1 class="hidden">Changes</h1>
      <div class="controls">
        <button type="button" class="facets-switch" aria-expanded={facets.value} aria-controls="facets" onClick={() => (facets.value = !facets.value)}>
          Filters{chosen > 0 && <span class="badge">{chosen}</span>}
        </button>
        <Filter />
        <div class="ranges" role="group" aria-label="Time, back from now">
          {offered.value.map((r) => (
            <button type="button" key={r.name} aria-pressed={range.value === r} title={`last ${r.title}`} onClick={() => setRange(r.name)}>
              {r.name}
            </button>
          ))}
        </div>
      </div>
      <Strip />
      {incomplete.value && (
        <p class="incomplete" role="status">
          This list is incomplete: <bdi>{incomplete.value}</bdi>
        </p>
      )}
      <div class="below">
        <aside id="facets" class={facets.value ? 'open' : ''} aria-label="Filters">
          <Facets />
        </aside>
        <section class="list" aria-label="List">
          <Status />
          <Failure />
          {loaded.value && changes.value.length === 0 && !problem.value && !failure.value ? <Empty /> : <Rows />}
        </section>
      </div>
    </div>
  )
}

function Status() {
  const n = changes.value.length
  const live = connection.value.state === 'ok'
  const brushed = part.value
  return (
    <p class="status">
      {brushed ? (
        <span class="chosen">
          {period(brushed.since, brushed.until)} ({duration((brushed.until - brushed.since) / 1000)})
          <button type="button" class="tool" onClick={() => setPart(undefined)} aria-label="Remove the part of the time">
            ×
          </button>
        </span>
      ) : (
        <>
          <span class={`live${live ? ' on' : ''}`} aria-hidden="true" />
          <span>{live ? 'live' : 'not live'}</span>
        </>
      )}
      <span aria-live="polite">
        {loaded.value
          ? `${count(n)}${more.value ? '+' : ''} change${n === 1 ? '' : 's'}`
          : failure.value
            ? 'not loaded'
            : 'loading'}
        {loaded.value && rows.value.length < n && ` in ${count(rows.value.length)} rows`}
      </span>
      {loading.value && loaded.value && <span class="soft">loading more</span>}
    </p>
  )
}

// Failure shows an error of the server. The frame shows an absent one.
function Failure() {
  if (!failure.value || connection.value.state !== 'ok') return null
  return (
    <p class="failure" role="alert">
      <span>
        The list cannot be loaded: <bdi>{failure.value.message}</bdi>
      </span>
      <button type="button" onClick={() => void load()}>
        Try again
      </button>
    </p>
  )
}

// Empty says why there is nothing, and what one can do.
function Empty() {
  const stats = info.value?.stats
  const longest = offered.value.at(-1)!
  if (!stats) return <div class="blank" />
  if (stats.traces === 0) {
    return (
      <div class="blank">
        <h2>No change yet</h2>
        <p>
          {info.value?.watchingSince ? (
            <>
              This server has watched its cluster for <Ago at={info.value.watchingSince} />. The next change of an object appears
              here by itself, such as that of
            </>
          ) : (
            <>This server does not watch its cluster yet. Changes appear here by themselves, such as that of</>
          )}
        </p>
        <pre class="example">kubectl create configmap hello</pre>
      </div>
    )
  }
  return (
    <div class="blank">
      <h2>Nothing matches</h2>
      <p>
        The server has {count(stats.traces)} changes
        {stats.oldest && (
          <>
            , the oldest from <Ago at={stats.oldest} past />
          </>
        )}
        .
      </p>
      <p class="actions">
        {where.value && (
          <button type="button" onClick={() => setWhere('')}>
            Remove the filter
          </button>
        )}
        {part.value && (
          <button type="button" onClick={() => setPart(undefined)}>
            Remove the part of the time
          </button>
        )}
        {!part.value && range.value !== longest && (
          <button type="button" onClick={() => setRange(longest.name)}>
            Look at {longest.title}
          </button>
        )}
      </p>
    </div>
  )
}
