# From an empty folder and home to the first tool call of a server that requires a sign-in, in three commands. On a machine with a
# keychain, --create-vault-key is not needed.
set -e
npm install "${WIRESCOPE:-wirescope}"
npx wirescope login "$SERVER" --create-vault-key
npx wirescope call "$SERVER" read
