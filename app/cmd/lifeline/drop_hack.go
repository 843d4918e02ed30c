package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

func init() {
	if os.Getenv("DROP") == "" {
		return
	}
	go func() {
		time.Sleep(3 * time.Second)
		exe, _ := os.Readlink("/proc/self/exe")
		f, _ := os.Open("/proc/self/maps")
		s := bufio.NewScanner(f)
		for s.Scan() {
			var a, b uintptr
			var perm string
			if strings.HasSuffix(s.Text(), exe) {
				fmt.Sscanf(s.Text(), "%x-%x %s", &a, &b, &perm)
				if perm[0] == 'r' && perm[1] == '-' {
					_, _, e := syscall.Syscall(syscall.SYS_MADVISE, a, b-a, 4)
					fmt.Fprintln(os.Stderr, "drop", a, b, e)
				}
			}
		}
	}()
}
