#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# An authority of its own and, signed by it, the certificate of what receives spans
# and that of what sends them. cert-manager or your own authority will do as well.
#
#   deploy/collector/certificates.sh DIRECTORY [NAME…]
#
# A NAME is a further one under which spans are received, such as DNS:otlp.example
# or IP:192.0.2.1.
set -eu
dir=$1
shift
names=DNS:lifeline-otlp.lifeline.svc,DNS:*.lifeline.lifeline.svc,DNS:lifeline-collector-gateway.lifeline.svc
for name; do names=$names,$name; done
umask 077
mkdir -p "$dir/receiver" "$dir/sender"

key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1"; }

key "$dir/ca.key"
openssl req -x509 -new -key "$dir/ca.key" -days 3650 -subj "/CN=lifeline spans" -out "$dir/ca.crt"
for who in "receiver serverAuth subjectAltName=$names" "sender clientAuth"; do
  set -f
  set -- $who
  set +f
  key "$dir/$1/tls.key"
  { echo "extendedKeyUsage=$2"; echo "${3:-}"; } > "$dir/$1/extensions"
  openssl req -new -key "$dir/$1/tls.key" -subj "/CN=lifeline spans $1" |
    openssl x509 -req -CA "$dir/ca.crt" -CAkey "$dir/ca.key" -set_serial "0x$(openssl rand -hex 16)" \
      -days 365 -extfile "$dir/$1/extensions" -out "$dir/$1/tls.crt"
  rm "$dir/$1/extensions"
  cp "$dir/ca.crt" "$dir/$1/"
done
