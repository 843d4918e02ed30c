// SPDX-License-Identifier: Apache-2.0

import type { ComponentType } from 'preact'

// View is one view of the page. Its code loads when it is opened first. The views still to come
// (Graph, Timeline, Explore, Compare, Regressions) are further entries.
export interface View {
  id: string
  title: string
  // path matches its addresses. Its first group is the argument of the view.
  path: RegExp
  // home and key put it into the navigation: its address, and the letter after g.
  home?: string
  key?: string
  load(): Promise<{ default: ComponentType<{ argument: string }> }>
}

export const views: View[] = [
  { id: 'now', title: 'Now', path: /^\/$/, home: '/', key: 'n', load: () => import('../now/Now') },
  { id: 'changes', title: 'Changes', path: /^\/changes$/, home: '/changes', key: 'c', load: () => import('../changes/Changes') },
  { id: 'trace', title: 'Trace', path: /^\/trace\/([0-9a-f]{8,32})$/, load: () => import('../trace/Trace') },
]
