// SPDX-License-Identifier: Apache-2.0

import { showHelp } from './Help'
import { dark, turn } from './theme'

// The buttons at the right end of the top line.
export function Tools() {
  return (
    <div class="tools">
      <button type="button" class="tool" onClick={turn} title={`${dark() ? 'Light' : 'Dark'} colours (t)`}>
        <span aria-hidden="true">{dark() ? '☀' : '☾'}</span>
        <span class="hidden">{dark() ? 'Light' : 'Dark'} colours</span>
      </button>
      <button type="button" class="tool" onClick={() => (showHelp.value = true)} title="Shortcuts (?)">
        <span aria-hidden="true">?</span>
        <span class="hidden">Shortcuts</span>
      </button>
    </div>
  )
}
