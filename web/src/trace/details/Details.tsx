// SPDX-License-Identifier: Apache-2.0

import { useComputed } from '@preact/signals'
import { number } from '../../text/text'
import type { Model } from '../model'
import * as state from '../state'
import type { Window } from '../view'
import { GroupDetails } from './Group'
import { Overview } from './Overview'
import { Panel } from './Panel'
import { SpanDetails } from './Span'

// Details shows the selected row, or the whole change.
export function Details({ model, window: view }: { model: Model; window: Window }) {
  const id = state.at.value
  const row = useComputed(() => {
    const i = model.index.value.get(state.at.value)
    return i === undefined ? undefined : model.rows.value[i]
  }).value
  const close = (
    <button type="button" class="tool close" onClick={() => state.select('')} aria-label="Close the details">
      ×
    </button>
  )
  if (id === '') return <Overview model={model} view={view} />
  if (row?.kind === 'group') return <GroupDetails item={row.item} model={model} close={close} unfolded={row.unfolded} toggle={() => model.toggle(row)} />
  if (row?.kind === 'others') {
    return (
      <Panel title={`${number(row.count)} spans of other components`} close={close}>
        <p class="note">
          Other components, such as the API server, the kubelet and containerd, recorded the same work in more detail. Their spans
          joined this change by {row.up ? 'their identity, a request or a Pod' : 'their trace'}.
        </p>
        <p>
          <button type="button" onClick={() => model.toggle(row)}>
            {row.unfolded ? 'Fold' : 'Unfold'}
          </button>
        </p>
      </Panel>
    )
  }
  if (/^[0-9a-f]{16}$/.test(id)) return <SpanDetails key={id} id={id} model={model} view={view} close={close} />
  return <Overview model={model} view={view} />
}
