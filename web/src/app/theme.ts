// SPDX-License-Identifier: Apache-2.0

import { signal } from '@preact/signals'

// The theme follows the system until one is chosen. The choice is kept in this browser.

export type Theme = 'system' | 'light' | 'dark'

const stored = 'lifeline.theme'

function read(): Theme {
  try {
    const value = localStorage.getItem(stored)
    return value === 'light' || value === 'dark' ? value : 'system'
  } catch {
    return 'system'
  }
}

export const theme = signal<Theme>(read())

const system = matchMedia('(prefers-color-scheme: dark)')
const systemDark = signal(system.matches)
system.addEventListener('change', (e) => (systemDark.value = e.matches))

// dark reports the colours in effect, for canvases.
export function dark(): boolean {
  return theme.value === 'system' ? systemDark.value : theme.value === 'dark'
}

// turn changes between light and dark. A choice that equals the system's follows the system again.
export function turn(): void {
  const next: Theme = dark() ? 'light' : 'dark'
  theme.value = (next === 'dark') === systemDark.peek() ? 'system' : next
  try {
    if (theme.value === 'system') localStorage.removeItem(stored)
    else localStorage.setItem(stored, theme.value)
  } catch {
    // Without storage the choice lasts until the page is left.
  }
}
