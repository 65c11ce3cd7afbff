#!/bin/sh
# Makes the certificates of the tests: an authority, a server for localhost and 127.0.0.1, a client. Valid from 2020 to 2120.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
touch "$work/index"
cat > "$work/ca.cnf" <<CNF
[ca]
default_ca = tests
[tests]
database = $work/index
new_certs_dir = $work
rand_serial = yes
default_md = sha256
policy = any
[any]
commonName = supplied
[authority]
basicConstraints = critical, CA:TRUE
subjectKeyIdentifier = hash
[server]
basicConstraints = critical, CA:FALSE
subjectAltName = DNS:localhost, IP:127.0.0.1
[client]
basicConstraints = critical, CA:FALSE
CNF

# issue <section> <name> <common name> <how it is signed...>
issue() {
  section=$1 name=$2 subject=$3
  shift 3
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$subject" \
    -keyout "$name-key.pem" -out "$work/$name.csr"
  openssl ca -config "$work/ca.cnf" -batch -notext -startdate 20200101000000Z -enddate 21200101000000Z \
    -extensions "$section" -in "$work/$name.csr" -out "$name.pem" -keyfile ca-key.pem "$@"
}
issue authority ca "Wirescope test authority" -selfsign
issue server server localhost -cert ca.pem
issue client client "Wirescope test client" -cert ca.pem
rm ca-key.pem
