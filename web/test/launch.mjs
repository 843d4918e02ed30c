// SPDX-License-Identifier: Apache-2.0

import { execFileSync } from 'node:child_process'
import { chromium } from 'playwright-core'

function find() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM
  for (const name of ['chromium', 'chromium-browser', 'google-chrome']) {
    try {
      return execFileSync('which', [name], { encoding: 'utf8' }).trim()
    } catch {
      // the next one
    }
  }
  throw new Error('there is no Chromium: apt-get install chromium, or set CHROMIUM')
}

export function launch(more = []) {
  return chromium.launch({ executablePath: find(), args: [...(process.getuid?.() === 0 ? ['--no-sandbox'] : []), ...more] })
}
