// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const (
	// commandPatience bounds the time for the words of the command's own completion.
	commandPatience = 3 * time.Second
	// maxCommands bounds the names of programs in one completion.
	maxCommands = 500
)

// completing are the programs in $PATH that complete their own arguments with "__complete". No other
// program is started for a completion.
var completing = []string{"argocd", "flux", "helm", "kubectl", "oc"}

// completeCommand completes the command of lifeline run: the name of a program, and the arguments of
// the programs in completing. Otherwise the shell completes the names of files.
func completeCommand(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	words := commandWords(os.Args, args)
	if len(words) == 0 {
		if strings.Contains(begun, "/") {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return programs(begun), cobra.ShellCompDirectiveNoFileComp
	}
	if !slices.Contains(completing, words[0]) {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return delegate(cmd.Context(), append(slices.Clone(words), begun))
}

// commandWords returns the words of the command before the last one. Cobra leaves out a flag that
// lifeline run has, too, if its value is being completed: argv has it.
func commandWords(argv, args []string) []string {
	i := slices.Index(argv, "--")
	if len(argv) < 2 || !strings.HasPrefix(argv[1], cobra.ShellCompRequestCmd) || i < 0 {
		return args
	}
	words := argv[i+1 : max(i+1, len(argv)-1)]
	if len(args) > 0 && (len(words) == 0 || words[0] != args[0]) {
		return args // "--" belongs to the command
	}
	return words
}

// programs returns the names of the programs in $PATH that begin with a text.
func programs(begun string) []string {
	var out []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if name := e.Name(); strings.HasPrefix(name, begun) && !strings.ContainsAny(name, "\t\n ") {
				if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil && path != "" {
					out = append(out, name)
				}
			}
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), maxCommands)]
}

// delegate returns the completion of the last word by the program itself.
func delegate(ctx context.Context, words []string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(ctx, commandPatience)
	defer cancel()
	//nolint:gosec // the program is one of completing, and the user's own command would start it, too
	program := exec.CommandContext(ctx, words[0], append([]string{cobra.ShellCompRequestCmd}, words[1:]...)...)
	program.WaitDelay = time.Second
	printed, err := program.Output()
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	lines := strings.Split(strings.TrimSpace(string(bytes.ToValidUTF8(printed, nil))), "\n")
	last := lines[len(lines)-1]
	directive, err := strconv.Atoi(strings.TrimPrefix(last, ":"))
	if err != nil || !strings.HasPrefix(last, ":") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return lines[:len(lines)-1], cobra.ShellCompDirective(directive)
}
