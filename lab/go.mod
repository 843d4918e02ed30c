module github.com/kube-lifeline/lifeline/lab

go 1.26.0

require golang.org/x/sys v0.49.0 // indirect
