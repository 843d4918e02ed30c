// SPDX-License-Identifier: Apache-2.0

import { signal } from '@preact/signals'
import { Dialog } from './Dialog'
import { shortcuts } from './keys'

export const showHelp = signal(false)

const shown: Record<string, string> = { ArrowDown: '↓', ArrowUp: '↑', Enter: '↵', Escape: 'Esc', ' ': 'Space' }

// Help lists the shortcuts that work now.
export function Help() {
  if (!showHelp.value) return null
  return (
    <Dialog title="Shortcuts" onClose={() => (showHelp.value = false)}>
      {[...shortcuts.value].reverse().map(({ title, list }) => (
        <section key={title}>
          <h3>{title}</h3>
          <dl class="shortcuts">
            {list.map((s) => (
              <div key={s.help}>
                <dt>
                  {s.keys.map((keys) => (
                    <span key={keys}>
                      {keys === ' ' ? <kbd>Space</kbd> : keys.split(' ').map((k) => <kbd key={k}>{shown[k] ?? k}</kbd>)}
                    </span>
                  ))}
                </dt>
                <dd>{s.help}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  )
}
