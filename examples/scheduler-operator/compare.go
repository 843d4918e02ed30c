// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/kube-lifeline/lifeline/examples/scheduler-operator/internal/difference"
)

// compareCommand prints the difference of the scheduler's spans in two files, which
// `lifeline trace -o json` has written.
func compareCommand(args []string, out io.Writer) error {
	if len(args) != 2 {
		return errors.New("compare needs two files of `lifeline trace -o json`: before and after the change")
	}
	var traces [2]difference.Attempts
	for i, path := range args {
		f, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("cannot open the trace: %w", err)
		}
		traces[i], err = difference.Read(f)
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return difference.Print(out, traces[0], traces[1])
}
