module github.com/kube-lifeline/lifeline/lab

go 1.26.0
