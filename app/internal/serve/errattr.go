// SPDX-License-Identifier: Apache-2.0

package serve

import "log/slog"

// errAttr returns the log attribute of an error.
func errAttr(err error) slog.Attr { return slog.String("error", err.Error()) }
